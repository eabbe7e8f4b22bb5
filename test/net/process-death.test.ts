import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { startNode, stopAll, until } from './support.js';
import type { TestNode } from './support.js';

const DIST = fileURLToPath(new URL('../../dist/src/', import.meta.url));

/** A node in a process of its own, from the build. Prints its id when it listens. */
const PROGRAM = `
  const { openIdentity } = await import(process.env.DIST + 'net/identity.js');
  const { createNetwork } = await import(process.env.DIST + 'net/network.js');
  const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log };
  const clock = { now: () => performance.now(), after: (ms, call) => { const timer = setTimeout(call, ms); return () => clearTimeout(timer); } };
  const identity = await openIdentity(process.env.STATE, log);
  await createNetwork({
    identity, stateDir: process.env.STATE, clusterName: 'test', secret: null, listen: { host: '127.0.0.1', port: 0, portExplicit: false },
    peers: [process.env.PEER], noMdns: true, agentVersion: '0.1.0', protocolMin: 1, protocolMax: 1,
  }, { connected() {}, disconnected() {}, message() {}, ringLink() {} }, { header: async () => null, tensor: async () => null }, log, clock);
`;

const children: ChildProcess[] = [];

afterEach(async () => {
  await Promise.all(children.splice(0).map(async (child) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }));
  await stopAll();
});

async function startProcess(peer: TestNode): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    env: { ...process.env, DIST, STATE: temporaryDirectory(), PEER: peer.address }, stdio: ['ignore', 'inherit', 'inherit'],
  });
  children.push(child);
  await until(() => peer.network.peers().length === 1, 'the process connects', 20_000);
  return child;
}

describe('another process', () => {
  it('that is killed is missed within a second', async () => {
    const a = await startNode();
    const child = await startProcess(a);
    child.kill('SIGKILL');
    expect(await until(() => a.disconnected.length === 1, 'it is missed')).toBeLessThan(1000);
  });

  it('that is frozen is missed within two seconds, and comes back', async () => {
    const a = await startNode();
    const child = await startProcess(a);
    child.kill('SIGSTOP');
    expect(await until(() => a.disconnected.length === 1, 'it is missed')).toBeLessThan(2000);
    child.kill('SIGCONT');
    await until(() => a.network.peers().length === 1, 'it is back');
  });
});
