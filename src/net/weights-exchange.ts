/**
 * Weights between peers, `/ring-agent/weights/1`: a model's header, or one tensor from an offset on. One stream a request.
 *
 * The content follows its description in frames, each awaited, so that a transfer never holds more than a frame and a
 * window. Sizes are checked here; digests by whoever stores the bytes. It must not know files, plans or models.
 */
import type { Connection, Stream } from '@libp2p/interface';
import { errorMessageOf, RingError } from '../core/errors.js';
import { underEither } from '../either-signal.js';
import type { Clock, TensorContent, WeightsHeader, WeightsProvider } from '../ports.js';
import { decodeWeightsRequest, decodeWeightsResponse, encodeWeightsRequest, encodeWeightsResponse } from '../wire/weights-codec.js';
import type { WeightsRequest, WeightsResponse } from '../wire/weights-codec.js';
import { FramedStream } from './framed-stream.js';

export const WEIGHTS_PROTOCOL = '/ring-agent/weights/1';
/** Largest content frame: small enough that a control message never waits long behind one. */
const CONTENT_FRAME_BYTES = 256 * 1024;
const MAX_FRAME_BYTES = 1024 * 1024;
const HIGH_WATER_BYTES = 1024 * 1024;
/** Yamux's initial window, and enough to fill a gigabit of LAN: what is in flight delays control messages on a slow link. */
const WINDOW_BYTES = 256 * 1024;
/** No byte for this long ends a transfer; it can be resumed. */
const IDLE_TIMEOUT_MS = 10_000;
/** A header's largest part is the vocabulary; hashes of a sharded model add up. */
const MAX_HEADER_BYTES = 512 * 1024 * 1024;
/** Describing a tensor may hash it first. */
const DESCRIBE_TIMEOUT_MS = 120_000;

type Described = Extract<WeightsResponse, { kind: 'header' | 'tensor' }>;

export interface WeightsContext {
  readonly clock: Clock;
  readonly onMalformed: (error: RingError) => void;
}

/** Answers one request. Rejects when the stream breaks; the peer's next request starts anew. */
export async function serveWeights(stream: Stream, provider: WeightsProvider, context: WeightsContext): Promise<void> {
  const framed = frame(stream, context);
  try {
    const bytes = await framed.next(IDLE_TIMEOUT_MS);
    if (bytes === null) return;
    await answer(framed, decodeWeightsRequest(bytes), provider);
    framed.close();
  } catch (error) {
    framed.close(error instanceof Error ? error : new Error(String(error)));
    throw error;
  }
}

async function answer(framed: FramedStream, request: WeightsRequest, provider: WeightsProvider): Promise<void> {
  let content: AsyncIterable<Uint8Array> | Iterable<Uint8Array> = [];
  let response: WeightsResponse = { kind: 'missing' };
  try {
    if (request.kind === 'header') {
      const header = await provider.header(request.modelDigest);
      if (header !== null) {
        const fileBytes = header.files.map((file) => file.byteLength);
        response = { kind: 'header', name: header.name, sizeBytes: header.sizeBytes, fileBytes, contentBytes: fileBytes.reduce((sum, bytes) => sum + bytes, 0) };
        content = header.files;
      }
    } else {
      const tensor = await provider.tensor(request.modelDigest, request.name);
      if (tensor !== null && request.offset > tensor.sizeBytes) {
        response = { kind: 'problem', message: `the tensor ${request.name} has ${tensor.sizeBytes} bytes; byte ${request.offset} was asked for` };
      } else if (tensor !== null) {
        const contentBytes = request.describeOnly ? 0 : tensor.sizeBytes - request.offset;
        response = { kind: 'tensor', sizeBytes: tensor.sizeBytes, digest: tensor.digest, contentBytes };
        if (contentBytes > 0) content = tensor.read(request.offset);
      }
    }
  } catch (error) {
    response = { kind: 'problem', message: errorMessageOf(error) };
  }
  framed.send([encodeWeightsResponse(response)]);
  await framed.flushed(IDLE_TIMEOUT_MS);
  if (response.kind === 'header' || response.kind === 'tensor') await sendContent(framed, content, response.contentBytes);
}

async function sendContent(framed: FramedStream, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, contentBytes: number): Promise<void> {
  let left = contentBytes;
  if (left === 0) return;
  for await (const chunk of content) {
    for (let at = 0; at < chunk.byteLength && left > 0; at += CONTENT_FRAME_BYTES) {
      const part = chunk.subarray(at, Math.min(at + CONTENT_FRAME_BYTES, at + left));
      framed.send([part]);
      left -= part.byteLength;
      await framed.flushed(IDLE_TIMEOUT_MS);
    }
    if (left === 0) return;
  }
  throw new RingError('io_failed', `the local weights ended ${left} bytes early`);
}

/** The model's header from a peer. Rejects with `unknown_model` when the peer does not hold it. */
export async function fetchHeader(connection: Connection, modelDigest: string, signal: AbortSignal, context: WeightsContext): Promise<WeightsHeader> {
  const transfer = await request(connection, { kind: 'header', modelDigest }, signal, context);
  try {
    const { response } = transfer;
    if (response.kind !== 'header') throw new RingError('bad_frame', 'the peer described a tensor when a header was asked for');
    if (response.contentBytes > MAX_HEADER_BYTES) {
      throw new RingError('frame_too_large', `the peer announced a model header of ${response.contentBytes} bytes; at most ${MAX_HEADER_BYTES} are allowed`);
    }
    const parts: Uint8Array[] = [];
    for await (const part of receive(transfer.framed, response.contentBytes, signal)) parts.push(part);
    const whole = Buffer.concat(parts);
    const files: Uint8Array[] = [];
    let at = 0;
    for (const length of response.fileBytes) {
      files.push(new Uint8Array(whole.buffer, whole.byteOffset + at, length));
      at += length;
    }
    return { name: response.name, sizeBytes: response.sizeBytes, files };
  } finally {
    transfer.end();
  }
}

/** How a peer describes a tensor; its bytes come with `fetchTensorBytes`. */
export async function describeTensor(
  connection: Connection, tensor: { readonly modelDigest: string; readonly name: string }, signal: AbortSignal, context: WeightsContext,
): Promise<Pick<TensorContent, 'sizeBytes' | 'digest'>> {
  const transfer = await request(connection, { kind: 'tensor', ...tensor, offset: 0, describeOnly: true }, signal, context);
  transfer.end();
  if (transfer.response.kind !== 'tensor') throw new RingError('bad_frame', 'the peer described a header when a tensor was asked for');
  return { sizeBytes: transfer.response.sizeBytes, digest: transfer.response.digest };
}

/** The tensor's bytes from `offset` on, exactly `sizeBytes - offset` of them; rejects when the peer's tensor is another. */
export async function* fetchTensorBytes(
  connection: Connection,
  tensor: { readonly modelDigest: string; readonly name: string; readonly offset: number; readonly sizeBytes: number; readonly digest: string },
  signal: AbortSignal,
  context: WeightsContext,
): AsyncGenerator<Uint8Array> {
  const { modelDigest, name, offset } = tensor;
  const transfer = await request(connection, { kind: 'tensor', modelDigest, name, offset, describeOnly: false }, signal, context);
  let complete = false;
  try {
    const { response } = transfer;
    if (response.kind !== 'tensor' || response.sizeBytes !== tensor.sizeBytes || response.digest !== tensor.digest || response.contentBytes !== tensor.sizeBytes - offset) {
      throw new RingError('digest_mismatch', `the tensor ${name} changed at the peer while it was fetched`);
    }
    yield* receive(transfer.framed, response.contentBytes, signal);
    complete = true;
  } finally {
    transfer.end(!complete);
  }
}

async function* receive(framed: FramedStream, contentBytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let left = contentBytes;
  while (left > 0) {
    const part = await framed.next(IDLE_TIMEOUT_MS);
    if (part === null) throw endedEarly(left, signal);
    if (part.byteLength > left) throw new RingError('bad_frame', `the peer sent ${part.byteLength - left} bytes more than it announced`);
    left -= part.byteLength;
    yield part;
  }
}

function endedEarly(left: number, signal: AbortSignal): RingError {
  if (signal.aborted) return new RingError('cancelled', 'the transfer was cancelled');
  return new RingError('peer_lost', `the transfer ended ${left} bytes early`);
}

interface Transfer {
  readonly framed: FramedStream;
  readonly response: Described;
  /** Ends the stream; what the peer still sends of an unfinished transfer is stopped at once. */
  end(unfinished?: boolean): void;
}

async function request(connection: Connection, what: WeightsRequest, signal: AbortSignal, context: WeightsContext): Promise<Transfer> {
  signal.throwIfAborted();
  const stream = await underEither([signal, AbortSignal.timeout(IDLE_TIMEOUT_MS)], (either) => connection.newStream(WEIGHTS_PROTOCOL, { signal: either }));
  const framed = frame(stream, context);
  let finished = false;
  const abort = (): void => framed.close(new RingError('cancelled', 'the transfer was cancelled'));
  const end = (unfinished = false): void => {
    signal.removeEventListener('abort', abort);
    if (finished) return;
    finished = true;
    framed.close(unfinished ? new RingError('cancelled', 'the transfer is no longer wanted') : undefined);
  };
  signal.addEventListener('abort', abort);
  try {
    framed.send([encodeWeightsRequest(what)]);
    const bytes = await framed.next(DESCRIBE_TIMEOUT_MS);
    if (bytes === null) throw new RingError(signal.aborted ? 'cancelled' : 'peer_lost', 'the transfer ended before it began');
    const response = decodeWeightsResponse(bytes, what.kind);
    if (response.kind === 'missing') throw new RingError('unknown_model', 'the peer does not hold these weights', { modelDigest: what.modelDigest });
    if (response.kind === 'problem') throw new RingError('io_failed', `the peer cannot read these weights: ${response.message}`);
    return { framed, response, end };
  } catch (error) {
    signal.removeEventListener('abort', abort);
    framed.close(error instanceof Error ? error : new Error(String(error)));
    throw error;
  }
}

function frame(stream: Stream, context: WeightsContext): FramedStream {
  // The receiver lets the window grow; here it stays, so that the wire's queue is short for everything else.
  if ('maxStreamWindowSize' in stream) stream.maxStreamWindowSize = WINDOW_BYTES;
  return new FramedStream(stream, {
    clock: context.clock, maxFrameBytes: MAX_FRAME_BYTES, highWaterBytes: HIGH_WATER_BYTES, what: 'a transfer of weights', onMalformed: context.onMalformed,
  });
}
