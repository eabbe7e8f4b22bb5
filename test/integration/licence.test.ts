/** A model whose licence restricts use, on the command line: refused without a byte, accepted, fetched. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { AgentProcess, runAgentCommand } from '../support/agent-process.js';
import { smallFile } from '../support/small-gguf.js';
import { HubServer } from '../support/hub-server.js';
import { waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const CARD = {
  name: 'mine', repository: 'tiny/Mine-GGUF', quants: ['Q8_0'], parameters: '1M', context: 128, licence: 'Own Terms', licenceUrl: 'https://example.org/terms', restricted: true,
  sampling: { temperature: 0.5, topK: 20 },
};

describe('a licence that restricts use', () => {
  let agent: AgentProcess | null = null;
  let hub: HubServer | null = null;
  afterAll(async () => {
    await agent?.kill9();
    await hub?.stop();
  });

  it('is asked for before anything is fetched, and remembered', async () => {
    hub = await HubServer.start();
    hub.add('tiny/Mine-GGUF', 'Mine-Q8_0.gguf', smallFile());
    const stateDir = temporaryDirectory('licence');
    mkdirSync(join(stateDir, 'catalogue'), { recursive: true });
    writeFileSync(join(stateDir, 'catalogue', 'mine.json'), JSON.stringify([CARD]));
    const command = (...words: string[]) => runAgentCommand([...words, '--state-dir', stateDir]);

    const card = await command('models', 'info', 'mine');
    expect(card.stdout, card.stderr).toMatch(/Own Terms\n +https:\/\/example\.org\/terms\n +restricts use: accept it with --accept-licence\n +sampling +temperature 0\.5, top-k 20/);
    agent = await AgentProcess.start({ stateDir, args: ['--no-mdns', '--threads', '1', '--model', 'minne'], env: { HF_ENDPOINT: hub.url } });
    const said = (): string => agent?.output() ?? '';
    await waitUntil(() => said().includes('note: no model "minne" is known here: did you mean "mine"?'), { timeoutMs: 10_000, what: 'a note about the slip', detail: said });
    const refused = await command('models', 'pull', 'mine');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/restrict its use, the Own Terms: read them at https:\/\/example\.org\/terms, then accept them with "agent models accept mine" or --accept-licence/);
    const overHttp = await agent.call({ path: '/v1/cluster/plan', json: { model: 'hf:tiny/Mine-GGUF' } });
    expect([overHttp.status, await overHttp.json()]).toEqual([403, { error: expect.objectContaining({ code: 'licence_required' }) as unknown }]);
    expect(hub.requests).toBe(0);
    const pulled = await command('models', 'pull', 'mine', '--accept-licence', '--json');
    expect(JSON.parse(pulled.stdout), pulled.stderr).toMatchObject({ model: 'Mine-Q8_0' });
    const again = await command('models', 'accept', 'mine');
    expect(again.stdout).toMatch(/Accepted for every model on its terms: the Own Terms/);
  });
});
