import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { errorCodeOf } from '../../src/core/errors.js';
import { openIdentity } from '../../src/net/identity.js';
import { RememberedPeers } from '../../src/net/remembered-peers.js';
import { generateSecret, noisePrologue, parseSecret, readSecretFile, spellSecret } from '../../src/net/secret.js';
import { SECRET_WORDS } from '../../src/net/secret-words.js';
import { lockStateDirectory } from '../../src/net/state-files.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { failureOf } from '../support/thrown.js';
import { memoryLog, realClock, startNode, stopAll } from './support.js';

const made: string[] = [];

async function directory(): Promise<string> {
  const path = temporaryDirectory();
  made.push(path);
  return path;
}

afterEach(async () => {
  await stopAll();
  await Promise.all(made.splice(0).map((path) => rm(path, { recursive: true, force: true })));
});

describe('the identity', () => {
  it('is made once, private, and stays; the incarnation grows', async () => {
    const stateDir = await directory();
    const first = await openIdentity(stateDir, memoryLog());
    expect((await stat(join(stateDir, 'identity.key'))).mode & 0o777).toBe(0o600);
    expect(first.incarnation).toBe(1);
    await first.release();
    const second = await openIdentity(stateDir, memoryLog());
    expect(second).toMatchObject({ nodeId: first.nodeId, incarnation: 2 });
    expect(second.nonce).not.toBe(first.nonce);
    await second.release();
  });

  it('mends a key that others can read, and says so', async () => {
    const stateDir = await directory();
    await (await openIdentity(stateDir, memoryLog())).release();
    await chmod(join(stateDir, 'identity.key'), 0o644);
    const lines: string[] = [];
    await (await openIdentity(stateDir, memoryLog(lines))).release();
    expect((await stat(join(stateDir, 'identity.key'))).mode & 0o777).toBe(0o600);
    expect(lines.join('\n')).toContain('could be read by other users');
  });

  it('says what to do about a damaged key', async () => {
    const stateDir = await directory();
    await writeFile(join(stateDir, 'identity.key'), 'garbage', { mode: 0o600 });
    const error = await failureOf(openIdentity(stateDir, memoryLog()));
    expect(error.code).toBe('bad_config');
    expect(error.message).toContain('delete it');
    // The lock was given back.
    await (await lockStateDirectory(stateDir)).release();
  });

  it('jumps ahead when the count of starts was lost', async () => {
    const stateDir = await directory();
    await (await openIdentity(stateDir, memoryLog())).release();
    await writeFile(join(stateDir, 'node.json'), '{"incarn');
    const again = await openIdentity(stateDir, memoryLog());
    expect(again.incarnation).toBeGreaterThan(1_600_000_000);
    await again.release();
  });
});

describe('the state directory', () => {
  it('belongs to one agent, which is named to the second', async () => {
    const stateDir = await directory();
    const lock = await lockStateDirectory(stateDir);
    const error = await failureOf(lockStateDirectory(stateDir));
    expect(error).toMatchObject({ code: 'state_locked', facts: { pid: process.pid } });
    expect(error.message).toContain(String(process.pid));
    await lock.release();
    await (await lockStateDirectory(stateDir)).release();
  });

  it('is taken over from a process that was killed', async () => {
    const stateDir = await directory();
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)']);
    await new Promise((resolve) => child.once('spawn', resolve));
    const started = await readFile(`/proc/${child.pid ?? 0}/stat`, 'utf8').then((text) => text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '');
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    await writeFile(join(stateDir, 'lock'), JSON.stringify({ pid: child.pid, started: `${boot}:${started}` }));
    expect((await failureOf(lockStateDirectory(stateDir))).code).toBe('state_locked');
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
    await (await lockStateDirectory(stateDir)).release();
  });

  it('is taken over when the process id was used again by another process', async () => {
    const stateDir = await directory();
    await writeFile(join(stateDir, 'lock'), JSON.stringify({ pid: process.pid, started: 'another boot:1' }));
    await (await lockStateDirectory(stateDir)).release();
  });

  it('is taken over by exactly one of many', async () => {
    const stateDir = await directory();
    await writeFile(join(stateDir, 'lock'), 'half a lo');
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockStateDirectory(stateDir)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('that cannot be made says what to do', async () => {
    const file = join(await directory(), 'file');
    await writeFile(file, '');
    expect((await failureOf(lockStateDirectory(join(file, 'state')))).code).toBe('io_failed');
  });
});

describe('the cluster secret', () => {
  it('is words that can be read back', async () => {
    expect(new Set(SECRET_WORDS.map((word) => word.slice(0, 4))).size).toBe(256);
    expect([...SECRET_WORDS].sort()).toEqual(SECRET_WORDS);
    const secret = generateSecret();
    expect(secret.split(' ')).toHaveLength(17);
    const bytes = await parseSecret(`\n ${secret.toUpperCase().replaceAll(' ', '\n')} \n`, 'home');
    expect(bytes).toHaveLength(16);
    expect(spellSecret(bytes)).toBe(secret);
    expect(generateSecret()).not.toBe(secret);
  });

  it('has golden words', () => {
    expect(spellSecret(Uint8Array.from({ length: 16 }, (_, index) => index * 17))).toMatchInlineSnapshot(`"able badge camel deer eight fern globe honey jelly lamp meadow ocean pepper river stone zebra maple"`);
  });

  it('with a wrong, missing or swapped word is refused', async () => {
    const words = spellSecret(new Uint8Array(16).map((_, index) => index)).split(' ');
    expect((await failureOf(parseSecret(words.with(3, 'xylophone').join(' '), 'home'))).message).toContain('word 4');
    expect((await failureOf(parseSecret(words.slice(1).join(' '), 'home'))).message).toContain('16 words instead of 17');
    expect((await failureOf(parseSecret(words.with(0, words[1] ?? '').with(1, words[0] ?? '').join(' '), 'home'))).code).toBe('bad_config');
    expect((await failureOf(parseSecret('tooshort', 'home'))).message).toContain('too short');
  });

  it('may be a passphrase, which is stretched for its cluster', async () => {
    const [one, same, other] = await Promise.all([
      parseSecret('correct horse battery staple', 'home'), parseSecret(' correct horse battery staple\n', 'home'), parseSecret('correct horse battery staple', 'work'),
    ]);
    expect(one).toHaveLength(32);
    expect(same).toEqual(one);
    expect(other).not.toEqual(one);
  });

  it('comes from a file that others cannot read', async () => {
    const path = join(await directory(), 'secret');
    await writeFile(path, generateSecret(), { mode: 0o644 });
    const error = await failureOf(readSecretFile(path, 'home'));
    expect(error.code).toBe('permission_denied');
    expect(error.message).toContain('chmod 600');
    await chmod(path, 0o600);
    expect(await readSecretFile(path, 'home')).toHaveLength(16);
    expect((await failureOf(readSecretFile(`${path}-none`, 'home'))).code).toBe('bad_config');
    await writeFile(path, ' \n');
    expect((await failureOf(readSecretFile(path, 'home'))).message).toContain('empty');
  });

  it('and the name are both in the handshake', () => {
    const secret = new Uint8Array(16);
    const all = [noisePrologue('a', null), noisePrologue('b', null), noisePrologue('a', secret), noisePrologue('a', new Uint8Array(16).fill(1))];
    expect(new Set(all.map((bytes) => Buffer.from(bytes).toString('hex'))).size).toBe(4);
    expect(noisePrologue('a', secret)).toEqual(noisePrologue('a', secret));
  });
});

describe('remembered peers', () => {
  const week = 7 * 86_400_000;

  it('are kept over restarts, bounded, and forgotten after seven days', async () => {
    const stateDir = await directory();
    let now = 1_000_000_000_000;
    const load = (): Promise<RememberedPeers> => RememberedPeers.load({ stateDir, clock: realClock, log: memoryLog(), wallClock: () => now });
    const peers = await load();
    for (let index = 0; index < 300; index++) peers.remember(`node${index}`, [`/ip4/10.0.0.1/tcp/${index + 1}`]);
    await peers.close();
    const again = await load();
    expect(again.list()).toHaveLength(256);
    expect(again.list().at(-1)).toMatchObject({ nodeId: 'node299', addresses: ['/ip4/10.0.0.1/tcp/300'] });
    now += week + 1;
    expect((await load()).list()).toEqual([]);
  });

  it('in a damaged file are none, with a warning', async () => {
    const stateDir = await directory();
    await mkdir(stateDir, { recursive: true });
    await writeFile(join(stateDir, 'peers.json'), '{"peers": [{"nodeId": 3}, ');
    const lines: string[] = [];
    expect((await RememberedPeers.load({ stateDir, clock: realClock, log: memoryLog(lines), wallClock: Date.now })).list()).toEqual([]);
    expect(lines.join()).toContain('found anew');
  });
});

describe('the peer port', () => {
  it('is the next free one, with a notice; an explicit one is that or nothing', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen({ host: '127.0.0.1', port: 25_731 }, resolve));
    try {
      const node = await startNode({ listen: { host: '127.0.0.1', port: 25_731, portExplicit: false } });
      expect(node.address).not.toBe('127.0.0.1:25731');
      expect(node.logLines.join('\n')).toContain('25731 is taken');
      const error = await failureOf(startNode({ listen: { host: '127.0.0.1', port: 25_731, portExplicit: true } }));
      expect(error.code).toBe('port_in_use');
      expect(error.message).toContain('--listen');
    } finally {
      await new Promise((resolve) => blocker.close(resolve));
    }
  });

  it('on an address that this machine does not have is a configuration error', async () => {
    expect(errorCodeOf(await failureOf(startNode({ listen: { host: '203.0.113.9', port: 25_741, portExplicit: true } })))).toBe('bad_config');
  });
});
