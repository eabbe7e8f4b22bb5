/**
 * A model that only a server on the internet has, on a LAN of four hosts: every tensor is given once by that server, each
 * host ends with the layers of its own stage and nothing else, and they answer together.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterStatus } from '../../src/agent/service.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import { AgentProcess } from '../support/agent-process.js';
import { HubServer } from '../support/hub-server.js';
import { writeRenamedBuiltInModel } from '../support/model-copy.js';
import { waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { createLan, lanAvailable } from './harness.js';
import type { Lan } from './harness.js';

const available = lanAvailable();
const HOSTS = [1, 2, 3, 4] as const;
const SERVER_HOST = 5;
const SERVER_PORT = 8080;
const REPOSITORY = 'tiny/Scripture-GGUF';
const FILE = 'scripture-Q8_0.gguf';
const AGREE_MS = 30_000;
const LOAD_MS = 60_000;

describe.skipIf(!available.ok)(`four hosts and a hub${available.ok ? '' : ` (skipped: ${available.reason})`}`, () => {
  let lan: Lan;
  let hub: HubServer;
  let whole: GgufHeader;
  let agents: AgentProcess[] = [];
  const stateDirs = HOSTS.map((index) => temporaryDirectory(`hubhost${index}`));

  beforeAll(async () => {
    const directory = temporaryDirectory('hub');
    const path = join(directory, FILE);
    writeRenamedBuiltInModel(path);
    whole = await readGgufHeader(path);
    lan = await createLan({ hosts: SERVER_HOST });
    const url = `http://${lan.host(SERVER_HOST).address}:${SERVER_PORT}`;
    hub = await HubServer.startBehind(join(directory, 'hub.sock'), url);
    hub.add(REPOSITORY, FILE, readFileSync(path));
    await lan.host(SERVER_HOST).expose(join(directory, 'hub.sock'), SERVER_PORT);
    agents = await Promise.all(HOSTS.map((index, position) => AgentProcess.launch({
      stateDir: stateDirs[position] ?? '', host: lan.host(index), args: ['--threads', '1'], env: { HF_ENDPOINT: url },
    })));
  });
  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.kill9()));
    await lan.destroy();
    await hub.stop();
  });

  it('bring every tensor in once, each host its own layers, and answer', async () => {
    await waitUntil(async () => {
      const seen = await Promise.all(agents.map((agent) => agent.status().catch(() => null)));
      return seen.every((status) => status !== null && status.coordinator !== null && status.coordinator === seen[0]?.coordinator
        && status.nodes.filter((node) => node.state === 'alive').length === HOSTS.length);
    }, { timeoutMs: AGREE_MS, pollMs: 100, what: 'four nodes that agree', detail: () => agents.map((agent) => agent.output()).join('\n') });
    const [first, , , last] = agents;
    if (first === undefined || last === undefined) throw new Error('no agents');
    // What it is, from its header alone; the first part of a file that is read for it has some tensors in it.
    const planned = await last.call({ path: '/v1/cluster/plan', json: { model: `hf:${REPOSITORY}`, nodes: HOSTS.length }, timeoutMs: LOAD_MS });
    expect(planned.status, await planned.text()).toBe(200);
    hub.forgetCounts();
    const loaded = await last.call({ path: '/v1/cluster/load', json: { model: `hf:${REPOSITORY}`, nodes: HOSTS.length, slots: 1, contextTokens: 128 }, timeoutMs: LOAD_MS });
    expect(loaded.status, `${await loaded.text()}\n${agents.map((agent) => agent.output()).join('\n')}`).toBe(200);

    const name = `${REPOSITORY}/${FILE}`;
    for (const tensor of whole.tensors) expect(hub.mostGiven(name, tensor.offset, tensor.offset + tensor.sizeBytes), tensor.name).toBe(1);
    expect(tensorBytesGiven(hub, name, whole)).toBe(whole.tensors.reduce((sum, tensor) => sum + tensor.sizeBytes, 0));
    // One range or a few for each stage.
    expect(hub.asked.length).toBeLessThan(whole.tensors.length / 2);

    const status: ClusterStatus = await first.status();
    const stages = status.instances[0]?.stages ?? [];
    expect(stages.map(({ hostname }) => hostname).sort()).toEqual(['host1', 'host2', 'host3', 'host4']);
    for (const [position, stateDir] of stateDirs.entries()) {
      const stage = stages.find(({ hostname }) => hostname === `host${position + 1}`);
      if (stage === undefined) throw new Error(`no stage on host ${position + 1}`);
      await expectOwnLayers(stateDir, stage.range, whole);
    }
    const answer = await first.call({ path: '/v1/completions', json: { model: 'scripture-Q8_0', prompt: 'In the beginning', max_tokens: 8, temperature: 0 }, timeoutMs: LOAD_MS });
    expect(answer.status, await answer.text()).toBe(200);
  });
});

function tensorBytesGiven(hub: HubServer, name: string, model: GgufHeader): number {
  const given = hub.given.get(name) ?? new Uint8Array();
  return model.tensors.reduce((sum, tensor) => sum + given.subarray(tensor.offset, tensor.offset + tensor.sizeBytes).reduce((total, count) => total + count, 0), 0);
}

/** One stage file, with every tensor of these layers as the model has it, and of no others. */
async function expectOwnLayers(stateDir: string, { start, end }: { readonly start: number; readonly end: number }, model: GgufHeader): Promise<void> {
  const files = readdirSync(stateDir, { recursive: true, encoding: 'utf8' }).map((entry) => join(stateDir, entry)).filter((path) => path.endsWith('.gguf') && statSync(path).isFile());
  const headers = (await Promise.all(files.map((file) => readGgufHeader(file)))).filter((header) => header.tensors.length > 0);
  expect(headers.map((header) => basename(header.files[0]?.path ?? '').replace(/(-head|-tail)?\.gguf$/, ''))).toEqual([`${start}-${end}`]);
  const [header] = headers;
  const source = readFileSync(model.files[0]?.path ?? '');
  const made = readFileSync(header?.files[0]?.path ?? '');
  const layers = (header?.tensors ?? []).flatMap((tensor) => {
    const match = /^blk\.(\d+)\.(.*)$/.exec(tensor.name);
    return match === null ? [] : [{ tensor, original: model.byName.get(`blk.${Number(match[1]) + start}.${match[2] ?? ''}`) }];
  });
  expect(layers).toHaveLength(model.tensors.filter(({ name }) => {
    const layer = Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? -1);
    return layer >= start && layer < end;
  }).length);
  for (const { tensor, original } of layers) {
    const expected = source.subarray(original?.offset ?? 0, (original?.offset ?? 0) + tensor.sizeBytes);
    expect(Buffer.compare(made.subarray(tensor.offset, tensor.offset + tensor.sizeBytes), expected), tensor.name).toBe(0);
  }
}
