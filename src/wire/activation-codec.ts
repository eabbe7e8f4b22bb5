/**
 * A frame on an edge of the ring, and on the pipe to a runner:
 *
 *     u32 little-endian length of the header | header (protobuf) | 0..3 zero bytes | payload
 *
 * The payload is `[tokens, hiddenSize]` f32 little-endian in slice order (or, packed, ggml's f16 or q8_0), or nothing. It starts on a
 * multiple of four from the frame's start, so that f32 can be read in place. Everything is checked before it is believed: a frame that
 * lies about its shape is `bad_frame`.
 */
import { RingError } from '../core/errors.js';
import { MAX_STEP_TOKENS } from '../core/step-size.js';
import { MAX_ALTERNATIVES, MAX_GRAMMAR_CHARACTERS, MAX_GRAMMAR_START_CHARACTERS, MAX_GRAMMAR_STARTS } from '../core/step-types.js';
import type { Grammar, PackedStates, Pooling, SampledToken, SamplingSettings, SequenceOperation, SequenceSlice, TokenProbability } from '../core/step-types.js';
import { ringagent } from './gen/messages.js';

const { Header, DType, Pooling: WirePooling } = ringagent.activation;

const LENGTH_BYTES = 4;
const FLOAT_BYTES = 4;
const HALF_BYTES = 2;
/** ggml's q8_0: so many values share a scale, and take so many bytes with it. */
const Q8_BLOCK = 32;
const Q8_BLOCK_BYTES = 34;
/** Slices, operations and samples in one frame: more slots than any plan has. */
const MAX_ITEMS = 4_096;
/** Tokens that an `open` may carry for penalties: the longest context. */
const MAX_HISTORY = 4 * 1024 * 1024;
const MAX_HIDDEN_SIZE = 1 << 20;
const MAX_ID_LENGTH = 256;

export interface ActivationHeader {
  readonly planId: string;
  readonly step: number;
  readonly operations: readonly SequenceOperation[];
  readonly slices: readonly SequenceSlice[];
  readonly sampled: readonly SampledToken[];
  /** Sum of the runners' compute time on this step so far, in microseconds. */
  readonly computeMicros: number;
  /** The same of each stage so far, in rank order. */
  readonly stageMicros: readonly number[];
  /** The next step is likely to be the same sequences' next tokens. */
  readonly goesOn?: true;
}

export interface Activation extends ActivationHeader {
  /** For the runner of the stage that looks tokens up; one per token, in slice order. */
  readonly tokens: Int32Array | null;
  /** `[tokens, hiddenSize]` f32; a view of the frame when it is aligned. Null too where they are packed. */
  readonly hidden: Float32Array | null;
  /** The same in fewer bytes; a view of the frame. Absent = they are not packed. */
  readonly packed?: PackedStates;
  readonly hiddenSize: number;
}

/** Copies the hidden states once, into the frame. */
export function encodeActivation(activation: Activation): Uint8Array {
  const pieces = activationPieces(activation);
  const frame = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let offset = 0;
  for (const piece of pieces) {
    frame.set(piece, offset);
    offset += piece.byteLength;
  }
  return frame;
}

/** The same frame as pieces to write in order; hidden states are a view of what they were given in. */
export function activationPieces(activation: Activation): readonly Uint8Array[] {
  const header = Header.encode({
    planId: activation.planId,
    step: activation.step,
    operations: activation.operations.map(toWireOperation),
    slices: activation.slices.map(({ draft, ...slice }) => (draft === undefined ? slice : { ...slice, draft: [...draft] })),
    tokens: activation.tokens === null ? [] : Array.from(activation.tokens),
    dtype: dtypeOf(activation),
    hiddenSize: activation.hiddenSize,
    sampled: activation.sampled.map(({ probability, embedding, ...token }) => ({ ...token, probability: toWireProbability(probability), embedding: toWireEmbedding(embedding) })),
    computeMicros: activation.computeMicros,
    stageMicros: [...activation.stageMicros],
    goesOn: activation.goesOn ?? false,
  }).finish();
  const payloadStart = align(LENGTH_BYTES + header.byteLength);
  const payload = activation.packed?.bytes ?? (activation.hidden === null ? null : bytesOf(activation.hidden));
  const start = Buffer.alloc(payloadStart);
  start.writeUInt32LE(header.byteLength, 0);
  start.set(header, LENGTH_BYTES);
  return payload === null || payload.byteLength === 0 ? [start] : [start, payload];
}

/** The header alone: all that an agent on the way needs. Throws `bad_frame`. */
export function decodeActivationHeader(frame: Uint8Array): ActivationHeader {
  return fromWireHeader(readHeader(frame).header);
}

/** A step's last frame as the head wants it back, which knows the operations and tells nobody what the tokens came with. */
export function encodeReturn(frame: Uint8Array, header: ActivationHeader): Uint8Array {
  const isLean = header.operations.length === 0 && header.sampled.every(({ probability, embedding }) => probability === undefined && embedding === undefined);
  if (isLean) return frame;
  const sampled = header.sampled.map(({ probability: _probability, embedding: _embedding, ...token }) => token);
  return encodeActivation({ ...header, operations: [], sampled, tokens: null, hidden: null, hiddenSize: 0 });
}

/** Header and payload, shapes checked against each other. Throws `bad_frame`. */
export function decodeActivation(frame: Uint8Array): Activation {
  const { header: wire, payloadStart } = readHeader(frame);
  const header = fromWireHeader(wire);
  const total = header.slices.reduce((sum, slice) => sum + slice.tokens, 0);
  const payloadBytes = frame.byteLength - payloadStart;
  if (wire.dtype !== DType.NONE) checkShape(wire, total, payloadBytes);
  else if (payloadBytes !== 0) throw bad(`${payloadBytes} bytes of payload without an element type`);
  if (wire.tokens.length !== 0 && wire.tokens.length !== total) throw bad(`${wire.tokens.length} token ids for ${total} tokens`);
  const payload = frame.subarray(payloadStart);
  return {
    ...header,
    tokens: wire.tokens.length === 0 ? null : Int32Array.from(wire.tokens),
    hidden: wire.dtype === DType.F32 ? floatsOf(payload) : null,
    ...(wire.dtype === DType.F16 ? { packed: { type: 'f16', bytes: payload } } : wire.dtype === DType.Q8_0 ? { packed: { type: 'q8_0', bytes: payload } } : {}),
    hiddenSize: wire.hiddenSize,
  };
}

function dtypeOf({ hidden, packed }: Activation): ringagent.activation.DType {
  if (packed !== undefined) return packed.type === 'f16' ? DType.F16 : DType.Q8_0;
  return hidden === null ? DType.NONE : DType.F32;
}

function checkShape({ dtype, hiddenSize }: WireHeader, tokens: number, payloadBytes: number): void {
  if (hiddenSize < 1 || hiddenSize > MAX_HIDDEN_SIZE) throw bad(`a hidden size of ${hiddenSize}`);
  const expected = tokens * rowBytes(dtype, hiddenSize);
  if (payloadBytes !== expected) {
    throw bad(`${payloadBytes} bytes of hidden states where the shape [${tokens}, ${hiddenSize}] ${DType[dtype]?.toLowerCase() ?? ''} has ${expected}`);
  }
}

function rowBytes(dtype: ringagent.activation.DType, hiddenSize: number): number {
  switch (dtype) {
    case DType.F32: return hiddenSize * FLOAT_BYTES;
    case DType.F16: return hiddenSize * HALF_BYTES;
    case DType.Q8_0:
      if (hiddenSize % Q8_BLOCK !== 0) throw bad(`a hidden size of ${hiddenSize}, which is no whole blocks of q8_0`);
      return (hiddenSize / Q8_BLOCK) * Q8_BLOCK_BYTES;
    default: throw bad(`an unknown element type (${String(dtype)})`);
  }
}

type WireHeader = InstanceType<typeof Header>;

function readHeader(frame: Uint8Array): { header: WireHeader; payloadStart: number } {
  if (frame.byteLength < LENGTH_BYTES) throw bad(`only ${frame.byteLength} bytes`);
  const headerLength = new DataView(frame.buffer, frame.byteOffset, frame.byteLength).getUint32(0, true);
  const payloadStart = align(LENGTH_BYTES + headerLength);
  if (LENGTH_BYTES + headerLength > frame.byteLength || payloadStart > frame.byteLength) {
    throw bad(`a header of ${headerLength} bytes in a frame of ${frame.byteLength}`);
  }
  try {
    return { header: Header.decode(frame.subarray(LENGTH_BYTES, LENGTH_BYTES + headerLength)), payloadStart };
  } catch (error) {
    throw new RingError('bad_frame', 'an activation frame has a header that is no protobuf message of ours', {}, { cause: error });
  }
}

function fromWireHeader(wire: WireHeader): ActivationHeader {
  if (wire.planId.length > MAX_ID_LENGTH) throw bad('an overlong plan id');
  if (wire.operations.length > MAX_ITEMS || wire.slices.length > MAX_ITEMS || wire.sampled.length > MAX_ITEMS || wire.stageMicros.length > MAX_ITEMS) {
    throw bad(`more than ${MAX_ITEMS} slices, operations, samples or stages`);
  }
  let total = 0;
  const slices = wire.slices.map((slice): SequenceSlice => {
    const tokens = slice.tokens ?? 0;
    total += tokens;
    if (tokens < 1 || total > MAX_STEP_TOKENS) throw bad(`a slice of ${tokens} tokens, ${total} in all`);
    const draft = slice.draft ?? [];
    if (draft.length >= tokens) throw bad(`a slice of ${tokens} tokens of which ${draft.length} are guesses`);
    return { slot: slice.slot ?? 0, position: slice.position ?? 0, tokens, sample: slice.sample ?? false, ...(draft.length === 0 ? {} : { draft }) };
  });
  return {
    planId: wire.planId,
    step: wire.step,
    operations: wire.operations.map(fromWireOperation),
    slices,
    sampled: wire.sampled.map((sampled): SampledToken => ({
      slot: sampled.slot ?? 0,
      sequenceId: identifier(sampled.sequenceId),
      position: sampled.position ?? 0,
      token: sampled.token ?? 0,
      endOfGeneration: sampled.endOfGeneration ?? false,
      ...fromWireProbability(sampled.probability),
      ...fromWireEmbedding(sampled.embedding),
    })),
    computeMicros: wire.computeMicros,
    stageMicros: wire.stageMicros,
    ...(wire.goesOn ? { goesOn: true } : {}),
  };
}

type WireOperation = ringagent.activation.Operation.$Properties;
type WireSampling = ringagent.activation.Sampling.$Properties;

function toWireOperation(operation: SequenceOperation): WireOperation {
  if (operation.kind === 'move') return { move: { slot: operation.slot, to: operation.to } };
  if (operation.kind === 'close') return { close: { slot: operation.slot, retain: operation.retain ?? false } };
  return {
    open: {
      slot: operation.slot,
      sequenceId: operation.sequenceId,
      sampling: toWireSampling(operation.sampling),
      origin: operation.origin,
      promptLength: operation.promptLength,
      promptTokens: [...operation.promptTokens],
      emittedTokens: [...operation.emittedTokens],
      reuse: operation.reuse ?? null,
      headDelivers: operation.headDelivers ?? false,
    },
  };
}

function fromWireOperation(wire: WireOperation): SequenceOperation {
  if (wire.close) return { kind: 'close', slot: wire.close.slot ?? 0, ...(wire.close.retain ? { retain: true } : {}) };
  if (wire.move) return { kind: 'move', slot: wire.move.slot ?? 0, to: wire.move.to ?? 0 };
  const { open } = wire;
  if (!open) throw bad('a slot operation of no known kind');
  const promptTokens = open.promptTokens ?? [];
  const emittedTokens = open.emittedTokens ?? [];
  if (promptTokens.length + emittedTokens.length > MAX_HISTORY) throw bad('an overlong history of tokens');
  return {
    kind: 'open',
    slot: open.slot ?? 0,
    sequenceId: identifier(open.sequenceId),
    sampling: fromWireSampling(open.sampling ?? {}),
    origin: identifier(open.origin),
    promptLength: open.promptLength ?? 0,
    promptTokens,
    emittedTokens,
    ...(open.headDelivers ? { headDelivers: true } : {}),
    ...(open.reuse ? { reuse: { slot: open.reuse.slot ?? 0, tokens: open.reuse.tokens ?? 0 } } : {}),
  };
}

/** Shared with the control channel's `generate`. */
export function toWireSampling(sampling: SamplingSettings): WireSampling {
  const { logitBias, grammar, pooling, ...others } = sampling;
  return {
    ...others,
    logitBias: logitBias.map(([token, bias]) => ({ token, bias })),
    ...(grammar === undefined ? {} : { grammar: { text: grammar.text, after: [...grammar.after ?? []] } }),
    ...(pooling === undefined ? {} : { pooling: WIRE_POOLING[pooling] }),
  };
}

/** Throws `bad_frame` when a number is not one that a sampler can take. */
export function fromWireSampling(wire: WireSampling): SamplingSettings {
  const bias = wire.logitBias ?? [];
  if (bias.length > MAX_ITEMS) throw bad(`a logit bias of more than ${MAX_ITEMS} entries`);
  const { grammar, probabilities, draftTokens } = wire;
  if ((probabilities ?? 0) > MAX_ALTERNATIVES) throw bad(`${probabilities} alternatives to each token`);
  return {
    temperature: finite(wire.temperature, 'temperature'),
    topK: wire.topK ?? 0,
    topP: finite(wire.topP, 'top_p'),
    minP: finite(wire.minP, 'min_p'),
    seed: wire.seed ?? 0,
    repeatPenalty: finite(wire.repeatPenalty, 'repeat_penalty'),
    frequencyPenalty: finite(wire.frequencyPenalty, 'frequency_penalty'),
    presencePenalty: finite(wire.presencePenalty, 'presence_penalty'),
    ignoreEos: wire.ignoreEos ?? false,
    logitBias: bias.map((entry) => [entry.token ?? 0, finite(entry.bias, 'logit_bias')] as const),
    ...(grammar ? { grammar: fromWireGrammar(grammar) } : {}),
    ...(probabilities === null || probabilities === undefined ? {} : { probabilities }),
    ...fromWirePooling(wire.pooling),
    ...(draftTokens === null || draftTokens === undefined ? {} : { draftTokens }),
  };
}

const WIRE_POOLING: Readonly<Record<Pooling, ringagent.activation.Pooling>> = { mean: WirePooling.MEAN, first: WirePooling.FIRST, last: WirePooling.LAST };

function fromWirePooling(wire: ringagent.activation.Pooling | null | undefined): { readonly pooling?: Pooling } {
  switch (wire ?? WirePooling.NO_POOLING) {
    case WirePooling.NO_POOLING: return {};
    case WirePooling.MEAN: return { pooling: 'mean' };
    case WirePooling.FIRST: return { pooling: 'first' };
    case WirePooling.LAST: return { pooling: 'last' };
    default: throw bad(`an unknown pooling (${String(wire)})`);
  }
}

function fromWireGrammar(wire: ringagent.activation.Grammar.$Properties): Grammar {
  const text = wire.text ?? '';
  const after = wire.after ?? [];
  if (text.length > MAX_GRAMMAR_CHARACTERS) throw bad(`a grammar of ${text.length} characters`);
  if (after.length > MAX_GRAMMAR_STARTS || after.some((start) => start === '' || start.length > MAX_GRAMMAR_START_CHARACTERS)) throw bad('a grammar that begins after impossible texts');
  return after.length === 0 ? { text } : { text, after };
}

/** Shared with the control channel's `token`. */
export function toWireProbability(probability: TokenProbability | undefined): ringagent.activation.Probability.$Properties | null {
  return probability === undefined ? null : { logprob: probability.logprob, alternatives: [...probability.alternatives] };
}

/** Throws `bad_frame`. Nothing = not told. */
export function fromWireProbability(wire: ringagent.activation.Probability.$Properties | null | undefined): { readonly probability?: TokenProbability } {
  if (!wire) return {};
  const alternatives = wire.alternatives ?? [];
  if (alternatives.length > MAX_ALTERNATIVES) throw bad(`${alternatives.length} alternatives to a token`);
  return {
    probability: {
      logprob: finite(wire.logprob, 'logprob'),
      alternatives: alternatives.map(({ token, logprob }) => ({ token: token ?? 0, logprob: finite(logprob, 'logprob') })),
    },
  };
}

/** Shared with the control channel's `token`. */
export function toWireEmbedding(embedding: Float32Array | undefined): number[] {
  return embedding === undefined ? [] : Array.from(embedding);
}

/** Throws `bad_frame`. Nothing = not asked for. */
export function fromWireEmbedding(wire: readonly number[] | null | undefined): { readonly embedding?: Float32Array } {
  if (!wire || wire.length === 0) return {};
  if (wire.length > MAX_HIDDEN_SIZE) throw bad(`an embedding of ${wire.length} numbers`);
  return { embedding: Float32Array.from(wire, (value) => finite(value, 'embedding')) };
}

function finite(value: number | null | undefined, name: string): number {
  const number = value ?? 0;
  if (!Number.isFinite(number)) throw bad(`${name} is not a finite number`);
  return number;
}

function identifier(value: string | null | undefined): string {
  const text = value ?? '';
  if (text.length > MAX_ID_LENGTH) throw bad('an overlong identifier');
  return text;
}

function align(bytes: number): number {
  return Math.ceil(bytes / FLOAT_BYTES) * FLOAT_BYTES;
}

function bytesOf(floats: Float32Array): Uint8Array {
  return new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
}

/** A view when the bytes are aligned, else a copy. All platforms that the engine runs on are little-endian. */
function floatsOf(bytes: Uint8Array): Float32Array {
  if (bytes.byteOffset % FLOAT_BYTES === 0) return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / FLOAT_BYTES);
  return new Float32Array(bytes.slice().buffer);
}

function bad(what: string): RingError {
  return new RingError('bad_frame', `an activation frame has ${what}; it is refused`);
}
