import { afterEach, describe, expect, it } from 'vitest';
import { noise } from '@chainsafe/libp2p-noise';
import type { Connection, Stream } from '@libp2p/interface';
import { tcp } from '@libp2p/tcp';
import { yamux } from '@libp2p/yamux';
import { multiaddr } from '@multiformats/multiaddr';
import { createLibp2p } from 'libp2p';
import type { Libp2p } from 'libp2p';
import { connect } from 'node:net';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CONTROL_PROTOCOL } from '../../src/net/control-channel.js';
import { HELLO_PROTOCOL } from '../../src/net/hello.js';
import { ACTIVATION_PROTOCOL } from '../../src/net/ring-link.js';
import { clusterHash, noisePrologue } from '../../src/net/secret.js';
import { encodeFrame } from '../../src/wire/framing.js';
import { encodeHello } from '../../src/wire/record-codec.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { connectedPair, startNode, stopAll, until } from './support.js';
import type { TestNode } from './support.js';

const strangers: Libp2p[] = [];

afterEach(async () => {
  await Promise.all(strangers.splice(0).map((stranger) => stranger.stop()));
  await stopAll();
});

/** A program that passes the handshake and then says what it likes. */
async function startStranger(): Promise<Libp2p> {
  const stranger = await createLibp2p({
    transports: [tcp()], streamMuxers: [yamux()], connectionEncrypters: [noise({ prologueBytes: noisePrologue('test', null) })],
    connectionMonitor: { enabled: false },
  });
  strangers.push(stranger);
  return stranger;
}

async function call(stranger: Libp2p, node: TestNode): Promise<Connection> {
  return stranger.dial(multiaddr(`${node.network.addresses()[0] ?? ''}/p2p/${node.id}`));
}

async function sayHello(stranger: Libp2p, connection: Connection, nodeId = stranger.peerId.toString()): Promise<void> {
  const stream = await connection.newStream(HELLO_PROTOCOL);
  const hello = encodeHello({ clusterHash: clusterHash('test'), agentVersion: '0.1.0', protocolMin: 1, protocolMax: 1, nodeId, incarnation: 1, nonce: 'n', addresses: [], bulk: false });
  const answered = new Promise<void>((resolve) => stream.addEventListener('message', () => resolve()));
  send(stream, hello);
  await answered;
}

function send(stream: Stream, payload: Uint8Array): void {
  for (const piece of encodeFrame([payload])) stream.send(piece);
}

/** Hello, control channel, then `bytes` on it as they are. */
async function misbehave(stranger: Libp2p, node: TestNode, bytes: Uint8Array): Promise<Connection> {
  const connection = await call(stranger, node);
  await sayHello(stranger, connection);
  const control = await connection.newStream(CONTROL_PROTOCOL);
  control.send(bytes);
  return connection;
}

describe('B18: a peer that breaks the protocol', () => {
  it.each([
    ['a frame that is no message', Buffer.concat(encodeFrame([Buffer.from('ffffffff', 'hex')]))],
    ['a message of no known kind', Buffer.concat(encodeFrame([Buffer.from('f2070161', 'hex')]))],
    ['a frame over the limit', Buffer.from('7fffffff00', 'hex')],
    ['an empty frame', Buffer.from('00000000', 'hex')],
  ])('with %s is dropped, and the others do not notice', async (_, bytes) => {
    const [a, b] = await connectedPair();
    const stranger = await startStranger();
    const connection = await misbehave(stranger, a, bytes);
    await until(() => connection.status !== 'open', 'the stranger is cut off', 2000);
    const id = stranger.peerId.toString();
    await until(() => a.disconnected.some(({ nodeId }) => nodeId === id), 'the loss is reported');
    expect(a.network.peers()).toEqual([b.id]);
    expect(b.disconnected).toEqual([]);
    expect(a.network.send(b.id, { kind: 'leave' })).toBe(true);
    await until(() => b.messages.length === 1, 'the others still talk');
  });

  it('five times is shut out and shown', async () => {
    const a = await startNode();
    const stranger = await startStranger();
    for (let offence = 0; offence < 5; offence++) {
      const connection = await misbehave(stranger, a, Buffer.from('00000000', 'hex'));
      await until(() => connection.status !== 'open', 'cut off', 2000);
    }
    await until(() => a.network.refused().length === 1, 'shown');
    expect(a.network.refused()).toMatchObject([{ nodeId: stranger.peerId.toString(), code: 'misbehaved' }]);
    const seen = a.connected.length;
    const connection = await call(stranger, a);
    await sayHello(stranger, connection).catch(() => undefined);
    await until(() => connection.status !== 'open', 'not let in again', 2000);
    expect(a.connected.length).toBe(seen);
  });

  it('gets nowhere without a hello', async () => {
    const a = await startNode();
    const stranger = await startStranger();
    const connection = await call(stranger, a);
    for (const protocol of [CONTROL_PROTOCOL, ACTIVATION_PROTOCOL]) {
      const stream = await connection.newStream(protocol);
      // It may be cut already.
      if (stream.status === 'open') send(stream, Buffer.from('5a030a0172', 'hex'));
      await until(() => stream.status !== 'open', `${protocol} is cut`, 2000);
    }
    expect(a.connected).toEqual([]);
    expect(a.messages).toEqual([]);
  });

  it('and calls itself somebody else is refused', async () => {
    const [a, b] = await connectedPair();
    const stranger = await startStranger();
    const connection = await call(stranger, a);
    await sayHello(stranger, connection, b.id);
    await until(() => connection.status !== 'open', 'cut off', 3000);
    expect(a.network.refused()).toMatchObject([{ code: 'misbehaved', nodeId: stranger.peerId.toString() }]);
    expect(a.network.peers()).toEqual([b.id]);
  });

  it('and falls silent is noticed', async () => {
    const a = await startNode();
    const stranger = await startStranger();
    const connection = await call(stranger, a);
    await sayHello(stranger, connection);
    await connection.newStream(CONTROL_PROTOCOL);
    await until(() => a.connected.length === 1, 'it is a peer');
    expect(await until(() => a.disconnected.length === 1, 'its silence is noticed')).toBeLessThan(2000);
    expect(a.disconnected[0]?.reason).toContain('nothing was heard');
  });

  it('by connecting and closing at once, or in the middle of a frame, costs nothing', async () => {
    const [a, b] = await connectedPair();
    const [host, port] = a.address.split(':');
    for (const bytes of ['', '\u0013/multistream/1.0', '\u0013/multistream/1.0.0\n\u0007/noise\n\u0000\u0020half']) {
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), host, () => socket.end(bytes));
        // It may be cut before it has ended.
        socket.on('error', () => resolve());
        socket.on('close', () => resolve());
        socket.resume();
      });
    }
    expect(a.network.peers()).toEqual([b.id]);
    expect(a.disconnected).toEqual([]);
    expect(a.network.send(b.id, { kind: 'leave' })).toBe(true);
    await until(() => b.messages.length === 1, 'the others still talk');
  });

  it('by never finishing the handshake costs nothing', async () => {
    const a = await startNode();
    const [host, port] = a.address.split(':');
    const sockets = Array.from({ length: 20 }, () => connect(Number(port), host));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const b = await startNode({ peers: [a.address] });
    await until(() => b.network.peers().length === 1, 'others connect meanwhile');
    for (const socket of sockets) socket.destroy();
  });
});

describe('a cloned identity', () => {
  it('is named by a third node, which keeps the first of the two', async () => {
    const [a, b] = await connectedPair();
    const copy = temporaryDirectory();
    await cp(join(b.stateDir, 'identity.key'), join(copy, 'identity.key'));
    // Copied before it ever counted: both have started once.
    await writeFile(join(copy, 'node.json'), JSON.stringify({ incarnation: b.identity.incarnation - 1 }));
    const clone = await startNode({ stateDir: copy, peers: [a.address] });
    expect(clone.id).toBe(b.id);
    await until(() => a.network.refused().length === 1, 'the clone is shown');
    expect(a.network.refused()[0]).toMatchObject({ nodeId: b.id, code: 'cloned_identity' });
    expect(a.network.refused()[0]?.message).toContain('identity.key');
    expect(a.network.peers()).toEqual([b.id]);
    expect(a.disconnected).toEqual([]);
  });

  it('is named by the node itself when it meets its own id elsewhere', async () => {
    const a = await startNode();
    const copy = temporaryDirectory();
    await cp(join(a.stateDir, 'identity.key'), join(copy, 'identity.key'));
    const clone = await startNode({ stateDir: copy, peers: [a.address] });
    await until(() => clone.network.refused().length === 1, 'the clone is shown');
    expect(clone.network.refused()[0]).toMatchObject({ nodeId: a.id, code: 'cloned_identity' });
  });
});
