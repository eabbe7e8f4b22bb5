/** Decoders of what peers and runners send, each with what it is meant to read. */
import type { ControlMessage } from '../../src/core/messages.js';
import { RingError } from '../../src/core/errors.js';
import type { SamplingSettings } from '../../src/core/step-types.js';
import type { NodeRecord, Plan } from '../../src/core/types.js';
import { decodeActivation, decodeActivationHeader, encodeActivation } from '../../src/wire/activation-codec.js';
import type { Activation } from '../../src/wire/activation-codec.js';
import { decodeControl, encodeControl, encodeSignal } from '../../src/wire/control-codec.js';
import { decodeEdge, decodeOpened, encodeEdge, encodeOpened } from '../../src/wire/edge-codec.js';
import { encodeFrame, FrameDecoder } from '../../src/wire/framing.js';
import { decodeHello, encodeHello } from '../../src/wire/record-codec.js';
import { decodeFromRunner, decodeToRunner, encodeFromRunner, encodeToRunner } from '../../src/wire/runner-codec.js';
import { decodeWeightsRequest, decodeWeightsResponse, encodeWeightsRequest, encodeWeightsResponse } from '../../src/wire/weights-codec.js';
import type { FuzzTarget } from './fuzz.js';

const DIGEST = 'ab'.repeat(32);
const MAX_FRAME_BYTES = 4 * 1024 * 1024;

const SAMPLING: SamplingSettings = {
  temperature: 0.7, topK: 40, topP: 0.95, minP: 0.05, seed: 7, repeatPenalty: 1.1, frequencyPenalty: 0, presencePenalty: -1, ignoreEos: true, logitBias: [[17, -100]],
};
const PLAN: Plan = {
  planId: '7.nodeA.3', instanceId: 'i1', model: { digest: DIGEST, sizeBytes: 4e13, name: 'kjv', architecture: 'llama', layers: 8 },
  stages: [
    { rank: 0, nodeId: 'nodeA', range: { start: 0, end: 5 }, predictedBytes: 123, precision: 'f16', keyValueCache: 'host' },
    { rank: 1, nodeId: 'nodeB', range: { start: 5, end: 8 }, backend: 'vulkan', predictedBytes: 2 ** 40, spill: { hostLayers: 2, hostBytes: 2 ** 39 } },
  ],
  contextTokens: 2048, slots: 4, keyType: 'f16', valueType: 'q8_0', explanation: [{ nodeId: 'nodeC', text: 'left out' }],
  draft: { model: { digest: DIGEST, sizeBytes: 4e9, name: 'small', architecture: 'llama', layers: 2 }, predictedBytes: 5 },
};
const RECORD: NodeRecord = {
  nodeId: 'nodeA', incarnation: 12, counter: 4, nonce: 'n0', addresses: ['/ip4/10.0.0.1/tcp/11501'],
  capabilities: {
    agentVersion: '0.1.0', protocolMin: 1, protocolMax: 2, hostname: 'host', os: 'linux', arch: 'x64', cores: 8, ramTotalBytes: 2 ** 36, ramAvailableBytes: 2 ** 35,
    ramLimitBytes: 5, machineId: 'm', diskFreeBytes: 9, backends: ['vulkan', 'cpu'], gflops: 3, memoryBandwidthBytesPerSecond: 1.5e10, apiAddress: 'http://127.0.0.1:11500',
    devices: [{ name: 'CPU', description: 'd', backend: 'cpu', memoryTotalBytes: 1, memoryFreeBytes: 0, unified: true, gflops: 1, memoryBandwidthBytesPerSecond: 2 }],
    models: [PLAN.model], shards: [{ modelDigest: DIGEST, range: { start: 0, end: 4 }, head: true, tail: false }],
    devicePreference: ['vulkan', 'cpu'], deviceLimitBytes: 3, links: [{ nodeId: 'nodeB', roundTripMicros: 420, bytesPerSecond: 3 }], hints: ['a hint'],
  },
};
const TERM = { counter: 7, node: 'nodeA' };
const MESSAGES: readonly ControlMessage[] = [
  { kind: 'alive', incarnation: 3, counter: 300, term: TERM },
  { kind: 'record', record: RECORD },
  { kind: 'record_request' },
  { kind: 'coordinator', term: TERM, serving: 1, desired: { version: 4, removed: ['i0'], instances: [{ instanceId: 'i1', state: 'active', reason: 'r', serial: 3, plan: PLAN, request: { model: 'kjv', policy: 'auto', nodes: 2, contextTokens: 2048, slots: 3, nodeSettings: [{ nodeId: 'nodeA', settings: { maxRamBytes: 5, devices: ['cpu'], layers: { start: 0, end: 4 }, precision: 'f16', seed: 3 } }] } }] } },
  { kind: 'stages', term: TERM, statuses: [{ planId: '7.nodeA.3', rank: 0, state: 'failed', progress: 0.5, error: { code: 'out_of_memory', message: 'no' }, residentBytes: 1, fetchedBytes: 2, draft: { state: 'failed', reason: 'gone', residentBytes: 3 } }] },
  { kind: 'leave' },
  { kind: 'introduction', peers: [{ nodeId: 'nodeB', addresses: ['/ip4/10.0.0.2/tcp/11501'] }] },
  { kind: 'load', callId: 'c', request: { model: 'm', policy: 'throughput', nodes: 3, contextTokens: null, slots: null, draft: 'small' } },
  { kind: 'unload', callId: 'c', instanceId: 'i1' },
  { kind: 'trace_request', callId: 'c', request: 'r' },
  { kind: 'trace_reply', callId: 'c', traces: [{ requestId: 'r.1', agoMs: 3, model: 'kjv', nodeIds: ['nodeA'], wireMicros: 9, steps: [{ sentAfterMicros: 1, tokens: 2, otherTokens: 3, ahead: 4, stageMicros: [5], restMicros: 6 }] }] },
  { kind: 'reply', callId: 'c', instanceId: '', error: { code: 'no_placement', message: 'fits nowhere' } },
  { kind: 'generate', requestId: 'r', planId: 'p', promptTokens: [1, 2, 300], emittedTokens: [5], sampling: SAMPLING, maxTokens: 5, client: 'c' },
  { kind: 'cancel', requestId: 'r' },
  { kind: 'token', requestId: 'r', planId: 'p', index: 0, token: 2047, endOfGeneration: true },
  { kind: 'finished', requestId: 'r', planId: 'p', reason: 'length', tokens: 16 },
  { kind: 'refused', requestId: 'r', planId: 'p', code: 'wrong_plan', message: 'gone' },
];

const ACTIVATIONS: readonly Activation[] = [
  {
    planId: '7.nodeA.3', step: 4, computeMicros: 5, stageMicros: [2, 3], sampled: [], tokens: Int32Array.of(1, 2, 3), hidden: null, hiddenSize: 0,
    operations: [
      { kind: 'open', slot: 1, sequenceId: 's', sampling: SAMPLING, origin: 'nodeA', promptLength: 3, promptTokens: [1, 2, 3], emittedTokens: [9], reuse: { slot: 0, tokens: 16 } },
      { kind: 'close', slot: 2, retain: true },
    ],
    slices: [{ slot: 1, position: 0, tokens: 3, sample: true, draft: [2, 3] }],
  },
  {
    planId: 'p', step: 5, computeMicros: 5, stageMicros: [2], operations: [], slices: [{ slot: 0, position: 7, tokens: 2, sample: true }], tokens: null,
    hidden: Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8), hiddenSize: 4, sampled: [{ slot: 0, sequenceId: 's', position: 9, token: 3, endOfGeneration: false }],
  },
];

const TO_RUNNER = [
  encodeToRunner({ kind: 'load_stage', options: { role: 'head', stageFile: '/a/b.gguf', embedding: { file: '/a/c', offset: 7, ggmlType: 8, rows: 2048 }, backend: 'cpu', threads: 2, contextTokens: 64, slots: 2, keyType: 'q8_0', valueType: 'f16', batchTokens: 512, keyValueCache: 'host', deviceLayers: 3 } }),
  encodeToRunner({ kind: 'tokenize', call: 3, text: 'hello', addSpecial: true, parseSpecial: true }),
  encodeToRunner({ kind: 'probe_devices', backend: 'cpu' }),
  encodeToRunner({ kind: 'reset' }),
];
const FROM_RUNNER = [
  encodeFromRunner({ kind: 'loaded', stage: { hiddenSize: 64, layers: 4, vocabularySize: 2048, canRollBack: true, residentBytes: 5 } }),
  encodeFromRunner({ kind: 'tokenized', call: 3, tokens: [1, 2, 3] }),
  encodeFromRunner({ kind: 'failed', code: 'engine_failed', message: 'no', step: 2, call: 0 }),
  encodeFromRunner({ kind: 'resident', bytes: 77 }),
];

const HELLO = encodeHello({ clusterHash: DIGEST, agentVersion: '0.1.0', protocolMin: 1, protocolMax: 2, nodeId: 'nodeA', incarnation: 3, nonce: 'n', addresses: ['/ip4/10.0.0.1/tcp/1'], bulk: true });

export const WIRE_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'frames',
    seeds: [Buffer.concat(encodeFrame([Buffer.from('one')])), Buffer.concat([...encodeFrame([Buffer.from('two')]), ...encodeFrame([Buffer.alloc(300, 1)])])],
    run(input) {
      const decoder = new FrameDecoder(MAX_FRAME_BYTES);
      // As a stream cuts it: pieces of every size.
      for (let at = 0, size = 1; at < input.length; at += size, size = (size * 3) % 17 + 1) decoder.push(input.subarray(at, at + size));
    },
  },
  {
    name: 'control messages',
    seeds: [...MESSAGES.map(encodeControl), encodeSignal({ kind: 'ping' })],
    run(input) {
      const message = decodeControl(input);
      // What was taken can be said again, and means the same.
      if (message.kind !== 'ping' && message.kind !== 'pong') decodeControl(encodeControl(message));
    },
  },
  { name: 'activation headers', seeds: ACTIVATIONS.map(encodeActivation), run: decodeActivationHeader },
  {
    name: 'activations',
    seeds: ACTIVATIONS.map(encodeActivation),
    run(input) {
      decodeActivation(encodeActivation(decodeActivation(input)));
    },
  },
  { name: 'edges', seeds: [encodeEdge({ planId: '7.nodeA.3', rank: 2 })], run: decodeEdge },
  { name: 'answers to an edge', seeds: [encodeOpened(null), encodeOpened(new RingError('wrong_plan', 'no'))], run: decodeOpened },
  { name: 'hellos', seeds: [HELLO], run: (input) => decodeHello(encodeHello(decodeHello(input))) },
  {
    name: 'requests for weights',
    seeds: [encodeWeightsRequest({ kind: 'header', modelDigest: DIGEST }), encodeWeightsRequest({ kind: 'tensor', modelDigest: DIGEST, name: 'blk.0.attn_q.weight', offset: 5, describeOnly: true })],
    run: decodeWeightsRequest,
  },
  ...(['header', 'tensor'] as const).map((asked): FuzzTarget => ({
    name: `answers to a request for a ${asked}`,
    seeds: [
      encodeWeightsResponse({ kind: 'header', name: 'kjv', sizeBytes: 9, fileBytes: [4, 5], contentBytes: 9 }), encodeWeightsResponse({ kind: 'tensor', sizeBytes: 9, digest: DIGEST, contentBytes: 4 }),
      encodeWeightsResponse({ kind: 'missing' }), encodeWeightsResponse({ kind: 'problem', message: 'disk' }),
    ],
    run: (input) => decodeWeightsResponse(input, asked),
  })),
  { name: 'words to a runner', seeds: TO_RUNNER, run: decodeToRunner },
  { name: 'words of a runner', seeds: FROM_RUNNER, run: decodeFromRunner },
];
