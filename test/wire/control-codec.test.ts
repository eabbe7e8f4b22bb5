import { describe, expect, it } from 'vitest';
import type { ControlMessage } from '../../src/core/messages.js';
import { errorCodeOf } from '../../src/core/errors.js';
import type { SamplingSettings } from '../../src/core/step-types.js';
import type { NodeRecord, Plan, StagePlan } from '../../src/core/types.js';
import { decodeControl, encodeControl, encodeSignal } from '../../src/wire/control-codec.js';
import { ringagent } from '../../src/wire/gen/messages.js';

const DIGEST = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';

const SAMPLING: SamplingSettings = {
  temperature: 0.7, topK: 40, topP: 0.95, minP: 0.05, seed: 4_000_000_000, repeatPenalty: 1.1, frequencyPenalty: 0,
  presencePenalty: -1, ignoreEos: true, logitBias: [[17, -100], [3, 0.5]],
};

const PLAN: Plan = {
  planId: '7.nodeA.3',
  instanceId: 'i1',
  model: { digest: DIGEST, sizeBytes: 40_000_000_000_000, name: 'kjv-q8_0', architecture: 'llama', layers: 8 },
  stages: [
    { rank: 0, nodeId: 'nodeA', range: { start: 0, end: 5 }, predictedBytes: 123 },
    { rank: 1, nodeId: 'nodeB', range: { start: 5, end: 8 }, backend: 'vulkan', predictedBytes: 2 ** 40, spill: { hostLayers: 2, hostBytes: 2 ** 39 } },
  ],
  contextTokens: 2048,
  slots: 4,
  keyType: 'f16',
  valueType: 'q8_0',
  explanation: [{ nodeId: null, text: 'context shrunk' }, { nodeId: 'nodeC', text: 'left out: 3 GB free' }, { nodeId: 'nodeD', text: 'it does not answer', passing: true }],
};

const RECORD: NodeRecord = {
  nodeId: 'nodeA',
  incarnation: 12,
  counter: 9_007_199_254_740_991,
  nonce: 'n0',
  addresses: ['/ip4/10.0.0.1/tcp/11501'],
  capabilities: {
    agentVersion: '0.1.0', protocolMin: 1, protocolMax: 2, hostname: 'höst', os: 'linux', arch: 'x64', cores: 8,
    ramTotalBytes: 2 ** 36, ramAvailableBytes: 2 ** 35, ramLimitBytes: null, machineId: 'm', diskFreeBytes: 0,
    devices: [{ name: 'CPU', description: '', backend: 'cpu', memoryTotalBytes: 1, memoryFreeBytes: 0, unified: true }],
    backends: ['vulkan', 'cpu'], gflops: null, memoryBandwidthBytesPerSecond: 1.5e10,
    models: [PLAN.model, { ...PLAN.model, checkpoint: true }],
    shards: [{ modelDigest: DIGEST, range: { start: 0, end: 0 }, head: true, tail: false }],
    apiAddress: 'http://127.0.0.1:11500',
  },
};

/** As RECORD, with everything that an older agent does not say. */
const MEASURED_RECORD: NodeRecord = {
  ...RECORD,
  capabilities: {
    ...RECORD.capabilities,
    devices: [{ name: 'Vulkan0', description: 'card', backend: 'vulkan', memoryTotalBytes: 1, memoryFreeBytes: 0, unified: false, gflops: 1.5, memoryBandwidthBytesPerSecond: 2e11 }],
    devicePreference: ['vulkan', 'cpu'],
    deviceLimitBytes: 3e9,
    links: [{ nodeId: 'nodeB', roundTripMicros: 420, bytesPerSecond: null }, { nodeId: 'nodeC', roundTripMicros: 9, bytesPerSecond: 1.25e8 }],
    hints: ['a GPU is not used'],
    storeRoomBytes: 7e9,
    models: [{ ...PLAN.model, trainedContext: 512, parameters: 8_190_735_360, weights: 'q4_k' }],
  },
};

/** Every kind, with golden bytes: an old frame must stay readable, and a new one must not change by accident. */
const MESSAGES: readonly (readonly [message: ControlMessage, hex: string | null])[] = [
  [{ kind: 'alive', incarnation: 3, counter: 300, term: null }, '0a05080310ac02'],
  [{ kind: 'alive', incarnation: 3, counter: 300, term: { counter: 7, node: 'nodeA' } }, '0a10080310ac021a09080712056e6f646541'],
  [{ kind: 'record', record: RECORD }, null],
  [{ kind: 'record', record: MEASURED_RECORD }, null],
  [{ kind: 'record_request' }, '1a00'],
  [{
    kind: 'coordinator',
    term: { counter: 7, node: 'nodeA' },
    serving: 1,
    desired: {
      version: 4,
      instances: [
        {
          instanceId: 'i1', state: 'active', reason: '', serial: 3, plan: PLAN,
          request: { model: 'kjv', policy: 'ram_balanced', nodes: null, contextTokens: 2048, slots: null },
        },
        {
          instanceId: 'i3', state: 'active', reason: '', serial: 3,
          plan: { ...PLAN, stages: PLAN.stages.map((stage) => ({ ...stage, precision: 'f16', keyValueCache: 'host' as const })) },
          request: { model: 'kjv', policy: 'auto', nodes: null, contextTokens: null, slots: null },
        },
        {
          instanceId: 'i2', state: 'failed', reason: 'fits nowhere', code: 'no_placement', serial: 0, plan: null,
          request: { model: 'big', policy: 'manual', nodes: 2, contextTokens: null, slots: 1 },
        },
      ],
    },
  }, null],
  [{ kind: 'coordinator', term: { counter: 7, node: 'nodeA' }, serving: 0, desired: { version: 5, instances: [], removed: ['i1', 'i2'] } }, null],
  [{
    kind: 'stages',
    term: { counter: 7, node: 'nodeA' },
    statuses: [
      { planId: '7.nodeA.3', rank: 1, state: 'fetching', progress: 0.25, error: null, residentBytes: 0, fetchedBytes: 77 },
      { planId: '7.nodeA.3', rank: 0, state: 'failed', progress: 0, error: { code: 'out_of_memory', message: 'no' }, residentBytes: 0, fetchedBytes: 0 },
    ],
  }, null],
  [{
    kind: 'stages',
    term: { counter: 7, node: 'nodeA' },
    statuses: [{ planId: '7.nodeA.3', rank: 0, state: 'ready', progress: 1, error: null, residentBytes: 5, fetchedBytes: 0, requests: { open: 0, taken: 12 }, buildMs: 1234, pace: { tokenMicros: 84_000, stageMicros: [30_000, 52_000] } }],
    remembered: { version: 2, instances: [{ instanceId: 'i4', state: 'planning', reason: '', serial: 1, plan: { ...PLAN, predictedTokensPerSecond: 12.5 }, request: {
      model: 'kjv', policy: 'auto', nodes: null, contextTokens: null, slots: null, life: { pinned: true, keepAliveMs: null, returns: true },
    } }], removed: ['i1'] },
  }, null],
  [{ kind: 'load', callId: 'c', request: { model: 'm', policy: 'throughput', nodes: 3, contextTokens: null, slots: null, life: { pinned: false, keepAliveMs: 300_000, returns: false } } },
    '3a1c0a0163121' + '70a016d120a7468726f75676870757418033a0410e0a712'],
  [{
    kind: 'stages',
    term: { counter: 7, node: 'nodeA' },
    statuses: [{ planId: '7.nodeA.3', rank: 0, state: 'ready', progress: 1, error: null, residentBytes: 5, fetchedBytes: 0, draft: { state: 'failed', reason: 'its runner was killed', residentBytes: 9 } }],
    remembered: { version: 2, instances: [{ instanceId: 'i4', state: 'planning', reason: '', serial: 1, plan: { ...PLAN, draft: { model: { ...PLAN.model, name: 'small' }, predictedBytes: 2 ** 33 } }, request: {
      model: 'kjv', policy: 'auto', nodes: null, contextTokens: null, slots: null, draft: DIGEST,
    } }] },
  }, null],
  [{ kind: 'load', callId: 'c', request: { model: 'm', policy: 'throughput', nodes: 3, contextTokens: null, slots: null, draft: 'small' } },
    '3a1d0a016312' + '180a016d120a7468726f75676870757418035205736d616c6c'],
  [{ kind: 'leave' }, '3200'],
  [{ kind: 'introduction', peers: [{ nodeId: 'nodeB', addresses: ['/ip4/10.0.0.2/tcp/11501'] }, { nodeId: 'nodeC', addresses: [] }] }, null],
  [{
    kind: 'load', callId: 'c',
    request: {
      model: 'm', policy: 'manual', nodes: null, contextTokens: null, slots: null,
      nodeSettings: [
        { nodeId: 'nodeA', settings: {} },
        {
          nodeId: 'nodeB',
          settings: {
            maxRamBytes: 44e9, reserveBytes: 0, devices: ['metal', 'cpu'], layers: { start: 0, end: 12 }, precision: 'fp8', keyValueCache: 'none', seed: 0,
          },
        },
      ],
    },
  }, null],
  [{ kind: 'load', callId: 'c', request: { model: 'm', policy: 'throughput', nodes: 3, contextTokens: null, slots: null } },
    '3a160a016312' + '110a016d120a7468726f7567687075741803'],
  [{ kind: 'trace_request', callId: 'c', request: 'chatcmpl-1' }, null],
  [{ kind: 'trace_reply', callId: 'c', traces: [
    { requestId: 'chatcmpl-1.1', agoMs: 2 ** 33, model: 'kjv', nodeIds: ['nodeA', 'nodeB'], wireMicros: 900, steps: [{ sentAfterMicros: 2 ** 33, tokens: 512, otherTokens: 3, ahead: 2, stageMicros: [81_000, 0], restMicros: 1_450 }] },
    { requestId: 'chatcmpl-2.1', agoMs: 0, model: 'kjv', nodeIds: [], wireMicros: 0, steps: [] },
  ] }, null],
  [{ kind: 'unload', callId: 'c', instanceId: 'i1' }, '42070a016312026931'],
  [{ kind: 'reply', callId: 'c', instanceId: 'i1', error: null }, '4a070a016312026931'],
  [{ kind: 'reply', callId: 'c', instanceId: '', error: { code: 'no_placement', message: 'fits nowhere' } }, null],
  [{ kind: 'generate', requestId: 'r', planId: 'p', promptTokens: [1, 2, 300], emittedTokens: [], sampling: SAMPLING, maxTokens: 5 }, null],
  [{ kind: 'generate', requestId: 'r', planId: 'p', promptTokens: [1], emittedTokens: [4], sampling: SAMPLING, maxTokens: 5, client: 'c7' }, null],
  [{ kind: 'cancel', requestId: 'r' }, '5a030a0172'],
  [{ kind: 'token', requestId: 'r', planId: 'p', index: 0, token: 2047, endOfGeneration: false }, '62090a01721201' + '7020ff0f'],
  [{ kind: 'token', requestId: 'r', planId: 'p', index: 1, token: 5, endOfGeneration: false, probability: { logprob: -1.5, alternatives: [] } }, null],
  [{ kind: 'token', requestId: 'r', planId: 'p', index: 0, token: 5, endOfGeneration: true, reusedTokens: 17, embedding: Float32Array.of(0.25, -3) }, null],
  [{ kind: 'generate', requestId: 'r', planId: 'p', promptTokens: [1], emittedTokens: [], sampling: { ...SAMPLING, grammar: { text: 'root ::= "a"' }, probabilities: 20 }, maxTokens: 5 }, null],
  [{ kind: 'finished', requestId: 'r', planId: 'p', reason: 'length', tokens: 16 }, '6a100a0172120170' + '1a066c656e677468' + '2010'],
  [{ kind: 'refused', requestId: 'r', planId: 'p', code: 'wrong_plan', message: 'gone' }, '72180a0172120170' + '1a0a77726f6e675f706c616e' + '2204676f6e65'],
];

describe('control messages', () => {
  it.each(MESSAGES)('survive the wire: %o', (message, hex) => {
    const bytes = encodeControl(message);
    expect(decodeControl(bytes)).toEqual(message);
    if (hex !== null) {
      expect(Buffer.from(bytes).toString('hex')).toBe(hex);
      expect(decodeControl(Buffer.from(hex, 'hex'))).toEqual(message);
    }
  });

  it('and signs of life have golden bytes', () => {
    for (const [kind, hex] of [['ping', '7a00'], ['pong', '820100']] as const) {
      expect(Buffer.from(encodeSignal({ kind })).toString('hex')).toBe(hex);
      expect(decodeControl(Buffer.from(hex, 'hex'))).toEqual({ kind });
    }
  });

  it('cover every kind', () => {
    expect(new Set(MESSAGES.map(([message]) => message.kind)).size).toBe(17);
  });
});

describe('a plan on the wire', () => {
  const plain = { planId: 'p', instanceId: 'i', model: { digest: new Uint8Array(32), name: 'm' }, keyType: 'f16', valueType: 'f16' };
  const stagesOf = (stages: readonly ringagent.control.StagePlan.$Properties[]): readonly StagePlan[] => {
    const instance = { instanceId: 'i', state: 'active', request: { policy: 'manual' }, plan: { ...plain, stages: [...stages] } };
    const bytes = ringagent.control.ControlMessage.encode({ coordinator: { term: { counter: 1, node: 'a' }, desired: { instances: [instance] } } }).finish();
    const message = decodeControl(bytes);
    return message.kind === 'coordinator' ? message.desired.instances[0]?.plan?.stages ?? [] : [];
  };

  it('A1: from before there were backends loads, and its stages have none', () => {
    expect(stagesOf([{ nodeId: 'a', start: 0, end: 2 }])).toEqual([{ rank: 0, nodeId: 'a', range: { start: 0, end: 2 }, predictedBytes: 0 }]);
  });

  it('A4: a backend that this version does not know is none: the engine\'s own default', () => {
    expect(stagesOf([{ nodeId: 'a', start: 0, end: 2, backend: 'quantum' }])[0]).not.toHaveProperty('backend');
  });

  it('A5: carries each node\'s backend', () => {
    const backends = ['metal', 'cuda', 'cpu'] as const;
    expect(stagesOf(backends.map((backend, rank) => ({ rank, nodeId: `n${rank}`, start: rank, end: rank + 1, backend }))).map(({ backend }) => backend)).toEqual(backends);
  });
});

function codeOfDecoding(properties: ringagent.control.ControlMessage.$Properties): string {
  return codeOfBytes(ringagent.control.ControlMessage.encode(properties).finish());
}

function codeOfBytes(bytes: Uint8Array): string {
  try {
    decodeControl(bytes);
    return 'accepted';
  } catch (error) {
    return errorCodeOf(error);
  }
}

describe('a control message of no sense is a bad frame', () => {
  it.each<readonly [string, ringagent.control.ControlMessage.$Properties]>([
    ['no kind', {}],
    ['empty id', { cancel: { requestId: '' } }],
    ['id too long', { cancel: { requestId: 'x'.repeat(257) } }],
    ['unknown state', { stages: { term: { counter: 1, node: 'a' }, statuses: [{ planId: 'p', state: 'exploded' }] } }],
    ['progress beyond the end', { stages: { term: { counter: 1, node: 'a' }, statuses: [{ planId: 'p', state: 'ready', progress: 1.5 }] } }],
    ['progress not a number', { stages: { term: { counter: 1, node: 'a' }, statuses: [{ planId: 'p', state: 'ready', progress: NaN }] } }],
    ['term missing', { coordinator: { serving: 0, desired: {} } }],
    ['record without capabilities', { record: { nodeId: 'a', nonce: 'n' } }],
    ['reversed layers', {
      coordinator: {
        term: { counter: 1, node: 'a' },
        desired: {
          instances: [{
            instanceId: 'i', state: 'active', request: { policy: 'manual' },
            plan: { planId: 'p', instanceId: 'i', model: { digest: new Uint8Array(32), name: 'm' }, keyType: 'f16', valueType: 'f16', stages: [{ nodeId: 'a', start: 3, end: 2 }] },
          }],
        },
      },
    }],
    ['short digest', { record: { nodeId: 'a', nonce: 'n', capabilities: { agentVersion: '1', models: [{ digest: new Uint8Array(31), name: 'm' }] } } }],
    ['65 devices', { record: { nodeId: 'a', nonce: 'n', capabilities: { agentVersion: '1', devices: Array.from({ length: 65 }, () => ({ name: 'd', backend: 'cpu' })) } } }],
  ])('%s', (_, properties) => {
    expect(codeOfDecoding(properties)).toBe('bad_frame');
  });

  it('whole number beyond 2^53', () => {
    // alive { incarnation: 2^64 - 1 }
    expect(codeOfBytes(Buffer.from('0a0b08ffffffffffffffffff01', 'hex'))).toBe('bad_frame');
  });

  it('truncated anywhere, or random bytes: never another error', () => {
    const whole = encodeControl({ kind: 'record', record: RECORD });
    for (let length = 0; length < whole.byteLength; length++) expect(['bad_frame', 'accepted']).toContain(codeOfBytes(whole.subarray(0, length)));
    let state = 1;
    for (let round = 0; round < 2000; round++) {
      const bytes = Uint8Array.from({ length: round % 97 }, () => (state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff) >> 16);
      expect(['bad_frame', 'accepted']).toContain(codeOfBytes(bytes));
    }
  });

  it('an error code of a newer version becomes internal, with its message', () => {
    const bytes = ringagent.control.ControlMessage.encode({ refused: { requestId: 'r', planId: 'p', code: 'sunspots', message: 'flare' } }).finish();
    expect(decodeControl(bytes)).toEqual({ kind: 'refused', requestId: 'r', planId: 'p', code: 'internal', message: 'flare' });
  });
});
