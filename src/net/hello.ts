/**
 * The first words on a connection: who is there, of which cluster, speaking which versions. Both sides judge the other's
 * hello by the same rules; a dial that merely succeeded means nothing until then.
 *
 * It must not know sessions; a verdict is a value.
 */
import type { Connection, Stream } from '@libp2p/interface';
import { RingError } from '../core/errors.js';
import type { Clock, RefusedPeer } from '../ports.js';
import { decodeHello, encodeHello } from '../wire/record-codec.js';
import type { Hello } from '../wire/record-codec.js';
import { FramedStream } from './framed-stream.js';

/** The frame's layout never changes incompatibly: it is what tells incompatible versions apart. */
export const HELLO_PROTOCOL = '/ring-agent/hello/1';
export const HELLO_TIMEOUT_MS = 3000;
const MAX_HELLO_BYTES = 64 * 1024;

/** What is wrong with a peer that sent `theirs`; null = nothing. Symmetrical: both sides come to the same verdict. */
export function judgeHello(own: Hello, theirs: Hello, peer: { readonly nodeId: string; readonly address: string }): RefusedPeer | null {
  const refuse = (code: RefusedPeer['code'], message: string): RefusedPeer => ({ ...peer, code, message });
  if (theirs.nodeId !== peer.nodeId) {
    return refuse('misbehaved', `the node ${peer.nodeId} at ${peer.address} calls itself ${theirs.nodeId}: it is broken or lies`);
  }
  if (theirs.clusterHash !== own.clusterHash) {
    return refuse('wrong_cluster', `the node ${peer.nodeId} at ${peer.address} belongs to a cluster of another name: start both with the same --cluster`);
  }
  if (theirs.protocolMax < own.protocolMin || theirs.protocolMin > own.protocolMax) {
    return refuse('version_mismatch', `the node ${peer.nodeId} at ${peer.address} runs ring-agent ${theirs.agentVersion}, which speaks protocol ${rangeOf(theirs)}; this one runs ${own.agentVersion}, which speaks ${rangeOf(own)}: install the same version on both`);
  }
  return null;
}

function rangeOf(hello: Hello): string {
  return hello.protocolMin === hello.protocolMax ? `${hello.protocolMin}` : `${hello.protocolMin} to ${hello.protocolMax}`;
}

/** Says ours, hears theirs. Throws `peer_lost`, `timeout` or `bad_frame`. */
export async function sayHello(connection: Connection, own: Hello, clock: Clock): Promise<Hello> {
  const framed = frame(await connection.newStream(HELLO_PROTOCOL, { signal: AbortSignal.timeout(HELLO_TIMEOUT_MS) }), clock);
  try {
    framed.send([encodeHello(own)]);
    return await read(framed);
  } finally {
    framed.close();
  }
}

/** Hears theirs, says ours whatever we think of it: the other side must be able to show both versions. */
export async function answerHello(stream: Stream, own: Hello, clock: Clock): Promise<Hello> {
  const framed = frame(stream, clock);
  try {
    const theirs = await read(framed);
    framed.send([encodeHello(own)]);
    await framed.flushed(HELLO_TIMEOUT_MS);
    return theirs;
  } finally {
    framed.close();
  }
}

function frame(stream: Stream, clock: Clock): FramedStream {
  return new FramedStream(stream, {
    clock, maxFrameBytes: MAX_HELLO_BYTES, highWaterBytes: MAX_HELLO_BYTES, what: 'the exchange of hellos',
    // `next` rejects with the same error, and that is where it is handled.
    onMalformed: () => undefined,
  });
}

async function read(framed: FramedStream): Promise<Hello> {
  const bytes = await framed.next(HELLO_TIMEOUT_MS);
  if (bytes === null) throw new RingError('peer_lost', 'the peer ended the exchange of hellos without a word');
  return decodeHello(bytes);
}
