import { describe, expect, it } from 'vitest';
import type { ClusterStatus, InstanceView, ModelView, NodeView, StageView } from '../../src/agent/service.js';
import { RENDER_COLUMNS, renderModels, renderPlan, renderStatus } from '../../src/cli/render.js';
import type { Backend, Capabilities, Device, Plan } from '../../src/core/types.js';

const GB = 1e9;

function device(backend: Backend, memoryBytes: number, unified: boolean): Device {
  return { name: backend, description: backend, backend, memoryTotalBytes: memoryBytes, memoryFreeBytes: memoryBytes, unified };
}

function capabilities(hostname: string, backends: readonly Backend[], devices: readonly Device[], changes: Partial<Capabilities> = {}): Capabilities {
  return {
    agentVersion: '0.1.0', protocolMin: 1, protocolMax: 1, hostname, os: 'linux', arch: 'x64', cores: 8, ramTotalBytes: 32 * GB,
    ramAvailableBytes: 20.12 * GB, ramLimitBytes: null, machineId: hostname, diskFreeBytes: 100 * GB, devices, backends,
    gflops: null, memoryBandwidthBytesPerSecond: null, models: [], shards: [], apiAddress: '', ...changes,
  };
}

function node(nodeId: string, known: Capabilities | null, changes: Partial<NodeView> = {}): NodeView {
  return { nodeId, self: false, coordinator: false, capabilities: known, addresses: [], state: 'alive', problem: null, ...changes };
}

const MAC = node('12D3KooWaaaaaaMAC111', capabilities('mac', ['metal', 'cpu'], [device('metal', 32 * GB, true)], { cores: 10 }), { coordinator: true });
const LINUX = node('12D3KooWbbbbbbLIN222', capabilities('linux', ['cuda', 'cpu'], [device('cuda', 24 * GB, false), device('cpu', 32 * GB, true)]), { self: true });
const PC = node('12D3KooWccccccPCC333', capabilities('pc', ['cpu'], [device('cpu', 32 * GB, true)]), { state: 'suspect' });

function stage(rank: number, holder: NodeView, start: number, end: number, changes: Partial<StageView> = {}): StageView {
  return {
    rank, nodeId: holder.nodeId, hostname: holder.capabilities?.hostname ?? '', range: { start, end }, backend: 'cpu', state: 'ready',
    progress: 1, error: null, predictedBytes: 1.25 * GB, spill: null, residentBytes: 1.27 * GB, fetchedBytes: 0, ...changes,
  };
}

function instance(changes: Partial<InstanceView> = {}): InstanceView {
  return {
    instanceId: 'i1', model: 'kjv-q8_0', modelDigest: 'ab'.repeat(32), state: 'active', reason: '', planId: '3.x.1', contextTokens: 32_768,
    slots: 4, stages: [], notes: [], life: { pinned: false, keepAliveMs: null, returns: true }, activeSequences: null, queuedSequences: null, stepsInFlight: null, hops: null, ...changes,
  };
}

function status(changes: Partial<ClusterStatus> = {}): ClusterStatus {
  return {
    cluster: 'home', secured: true, nodeId: LINUX.nodeId, coordinator: MAC.nodeId, term: { counter: 3, node: MAC.nodeId },
    nodes: [MAC, LINUX, PC], instances: [], ...changes,
  };
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => [...line].length));
}

describe('cluster status as text', () => {
  it('shows nodes, and a ring that serves', () => {
    const stages = [
      stage(0, MAC, 0, 16, { backend: 'metal' }), stage(1, LINUX, 16, 31, { backend: 'cuda', fetchedBytes: 840e6 }), stage(2, PC, 31, 43, { fetchedBytes: 999_960 }),
    ];
    const hops = { overheadMicros: 184.6, computeMicros: 2310, samples: 64 };
    expect(renderStatus(status({ instances: [instance({ stages, activeSequences: 2, queuedSequences: 1, hops })] }))).toMatchInlineSnapshot(`
      "Cluster home: 3 nodes, coordinator mac, term 3 of mac

      Node   Id      State    Backends            Memory free  Cores  Role
      mac    MAC111  alive    metal, cpu         20.1/32.0 GB     10  coordinator
      linux  LIN222  alive    cuda 24.0 GB, cpu  20.1/32.0 GB      8  self
      pc     PCC333  suspect  cpu                20.1/32.0 GB      8

      kjv-q8_0: active, context 32,768 tokens in each of 4 slots, 2 running, 1 waiting

      mac 0-15 ─▶ linux 16-30 ─▶ pc 31-42 ─▶ (mac)

      Rank  Node   Layers  Backend  State  Predicted  Resident   Fetched
         0  mac    0-15    metal    ready     1.3 GB    1.3 GB         -
         1  linux  16-30   cuda     ready     1.3 GB    1.3 GB  840.0 MB
         2  pc     31-42   cpu      ready     1.3 GB    1.3 GB    1.0 MB

      A hop costs 185 µs beside 2,310 µs of compute (64 steps measured)."
    `);
  });

  it('B19: reports the ring: predicted beside measured, each stage\'s part of a token, and how long each took to be ready', () => {
    const stages = [stage(0, MAC, 0, 16, { buildMs: 1234 }), stage(1, LINUX, 16, 31, { buildMs: 20_500 })];
    const text = renderStatus(status({
      instances: [instance({ stages, predictedTokensPerSecond: 12.34, pace: { tokenMicros: 84_000, stageMicros: [30_120, 52_000] } })],
    }));
    expect(text.slice(text.indexOf('- one answer'))).toBe([
      '- one answer alone: 12.3 tok/s predicted, 11.9 tok/s measured', '- a token takes 84.0 ms: mac 30.1 ms + linux 52.0 ms + 1.88 ms between them',
      '- ready after mac 1.2 s, linux 20.5 s',
    ].join('\n'));
    expect(renderStatus(status({ instances: [instance({ stages: [stage(0, MAC, 0, 16)], pace: { tokenMicros: 26_000, stageMicros: [7_600] } })] })))
      .toContain('- a token takes 26.0 ms: mac 7.60 ms + 18.4 ms around it');
    expect(renderStatus(status({ instances: [instance({ stages: [stage(0, MAC, 0, 16)], predictedTokensPerSecond: 240 })] }))).toMatch(/\n- one answer alone: 240 tok\/s predicted$/);
    expect(renderStatus(status({ instances: [instance({ stages: [stage(0, MAC, 0, 16)] })] }))).not.toContain('one answer alone');
  });

  it('shows what was measured, what spills, and what a person could install for more', () => {
    const gpu = { ...device('vulkan', 8 * GB, false), gflops: 1234.4, memoryBandwidthBytesPerSecond: 210.06 * GB };
    const linux = node(LINUX.nodeId, capabilities('linux', ['vulkan', 'cpu'], [gpu, device('cpu', 32 * GB, true)], {
      links: [{ nodeId: MAC.nodeId, roundTripMicros: 640, bytesPerSecond: 110e6 }],
      hints: ['NVIDIA GPU found, used through vulkan.'],
    }));
    const text = renderStatus(status({
      nodes: [MAC, linux],
      instances: [instance({
        stages: [stage(0, linux, 0, 8, { backend: 'vulkan', spill: { hostLayers: 3, hostBytes: GB } })],
        notes: [{ nodeId: linux.nodeId, text: 'spills 3 of 8 layers to host memory, 1.0 GB of 1.2 GB: the device takes no more' }],
      })],
    }));
    expect(text).toContain('- linux: measured: vulkan reads 210.1 GB/s, 1,234 GFLOP/s\n- linux: there and back to mac 0.6 ms, 110 MB/s\n- linux: NVIDIA GPU found, used through vulkan.');
    expect(text).toMatch(/vulkan\+cpu +ready/);
    expect(text).toContain('- linux: spills 3 of 8 layers to host memory');
    expect(widest(text)).toBeLessThanOrEqual(RENDER_COLUMNS);
  });

  it('says how to close an open cluster, and what is wrong with a node', () => {
    const old = node('12D3KooWddddddOLD444', null, {
      state: 'incompatible', problem: 'speaks protocol 2 to 3, this agent speaks 1: update this agent or that one, so that they have a version in common',
    });
    expect(renderStatus(status({ secured: false, coordinator: null, term: null, nodes: [LINUX, old] }))).toMatchInlineSnapshot(`
      "Cluster home: 1 node and 1 that cannot take part, no coordinator yet
      Open: any agent on this network may join. To close it, run \`agent secret\` and
      start every agent with --secret-file.

      Node    Id      State         Backends            Memory free  Cores  Role
      linux   LIN222  alive         cuda 24.0 GB, cpu  20.1/32.0 GB      8  self
      OLD444  OLD444  incompatible  -                             -      -

      - OLD444: speaks protocol 2 to 3, this agent speaks 1: update this agent or that
        one, so that they have a version in common

      No model is loaded: the first request for one loads it."
    `);
  });

  it('shows an instance that loads, and one that failed', () => {
    const loading = instance({
      state: 'preparing',
      stages: [stage(0, MAC, 0, 1, { state: 'loading', residentBytes: 0 }), stage(1, PC, 1, 8, { state: 'fetching', progress: 0.459, residentBytes: 0, fetchedBytes: 12_345 })],
    });
    const failed = instance({
      instanceId: 'i2', model: 'big-70b', state: 'failed', reason: 'model (80 layers, 40.0 GB) does not fit the cluster (capacity 48 layers).', slots: 0,
      stages: [stage(0, MAC, 0, 80, { backend: null, state: 'failed', error: 'out of memory while loading: 38.2 GB were needed', residentBytes: 0 })],
      notes: [{ nodeId: PC.nodeId, text: 'left out: 0 of 80 layers fit' }, { nodeId: null, text: 'context cut from 131072 to 32768 tokens' }],
    });
    expect(renderStatus(status({ instances: [loading, failed] }))).toMatchInlineSnapshot(`
      "Cluster home: 3 nodes, coordinator mac, term 3 of mac

      Node   Id      State    Backends            Memory free  Cores  Role
      mac    MAC111  alive    metal, cpu         20.1/32.0 GB     10  coordinator
      linux  LIN222  alive    cuda 24.0 GB, cpu  20.1/32.0 GB      8  self
      pc     PCC333  suspect  cpu                20.1/32.0 GB      8

      kjv-q8_0: preparing, context 32,768 tokens in each of 4 slots

      mac 0 ─▶ pc 1-7 ─▶ (mac)

      Rank  Node  Layers  Backend  State          Predicted  Resident  Fetched
         0  mac   0       cpu      loading           1.3 GB         -        -
         1  pc    1-7     cpu      fetching 45 %     1.3 GB         -  12.3 kB

      big-70b: failed
        model (80 layers, 40.0 GB) does not fit the cluster (capacity 48 layers).

      mac 0-79

      Rank  Node  Layers  Backend  State   Predicted  Resident  Fetched
         0  mac   0-79    default  failed     1.3 GB         -        -

      - stage 0 on mac: out of memory while loading: 38.2 GB were needed

      - pc: left out: 0 of 80 layers fit
      - context cut from 131072 to 32768 tokens"
    `);
  });

  it('tells agents on one machine apart', () => {
    const nodes = [MAC, node('12D3KooWeeeeeeTWO555', capabilities('mac', ['cpu'], []))];
    const text = renderStatus(status({ nodes }));
    expect(text).toContain('mac/MAC111');
    expect(text).toContain('mac/TWO555');
  });

  it('stays within its columns whatever the names are, and lets no name steer the terminal', () => {
    const long = 'a-very-long-host-name.of-some.example.org';
    const nodes = Array.from({ length: 9 }, (_, index) => node(
      `12D3KooWffffffN0000${index}`,
      capabilities(index === 4 ? '\u001b[2Jevil\r\n\u202ename' : `${index}-${long}`, ['metal', 'cuda', 'vulkan', 'cpu'], [device('cuda', 141 * GB, false)], { cores: 512, ramTotalBytes: 2048 * GB, ramAvailableBytes: 1999 * GB }),
      { self: index === 0, coordinator: index === 0, state: 'incompatible', problem: 'word '.repeat(60) },
    ));
    const stages = nodes.map((holder, rank) => stage(rank, holder, rank * 100, rank * 100 + 100, { state: 'fetching', progress: 1, backend: 'vulkan', predictedBytes: 999 * GB, residentBytes: 999 * GB, fetchedBytes: 999 * GB }));
    const text = renderStatus(status({
      nodes, coordinator: nodes[0]?.nodeId ?? null, term: { counter: 123_456, node: nodes[0]?.nodeId ?? '' },
      instances: [instance({ model: 'm'.repeat(200), stages, reason: 'why '.repeat(60) })],
    }));
    expect(widest(text)).toBeLessThanOrEqual(RENDER_COLUMNS);
    expect(text).not.toMatch(/[^\P{C}\n]/u);
    expect(text).toContain('evil');
  });
});

describe('a plan as text', () => {
  const plan: Plan = {
    planId: '3.x.1', instanceId: 'i1', contextTokens: 1024, slots: 1, keyType: 'q8_0', valueType: 'f16',
    model: { digest: 'ab'.repeat(32), sizeBytes: 5_012_345, name: 'kjv-q8_0', architecture: 'llama', layers: 8 },
    stages: [
      { rank: 0, nodeId: MAC.nodeId, range: { start: 0, end: 4 }, backend: 'metal', predictedBytes: 4.5e6 },
      { rank: 1, nodeId: '12D3KooWgggggg999999', range: { start: 4, end: 8 }, predictedBytes: 999_960 },
    ],
    explanation: [{ nodeId: LINUX.nodeId, text: 'left out: two nodes were asked for' }, { nodeId: null, text: 'one slot, as asked' }],
  };

  it('shows who runs what, and why', () => {
    expect(renderPlan(plan, [MAC, LINUX])).toMatchInlineSnapshot(`
      "kjv-q8_0: llama, 8 layers, 5.0 MB
      2 stages, context 1,024 tokens in one slot, KV q8_0/f16, 5.5 MB predicted

      mac 0-3 ─▶ 999999 4-7 ─▶ (mac)

      Rank  Node    Id      Layers  Backend  Predicted
         0  mac     MAC111  0-3     metal       4.5 MB
         1  999999  999999  4-7     default     1.0 MB

      - linux: left out: two nodes were asked for
      - one slot, as asked"
    `);
  });

  it('says what is not the usual: activations, and how long an idle model stays', () => {
    const text = renderPlan({ ...plan, slots: 8, activations: 'f16' }, [MAC]);
    expect(text).toContain('KV q8_0/f16, f16 activations,');
    expect(widest(text)).toBeLessThanOrEqual(RENDER_COLUMNS);
    const shown = renderStatus(status({ instances: [instance({ activations: 'f16', life: { pinned: false, keepAliveMs: 300_000, returns: false } })] }));
    expect(shown).toMatch(/active, unloads when idle for 5 min, context 32,768 tokens in each of\s4 slots, f16 activations/);
  });

  it('shows the draft of a plan, and how it is where it runs', () => {
    const text = renderPlan({ ...plan, draft: { model: { ...plan.model, name: 'small' }, predictedBytes: 2e6 } }, [MAC, LINUX]);
    expect(text).toContain('\ndraft small beside the first stage, 2.0 MB predicted\n');
    const draft = { model: 'small', predictedBytes: 2e6, state: 'fetching' as const, reason: '', residentBytes: 0 };
    expect(renderStatus(status({ instances: [instance({ draft })] }))).toContain('\n  draft small: fetching, 2.0 MB predicted');
    expect(renderStatus(status({ instances: [instance({ draft: { ...draft, state: 'ready', residentBytes: 3e6 } })] }))).toContain('\n  draft small: ready, 3.0 MB');
    expect(renderStatus(status({ instances: [instance({ draft: { ...draft, state: 'failed', reason: 'its runner was killed' } })] }))).toContain('\n  draft small: failed, its runner was killed');
  });

  it('shows a plan of one node without a ring', () => {
    const alone = { ...plan, stages: plan.stages.slice(0, 1).map((only) => ({ ...only, range: { start: 0, end: 8 } })), explanation: [] };
    expect(renderPlan(alone, [MAC])).toMatchInlineSnapshot(`
      "kjv-q8_0: llama, 8 layers, 5.0 MB
      1 stage, context 1,024 tokens in one slot, KV q8_0/f16, 4.5 MB predicted

      mac 0-7

      Rank  Node  Id      Layers  Backend  Predicted
         0  mac   MAC111  0-7     metal       4.5 MB"
    `);
  });
});

describe('models as text', () => {
  const model: ModelView = {
    name: 'kjv-q8_0', digest: '0123456789abcdef'.repeat(4), sizeBytes: 5_012_345, architecture: 'llama', layers: 8, heldBy: ['a'], loaded: true, trainedContext: 1024,
  };

  it('lists them', () => {
    const { trainedContext: _unknown, ...withoutContext } = { ...model, name: 'x' };
    const models = [model, { ...model, name: 'qwen3-30b-a3b-instruct-2507-q4_k_m-from-somebody', architecture: 'qwen3moe', layers: 48, sizeBytes: 18.6 * GB, heldBy: ['a', 'b'], loaded: false, trainedContext: 262_144 }, withoutContext];
    const text = renderModels(models);
    expect(text).toMatchInlineSnapshot(`
      "Model                             Layers     Size  Context  Held by  Loaded
      kjv-q8_0                               8   5.0 MB    1,024  1 node   yes
      qwen3-30b-a3b-instruct-2507-q4_…      48  18.6 GB  262,144  2 nodes  no
      x                                      8   5.0 MB        -  1 node   yes"
    `);
    expect(widest(text)).toBeLessThanOrEqual(RENDER_COLUMNS);
  });

  it('says that there is none', () => {
    expect(renderModels([])).toBe('No node of the cluster holds a model.');
  });
});
