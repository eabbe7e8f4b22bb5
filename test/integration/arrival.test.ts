/**
 * A model that no machine has arrives by its reference: from a hub on this machine, each byte once, to the nodes whose
 * layers it belongs to (a transfer that is killed: killed-fetch.test.ts).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import { AgentProcess, runAgentCommand } from '../support/agent-process.js';
import type { CheckpointRecipe } from '../support/checkpoint-files.js';
import { configOf, randomTensors, writeCheckpoint } from '../support/checkpoint-files.js';
import { HubServer } from '../support/hub-server.js';
import { writeRenamedBuiltInModel } from '../support/model-copy.js';
import { waitUntil } from '../support/processes.js';
import { byteLevelTokenizer } from '../support/tokenizer-files.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const REPOSITORY = 'tiny/Scripture-GGUF';
const FILE = 'scripture-Q8_0.gguf';
const REFERENCE = `hf:${REPOSITORY}:Q8_0`;
const AGENTS = 3;
const AGREE_MS = 20_000;
const LOAD_MS = 60_000;
/** Several commands, each a process, on a machine that has other things to do. */
const TEST_MS = 180_000;
/** Read of a file for its header, by every node that is asked for it. */
const FIRST_WINDOW_BYTES = 256 * 1024;

const RECIPE: CheckpointRecipe = {
  title: 'arrival', architecture: 'LlamaForCausalLM', type: 'BF16', layers: 6, hidden: 64, feedForward: 128, heads: 4, kvHeads: 2, headSize: 16, tied: true, normCentre: 1,
  config: {}, tokenizer: byteLevelTokenizer('llama-bpe'),
};
const VOCABULARY = 512;

let hub: HubServer;
let whole: GgufHeader;
let bytes: Uint8Array;

beforeAll(async () => {
  const path = join(temporaryDirectory('arrival'), FILE);
  writeRenamedBuiltInModel(path);
  whole = await readGgufHeader(path);
  bytes = readFileSync(path);
  hub = await HubServer.start();
  hub.add(REPOSITORY, FILE, bytes);
});
afterAll(() => hub.stop());

describe('a model on the hub', () => {
  let agents: AgentProcess[] = [];
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.kill9()));
  });

  it('arrives on three agents, every tensor once, and answers', async () => {
    const args = ['--cluster', `arrival-${process.pid}`, '--threads', '1'];
    agents = await Promise.all(Array.from({ length: AGENTS }, (_, index) => AgentProcess.start({ stateDir: temporaryDirectory(`arrival${index}`), args, env: { HF_ENDPOINT: hub.url } })));
    const [first] = agents;
    if (first === undefined) throw new Error('no agent');
    await waitUntil(async () => (await Promise.all(agents.map((agent) => agent.status()))).every((status) => status.nodes.length === AGENTS && status.coordinator !== null), {
      timeoutMs: AGREE_MS, what: 'three nodes see each other', detail: () => agents.map((agent) => agent.output()).join('\n'),
    });
    const planned = await runAgentCommand(['plan', REFERENCE, '--nodes', '3', '--json', '--state-dir', first.stateDir]);
    expect(planned.code, planned.stderr).toBe(0);
    expect(hub.bytesGiven()).toBeLessThan(bytes.length / 4);
    hub.forgetCounts();

    const loaded = await first.call({ path: '/v1/cluster/load', json: { model: REFERENCE, nodes: AGENTS, slots: 1, contextTokens: 128 }, timeoutMs: LOAD_MS });
    expect(loaded.status, await loaded.text()).toBe(200);
    for (const tensor of whole.tensors) {
      expect(hub.mostGiven(`${REPOSITORY}/${FILE}`, tensor.offset, tensor.offset + tensor.sizeBytes), tensor.name).toBe(1);
    }
    const answer = await first.call({ path: '/v1/completions', json: { model: 'scripture-Q8_0', prompt: 'In the beginning', max_tokens: 12, temperature: 0 }, timeoutMs: LOAD_MS });
    expect(textOf(await answer.json())).toMatch(/God|LORD|the/);

    // The upkeep of the first node's store, through the command line.
    const models = async (...words: string[]) => {
      const finished = await runAgentCommand(['models', ...words, '--state-dir', first.stateDir]);
      for (const line of finished.stdout.split('\n').filter((text) => !text.includes(first.stateDir))) expect(line.length, line).toBeLessThanOrEqual(80);
      return finished;
    };
    const served = await models('rm', 'scripture-Q8_0');
    expect(served.code).toBe(1);
    expect(served.stderr).toMatch(/being served/);
    const info = await models('info', 'scripture-Q8_0');
    expect(info.stdout).toMatch(/hf:tiny\/Scripture-GGUF/);
    expect(info.stdout).toMatch(/On this machine\n {2}layers \d/);
    expect(info.stdout).toMatch(/in use/);
    const list = await models();
    expect(list.stdout).toMatch(/scripture-Q8_0 .* web/);
    // Every layer is on some node: the whole of it comes from there, on a second machine too.
    hub.forgetCounts();
    const pulled = await models('pull', REFERENCE, '--json');
    expect(pulled.code, pulled.stderr).toBe(0);
    const { model, path } = JSON.parse(pulled.stdout) as { readonly model: string; readonly path: string };
    expect([model, Buffer.compare(readFileSync(path), bytes)]).toEqual(['scripture-Q8_0', 0]);
    expect((await models()).stdout).toMatch(/scripture-Q8_0 .* 1 node/);
    const elsewhere = await runAgentCommand(['models', 'pull', REFERENCE, '--json', '--state-dir', agents[1]?.stateDir ?? '']);
    expect(elsewhere.code, elsewhere.stderr).toBe(0);
    for (const tensor of whole.tensors.filter(({ offset }) => offset > FIRST_WINDOW_BYTES)) {
      expect(hub.mostGiven(`${REPOSITORY}/${FILE}`, tensor.offset, tensor.offset + tensor.sizeBytes), tensor.name).toBe(0);
    }
  }, TEST_MS);

  it('is a checkpoint: its tensors are made out of ranges of its files by the nodes that need them', async () => {
    const [first] = agents;
    if (first === undefined) throw new Error('no agent');
    const directory = temporaryDirectory('arrival-checkpoint');
    await writeCheckpoint(directory, randomTensors(RECIPE, VOCABULARY), configOf(RECIPE, VOCABULARY), RECIPE.tokenizer, 2);
    for (const name of readdirSync(directory)) hub.add('tiny/Tiny-Llama', name, readFileSync(join(directory, name)));
    const seen = await runAgentCommand(['plan', 'hf:tiny/Tiny-Llama', '--nodes', '3', '--json', '--state-dir', first.stateDir]);
    expect(seen.code, seen.stderr).toBe(0);
    hub.forgetCounts();
    const split = await first.call({ path: '/v1/cluster/load', json: { model: 'Tiny-Llama', nodes: AGENTS, slots: 1, contextTokens: 128 }, timeoutMs: LOAD_MS });
    expect(split.status, await split.text()).toBe(200);
    for (const name of readdirSync(directory).filter((file) => file.endsWith('.safetensors'))) {
      const head = 8 + Number(readFileSync(join(directory, name)).readBigUInt64LE(0));
      expect(hub.given.get(`tiny/Tiny-Llama/${name}`)?.subarray(head).every((count) => count === 1), name).toBe(true);
    }
    const told = await first.call({ path: '/v1/completions', json: { model: 'Tiny-Llama', prompt: 'In the beginning', max_tokens: 4, temperature: 0 }, timeoutMs: LOAD_MS });
    expect(told.status, await told.text()).toBe(200);
  }, TEST_MS);
});

function textOf(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null || !('choices' in answer) || !Array.isArray(answer.choices)) return '';
  const [choice]: unknown[] = answer.choices;
  return typeof choice === 'object' && choice !== null && 'text' in choice && typeof choice.text === 'string' ? choice.text : '';
}
