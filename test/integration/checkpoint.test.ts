/** A checkpoint on the command line: its directory is found among models, listed, and answers by its path; so does one of the hub. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { AgentProcess, runAgentCommand } from '../support/agent-process.js';
import type { CheckpointRecipe } from '../support/checkpoint-files.js';
import { configOf, randomTensors, writeCheckpoint } from '../support/checkpoint-files.js';
import { HubServer } from '../support/hub-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { byteLevelTokenizer } from '../support/tokenizer-files.js';

const RECIPE: CheckpointRecipe = {
  title: 'on the command line', architecture: 'Qwen3ForCausalLM', type: 'BF16', layers: 3, hidden: 64, feedForward: 96, heads: 4, kvHeads: 2, headSize: 32, tied: true, normCentre: 1,
  headNorms: true, config: {}, tokenizer: byteLevelTokenizer('qwen2'),
};
const VOCABULARY = 512;
/** Several commands, each a process, on a machine that has other things to do. */
const TEST_MS = 180_000;

describe('a checkpoint', () => {
  const agents: AgentProcess[] = [];
  let hub: HubServer | null = null;
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.kill9()));
    await hub?.stop();
  });

  it('is listed from the directory of models and answers by its path', async () => {
    const models = temporaryDirectory('checkpoints');
    const directory = join(models, 'tiny-qwen3');
    await writeCheckpoint(directory, randomTensors(RECIPE, VOCABULARY), configOf(RECIPE, VOCABULARY), RECIPE.tokenizer, 2);
    const agent = await AgentProcess.start({ stateDir: temporaryDirectory('checkpoint-state'), args: ['--no-mdns', '--threads', '1', '--ckpt-dir', models] });
    agents.push(agent);
    const state = ['--state-dir', agent.stateDir];
    const listed = await runAgentCommand(['models', ...state]);
    expect(listed.stdout, listed.stderr).toMatch(/tiny-qwen3 .*qwen3/);
    const answered = await runAgentCommand(['run', directory, 'In the beginning', '--max-tokens', '5', '--temperature', '0', '--json', ...state]);
    expect(answered.code, answered.stderr).toBe(0);
    expect(JSON.parse(answered.stdout)).toMatchObject({ usage: { completion_tokens: 5 } });
    const info = await runAgentCommand(['models', 'info', 'tiny-qwen3', ...state]);
    expect(info.stdout, info.stderr).toContain(directory);

    hub = await HubServer.start();
    for (const name of readdirSync(directory)) hub.add('tiny/tiny-qwen3', name, readFileSync(join(directory, name)));
    const far = await AgentProcess.start({ stateDir: temporaryDirectory('checkpoint-far'), args: ['--no-mdns', '--threads', '1'], env: { HF_ENDPOINT: hub.url } });
    agents.push(far);
    const fetched = await runAgentCommand(['run', 'hf:tiny/tiny-qwen3', 'In the beginning', '--max-tokens', '5', '--temperature', '0', '--json', '--state-dir', far.stateDir]);
    expect(fetched.code, fetched.stderr).toBe(0);
    const textOf = (output: string): unknown => (JSON.parse(output) as { readonly text: unknown }).text;
    expect(textOf(fetched.stdout)).toBe(textOf(answered.stdout));
    expect(textOf(fetched.stdout)).toBeTypeOf('string');
  }, TEST_MS);
});
