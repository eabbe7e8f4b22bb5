/** Whoever is asked for traces asks the rings' heads; one that is silent is named. */
import { expect, it } from 'vitest';
import { RingTraces } from '../../src/agent/ring-traces.js';
import type { HeadTraces } from '../../src/agent/stage-worker.js';
import { instanceView } from '../../src/agent/status-view.js';
import type { ControlMessage } from '../../src/core/messages.js';
import type { Instance, Plan } from '../../src/core/types.js';

function plan(planId: string, nodeIds: readonly string[], explanation: Plan['explanation'] = []): Plan {
  return {
    planId, instanceId: planId, contextTokens: 1, slots: 1, keyType: 'q8_0', valueType: 'f16', explanation,
    model: { digest: 'c3'.repeat(32), sizeBytes: 1, name: `model-${planId}`, architecture: 'llama', layers: 4 },
    stages: nodeIds.map((nodeId, rank) => ({ rank, nodeId, range: { start: rank, end: rank + 1 }, predictedBytes: 1 })),
  };
}

function instance(running: Plan): Instance {
  return { instanceId: running.instanceId, request: { model: '', policy: 'auto', nodes: null, contextTokens: null, slots: null }, state: 'active', plan: running, reason: '', serial: 1 };
}

const STEP = { sentAfterMicros: 0, tokens: 3, otherTokens: 0, ahead: 0, stageMicros: [10, 20], restMicros: 5 };
const PLANS = [plan('p', ['a', 'b']), plan('q', ['b', 'a']), plan('r', ['c'])];

/** Nodes that hear each other at once; a silent one hears nobody. */
function world(silent: readonly string[] = []) {
  const nodes = new Map<string, RingTraces>();
  const timers: (() => void)[] = [];
  const said: string[] = [];
  for (const nodeId of ['a', 'b', 'c']) {
    const own = PLANS.filter((one) => one.stages[0]?.nodeId === nodeId).map((one): HeadTraces => ({
      plan: one, hops: { overheadMicros: 7, computeMicros: 1, samples: 1 },
      traces: [{ requestId: `${one.planId}-2.1`, beganMs: 900, steps: [STEP] }, { requestId: `${one.planId}-1.1`, beganMs: 100, steps: [] }],
    }));
    let calls = 0;
    nodes.set(nodeId, new RingTraces({
      nodeId,
      clock: { now: () => 1_000, after: (_, call) => { timers.push(call); return () => undefined; } },
      cluster: { desired: () => ({ version: 1, instances: PLANS.map(instance) }), records: () => [] },
      own: () => own,
      randomId: () => `${nodeId}${calls += 1}`,
      send(to, message: ControlMessage) {
        said.push(`${nodeId}>${to} ${message.kind}`);
        if (silent.includes(to)) return to !== 'c';
        queueMicrotask(() => {
          if (message.kind === 'trace_request') nodes.get(to)?.answer(nodeId, message);
          if (message.kind === 'trace_reply') nodes.get(to)?.answered(nodeId, message);
        });
        return true;
      },
    }));
  }
  const of = (nodeId: string): RingTraces => {
    const found = nodes.get(nodeId);
    if (found === undefined) throw new Error(nodeId);
    return found;
  };
  return { of, said, late: () => timers.splice(0).forEach((call) => call()) };
}

it('are found on any node, the latest first, with the ring that they ran in', async () => {
  const { of, said } = world();
  const found = await of('a').find('');
  expect(found.traces.map(({ requestId }) => requestId).sort()).toEqual(['p-1.1', 'p-2.1', 'q-1.1', 'q-2.1', 'r-1.1', 'r-2.1']);
  expect(found.traces.map(({ agoMs }) => agoMs)).toEqual([100, 100, 100, 900, 900, 900]);
  expect(found.heads).toEqual(['a', 'b', 'c'].map((nodeId) => ({ nodeId, hostname: nodeId, answered: true })));
  expect(said).toEqual(['a>b trace_request', 'a>c trace_request', 'b>a trace_reply', 'c>a trace_reply']);
  expect((await of('c').find('q-2')).traces).toEqual([
    { requestId: 'q-2.1', agoMs: 100, model: 'model-q', wireMicros: 14, steps: [STEP], stages: [{ nodeId: 'b', hostname: 'b' }, { nodeId: 'a', hostname: 'a' }] },
  ]);
  expect((await of('a').find('nosuch')).traces).toEqual([]);
});

it('are told without those of a head that is silent or cannot be reached, which is named', async () => {
  const { of, late } = world(['b', 'c']);
  const finding = of('a').find('');
  await Promise.resolve();
  late();
  const { traces, heads } = await finding;
  expect(traces.map(({ requestId }) => requestId)).toEqual(['p-2.1', 'p-1.1']);
  expect(heads.map(({ nodeId, answered }) => [nodeId, answered])).toEqual([['a', true], ['b', false], ['c', false]]);
});

it('takes an answer from nobody but whom it asked', async () => {
  const { of, late } = world(['b', 'c']);
  const finding = of('a').find('');
  of('a').answered('c', { kind: 'trace_reply', callId: 'a1', traces: [{ requestId: 'lie', agoMs: 1, model: '', nodeIds: [], wireMicros: 0, steps: [] }] });
  late();
  expect((await finding).traces.map(({ requestId }) => requestId)).not.toContain('lie');
});

it('a note that a node was silent goes when the node is heard again', () => {
  const notes: Plan['explanation'] = [{ nodeId: 'b', text: 'b is left out: it does not answer', passing: true }, { nodeId: 'b', text: 'b is small' }, { nodeId: null, text: 'context shrunk' }];
  const shown = (liveness: 'alive' | 'dead') => instanceView(instance(plan('p', ['a'], notes)), {
    cluster: { liveness: () => liveness, records: () => [], stageStatuses: () => new Map() }, localStatuses: [], headFigures: () => null,
  }).notes;
  expect(shown('dead')).toEqual(notes);
  expect(shown('alive')).toEqual(notes.slice(1));
});
