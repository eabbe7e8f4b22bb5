/** The LAN harness itself: hosts reach each other, cables can be pulled, networks split, and nothing is left behind. */
import { createServer } from 'node:http';
import { mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { callHttp } from '../support/http.js';
import { OWNER_TAG, uniqueName } from '../support/owner.js';
import { processesWithMarker, runToEnd, TestChild, waitUntil } from '../support/processes.js';
import { createLan, lanAvailable, namespaceNames } from './harness.js';
import type { Lan, LanHost, LanOptions } from './harness.js';

const available = lanAvailable();
const GROUP = '239.1.2.3';
const PORT = 5399;

/** Joins a multicast group, says so, prints the first datagram and ends. */
const LISTENER = `
const socket = require('node:dgram').createSocket({ type: 'udp4', reuseAddr: true });
socket.on('message', (message) => { console.log('got ' + message); process.exit(0); });
socket.bind(${PORT}, () => { socket.addMembership('${GROUP}'); console.log('joined'); });
`;
/** Sends a datagram to the group every 50 ms until it is killed. */
const SPEAKER = `
const socket = require('node:dgram').createSocket('udp4');
setInterval(() => socket.send('hello', ${PORT}, '${GROUP}', () => undefined), 50);
`;
/** Echoes, over TCP, with the host's own name in front. */
const ECHO = `
require('node:net').createServer((socket) => {
  socket.on('error', () => undefined);
  socket.on('data', (data) => socket.write(require('node:os').hostname() + ' ' + data));
}).listen(${PORT}, '0.0.0.0', () => console.log('listening'));
`;
/** Connects, sends and prints the answer; exits 3 when there is none within the time in ms of argv 2. */
const ASK = `
const socket = require('node:net').connect(${PORT}, process.argv[1], () => socket.write('hi'));
socket.on('error', () => process.exit(3));
socket.on('data', (data) => { console.log(String(data)); process.exit(0); });
setTimeout(() => process.exit(3), Number(process.argv[2]));
`;
/** A web server that sends a line every 20 ms. */
const TICKER = `
require('node:http').createServer((question, answer) => {
  answer.writeHead(200, { 'content-type': 'text/event-stream', 'x-host': question.headers.host });
  let count = 0;
  const timer = setInterval(() => { answer.write('data: ' + count + '\\n\\n'); count += 1; }, 20);
  answer.on('close', () => { clearInterval(timer); console.log('hung up'); });
}).listen(8080, '127.0.0.1', () => console.log('listening'));
`;

function node(host: LanHost, program: string): TestChild {
  return host.spawn(process.execPath, ['-e', program]);
}

async function says(child: TestChild, text: string): Promise<void> {
  await waitUntil(() => child.stdout.includes(text), { timeoutMs: 10_000, what: `"${text}"`, detail: () => child.describe() });
}

async function ask(from: LanHost, to: LanHost, timeoutMs: number): Promise<string | null> {
  const { code, stdout } = await from.run(process.execPath, ['-e', ASK, to.address, String(timeoutMs)]);
  return code === 0 ? stdout.trim() : null;
}

describe.skipIf(!available.ok)(`a LAN of namespaces${available.ok ? '' : ` (skipped: ${available.reason})`}`, () => {
  let lan: Lan | null = null;
  async function make(options: LanOptions): Promise<Lan> {
    lan = await createLan(options);
    return lan;
  }
  afterEach(async () => {
    await lan?.destroy();
    lan = null;
  });

  it('joins hosts that have a name and an address of their own', async () => {
    const made = await make({ hosts: 2 });
    await says(node(made.host(2), ECHO), 'listening');
    expect(await ask(made.host(1), made.host(2), 5_000)).toBe('host2 hi');
  });

  it('carries multicast', async () => {
    const made = await make({ hosts: 3 });
    const listeners = [node(made.host(2), LISTENER), node(made.host(3), LISTENER)];
    for (const listener of listeners) await says(listener, 'joined');
    node(made.host(1), SPEAKER);
    for (const listener of listeners) await says(listener, 'got hello');
  });

  it('carries no multicast without its route', async () => {
    const made = await make({ hosts: 1, multicast: false });
    const { stdout } = await made.host(1).run('ip', ['route', 'get', GROUP]);
    expect(stdout).not.toContain('eth0');
  });

  it('blocks a host whose cable is pulled, until it is plugged again', async () => {
    const made = await make({ hosts: 2 });
    await says(node(made.host(2), ECHO), 'listening');
    await made.linkDown(2);
    expect(await ask(made.host(1), made.host(2), 700)).toBeNull();
    await made.linkUp(2);
    expect(await ask(made.host(1), made.host(2), 10_000)).toBe('host2 hi');
  });

  it('splits into groups and heals', async () => {
    const made = await make({ hosts: 4 });
    for (const index of [1, 3]) await says(node(made.host(index), ECHO), 'listening');
    await made.partition([[1], [2, 3]]);
    expect(await ask(made.host(2), made.host(3), 5_000)).toBe('host3 hi');
    expect(await ask(made.host(2), made.host(1), 700)).toBeNull();
    expect(await ask(made.host(4), made.host(3), 700)).toBeNull();
    await made.heal();
    expect(await ask(made.host(2), made.host(1), 10_000)).toBe('host1 hi');
    expect(await ask(made.host(4), made.host(3), 10_000)).toBe('host3 hi');
  });

  it('streams HTTP from a host\'s loopback, and a client that hangs up is noticed there', async () => {
    const made = await make({ hosts: 1 });
    const server = node(made.host(1), TICKER);
    await says(server, 'listening');
    const answer = await callHttp(await made.host(1).http(8080), { path: '/' });
    expect(answer.header('x-host')).toBe('127.0.0.1:8080');
    const seen: string[] = [];
    for await (const data of answer.events()) {
      seen.push(data);
      if (seen.length === 3) break;
    }
    expect(seen).toEqual(['0', '1', '2']);
    answer.destroy();
    await says(server, 'hung up');
  });

  it('limits a link\'s rate', async () => {
    const made = await make({ hosts: 2, rate: '100mbit' });
    const { stdout } = await made.host(1).run('tc', ['qdisc', 'show', 'dev', 'eth0']);
    expect(stdout).toContain('rate 100Mbit');
  });

  it('leaves no process, namespace or file', async () => {
    const before = leftovers();
    const made = await make({ hosts: 2 });
    // A process that ignores the polite signal and starts another one in a session of its own.
    const stubborn = made.host(1).spawn('sh', ['-c', 'trap "" TERM; setsid sleep 600 & echo started; wait']);
    await says(stubborn, 'started');
    await made.host(2).http(8080);
    expect(stubborn.family().length).toBeGreaterThan(1);
    await made.destroy();
    expect(stubborn.family()).toEqual([]);
    expect(leftovers()).toEqual(before);
  });

  it('clears away what a crashed test process left', async () => {
    // No process has this start time, so the owner of the name is dead.
    const stale = `ringlan-${process.pid}x1-1-1`;
    await runToEnd('ip', ['netns', 'add', stale], { timeoutMs: 10_000 });
    mkdirSync(join(tmpdir(), `${stale}-sockets`), { recursive: true });
    const orphan = new TestChild('ip', ['netns', 'exec', stale, 'sleep', '600']);
    await waitUntil(() => orphan.family().length === 1, { timeoutMs: 5_000, what: 'the orphan' });
    await make({ hosts: 1 });
    expect(namespaceNames()).not.toContain(stale);
    expect(readdirSync(tmpdir())).not.toContain(`${stale}-sockets`);
    expect(await orphan.exitWithin(5_000)).not.toBeNull();
    await orphan.reap();
  });
});

describe('child processes of tests', () => {
  it('are found and ended with everything they started', async () => {
    const child = new TestChild('sh', ['-c', 'setsid sleep 600 & echo started; wait']);
    await says(child, 'started');
    await waitUntil(() => child.family().length === 2, { timeoutMs: 5_000, what: 'a family of two' });
    child.signalAlone('SIGKILL');
    await child.exited;
    expect(child.family()).toHaveLength(1);
    await child.reap();
    expect(child.family()).toEqual([]);
  });

  it('say why they could not start', async () => {
    const exit = await runToEnd('no-such-program', [], { timeoutMs: 5_000 });
    expect(exit).toMatchObject({ code: 127, stderr: expect.stringContaining('no-such-program') });
  });

  it('are killed when they take too long', async () => {
    await expect(runToEnd('sleep', ['600'], { timeoutMs: 100 })).rejects.toThrow('did not end within 100 ms');
  });

  it('have names that are not used twice', () => {
    expect(uniqueName()).not.toBe(uniqueName());
    expect(processesWithMarker((name) => name === uniqueName())).toEqual([]);
  });

  it('give up on an HTTP server that does not answer', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(callHttp({ port }, { path: '/', timeoutMs: 100 })).rejects.toThrow('no answer to / within 100 ms');
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});

function leftovers(): { namespaces: readonly string[]; files: readonly string[]; processes: number } {
  return {
    namespaces: namespaceNames().filter((name) => name.includes(OWNER_TAG)),
    files: readdirSync(tmpdir()).filter((name) => name.includes(OWNER_TAG)),
    processes: processesWithMarker((name) => name.startsWith(OWNER_TAG)).length,
  };
}
