import { afterEach, describe, expect, it } from 'vitest';
import type { ControlMessage } from '../../src/core/messages.js';
import { connectedPair, startNode, stopAll, until, uniqueCluster } from './support.js';

afterEach(stopAll);

function token(index: number): ControlMessage {
  return { kind: 'token', requestId: 'r', planId: 'p', index, token: index, endOfGeneration: false };
}

describe('two nodes', () => {
  it('connect through --peer, once, and both know it', async () => {
    const [a, b] = await connectedPair();
    expect(a.network.peers()).toEqual([b.id]);
    expect(b.network.peers()).toEqual([a.id]);
    expect(a.connected).toEqual([b.id]);
    expect(b.connected).toEqual([a.id]);
    expect([...a.network.refused(), ...b.network.refused()]).toEqual([]);
  });

  it('measure the way between them, without being told to', async () => {
    const [a, b] = await connectedPair();
    await until(() => a.network.links().length === 1 && b.network.links().length === 1, 'a ping is answered on both sides');
    const [link] = a.network.links();
    expect(link).toMatchObject({ nodeId: b.id, bytesPerSecond: null });
    expect(link?.roundTripMicros).toBeGreaterThan(0);
    expect(link?.roundTripMicros).toBeLessThan(1_000_000);
  });

  it('exchange messages both ways, in order', async () => {
    const [a, b] = await connectedPair();
    for (let index = 0; index < 2000; index++) {
      expect(a.network.send(b.id, token(index))).toBe(true);
      expect(b.network.send(a.id, token(index + 5000))).toBe(true);
    }
    await until(() => a.messages.length === 2000 && b.messages.length === 2000, 'all messages arrive');
    expect(b.messages.map(({ message }) => message)).toEqual(Array.from({ length: 2000 }, (_, index) => token(index)));
    expect(a.messages.every(({ from, message }, index) => from === b.id && message.kind === 'token' && message.index === index + 5000)).toBe(true);
  });

  it('see within a second that the other one stopped', async () => {
    const [a, b] = await connectedPair();
    await b.stop();
    expect(await until(() => a.disconnected.length === 1, 'the loss is noticed')).toBeLessThan(1000);
    expect(a.disconnected[0]?.nodeId).toBe(b.id);
    expect(a.network.peers()).toEqual([]);
    expect(a.network.send(b.id, token(0))).toBe(false);
  });

  it('find each other again after a restart, by what they remember', async () => {
    const [a, b] = await connectedPair();
    const { stateDir } = b;
    await b.stop();
    const again = await startNode({ stateDir });
    expect(again.id).toBe(b.id);
    expect(again.identity.incarnation).toBe(b.identity.incarnation + 1);
    await until(() => again.network.peers().length === 1 && a.network.peers().length === 1, 'connected again without --peer');
  });

  it('meet although the one named by --peer starts later, and the log says what is waited for', async () => {
    const b = await startNode({ peers: ['127.0.0.1:25721'] });
    await until(() => b.logLines.some((line) => line.startsWith('warn the peer 127.0.0.1:25721 does not answer')), 'a warning');
    const a = await startNode({ listen: { host: '127.0.0.1', port: 25_721, portExplicit: true } });
    await until(() => a.network.peers().length === 1 && b.network.peers().length === 1, 'connected');
    expect(b.logLines.filter((line) => line.includes('does not answer'))).toHaveLength(1);
  });

  it('give up a dial to themselves', async () => {
    const a = await startNode({ listen: { host: '127.0.0.1', port: 25_701, portExplicit: false }, peers: ['127.0.0.1:25701', '127.0.0.1:25702'] });
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(a.network.refused()).toEqual([]);
    expect(a.network.peers()).toEqual([]);
  });
});

describe('three nodes', () => {
  it('that dial each other at the same time end up with one session a pair', async () => {
    const ports = [25_711, 25_712, 25_713];
    const nodes = await Promise.all(ports.map((port) => startNode({
      listen: { host: '127.0.0.1', port, portExplicit: true }, peers: ports.filter((other) => other !== port).map((other) => `127.0.0.1:${other}`),
    })));
    await until(() => nodes.every((node) => node.network.peers().length === 2), 'a full mesh');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const before = nodes.map((node) => node.disconnected.length);
    for (const from of nodes) for (const to of nodes) if (from !== to) expect(from.network.send(to.id, token(1))).toBe(true);
    await until(() => nodes.every((node) => node.messages.length === 2), 'everyone hears everyone');
    expect(nodes.map((node) => node.disconnected.length)).toEqual(before);
  });

  it('find each other by mDNS', async () => {
    const clusterName = uniqueCluster();
    const listen = { host: '0.0.0.0', port: 0, portExplicit: false };
    const nodes = await Promise.all([1, 2, 3].map(() => startNode({ clusterName, listen, noMdns: false })));
    expect(await until(() => nodes.every((node) => node.network.peers().length === 2), 'a full mesh by mDNS')).toBeLessThan(5000);
  });

  it('find one again that restarted on another port', async () => {
    const clusterName = uniqueCluster();
    const options = { clusterName, listen: { host: '0.0.0.0', port: 0, portExplicit: false }, noMdns: false };
    const [a, b] = await Promise.all([startNode(options), startNode(options)]);
    await until(() => a.network.peers().length === 1 && b.network.peers().length === 1, 'two nodes by mDNS');
    const { stateDir, address } = b;
    await b.stop();
    await until(() => a.network.peers().length === 0, 'the loss is noticed');
    const again = await startNode({ ...options, stateDir });
    expect(again.address).not.toBe(address);
    await until(() => a.network.peers().length === 1 && again.network.peers().length === 1, 'connected again');
  });

  it('of another cluster name do not meet', async () => {
    const listen = { host: '0.0.0.0', port: 0, portExplicit: false };
    const [a, b] = await Promise.all([1, 2].map(() => startNode({ clusterName: uniqueCluster(), listen, noMdns: false })));
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(a?.network.peers()).toEqual([]);
    expect([...(a?.network.refused() ?? []), ...(b?.network.refused() ?? [])]).toEqual([]);
  });
});

describe('a peer that does not belong here', () => {
  it('with another secret is refused on both sides, by mDNS', async () => {
    const clusterName = uniqueCluster();
    const listen = { host: '0.0.0.0', port: 0, portExplicit: false };
    const [a, b] = await Promise.all([1, 2].map((seed) => startNode({ clusterName, listen, noMdns: false, secret: new Uint8Array(16).fill(seed) })));
    await until(() => a?.network.refused()[0]?.code === 'wrong_cluster' && b?.network.refused()[0]?.code === 'wrong_cluster', 'both show the refusal');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(a?.network.refused()).toMatchObject([{ nodeId: b?.id, code: 'wrong_cluster' }]);
    expect(b?.network.refused()).toMatchObject([{ nodeId: a?.id, code: 'wrong_cluster' }]);
    expect(a?.network.peers()).toEqual([]);
  });

  it('with a secret where there is none is refused on both sides, by address', async () => {
    const a = await startNode();
    const b = await startNode({ peers: [a.address], secret: new Uint8Array(16) });
    await until(() => a.network.refused().length === 1 && b.network.refused().length === 1, 'both show the refusal');
    expect(a.network.refused()[0]?.code).toBe('wrong_cluster');
    expect(b.network.refused()[0]?.code).toBe('wrong_cluster');
    expect(b.network.refused()[0]?.message).toContain('--secret-file');
    // Said once and rightly: somebody does answer there.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(b.logLines.filter((line) => line.includes('does not answer'))).toEqual([]);
  });

  it('of another protocol version is shown with both versions, on both sides', async () => {
    const a = await startNode({ agentVersion: '0.1.0', protocolMin: 1, protocolMax: 2 });
    const b = await startNode({ agentVersion: '0.9.0', protocolMin: 3, protocolMax: 5, peers: [a.address] });
    await until(() => a.network.refused().length === 1 && b.network.refused().length === 1, 'both show the refusal');
    for (const node of [a, b]) {
      const [refused] = node.network.refused();
      expect(refused?.code).toBe('version_mismatch');
      for (const part of ['0.1.0', '0.9.0', '1 to 2', '3 to 5']) expect(refused?.message).toContain(part);
      expect(node.network.peers()).toEqual([]);
      expect(node.connected).toEqual([]);
    }
  });

  it('of an overlapping version range is accepted', async () => {
    await connectedPair({ protocolMin: 1, protocolMax: 3 }, { protocolMin: 2, protocolMax: 5 });
  });
});
