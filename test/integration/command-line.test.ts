/**
 * Wrong use of every command and starts that cannot succeed: exit code 2 or 1, one message that says what, where and what
 * to do, no stack trace, and nothing left behind. All commands run as real processes.
 */
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runAgentCommand } from '../support/agent-process.js';
import { BUILT_IN_MODEL } from '../support/model-copy.js';
import { OWNER_TAG } from '../support/owner.js';
import { processesWithMarker } from '../support/processes.js';
import type { Finished } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const STACK = /^\s+at /m;
/** For the starts: no agent of another test is to be found. */
const ALONE = ['--no-mdns', '--cluster', `command-line-${process.pid}`, '--log-level', 'warn'];
/** Each case is a process of its own; two cores. */
const AT_ONCE = 3;

interface Case {
  readonly line: readonly string[];
  readonly code: 1 | 2;
  readonly says: RegExp;
}

async function expectAll(cases: readonly Case[]): Promise<void> {
  const waiting = [...cases];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) expectMessage(next, await runAgentCommand(next.line));
  }));
}

function expectMessage({ line, code, says }: Case, finished: Finished): void {
  const said = `agent ${line.join(' ')}\n${finished.stdout}${finished.stderr}`;
  expect(finished.code, said).toBe(code);
  expect(finished.stdout, said).toBe('');
  expect(finished.stderr, said).toMatch(says);
  expect(finished.stderr, said).not.toMatch(STACK);
  const lines = finished.stderr.trim().split('\n');
  // Wrong usage has a second line: where the options are explained; and one more where a slip of the keys is likely.
  expect(lines.filter((text) => !/^\((add --help|Did you mean)/.test(text)), said).toHaveLength(1);
}

describe('wrong use of a command', () => {
  const state = ['--state-dir', join(temporaryDirectory('usage'), 'none')];
  it.each([
    ['start', [
      { line: ['start', 'extra'], says: /too many arguments/ },
      { line: ['start', '--api-port', '99999'], says: /port between 0 and 65535/ },
      { line: ['start', '--threads', '0'], says: /whole number of at least 1/ },
      { line: ['start', '--max-ram', '-3'], says: /number above 0/ },
      { line: ['start', '--log-level', 'loud'], says: /debug, info, warn/ },
      { line: ['start', '--cluster', ''], says: /give a name/ },
      { line: ['start', '--state-dir'], says: /argument missing/ },
      { line: ['start', ...state, '--listen', 'a b'], says: /--listen "a b" is no address/ },
      { line: ['start', ...state, '--peer', 'a b', '--no-mdns'], says: /"a b" is not a peer address/ },
    ]],
    ['run', [
      { line: ['run', 'model', 'prompt', 'more'], says: /too many arguments/ },
      { line: ['run', '--temperature', '3'], says: /between 0 and 2/ },
      { line: ['run', '--seed', '1.5'], says: /between 0 and 4294967295/ },
      { line: ['run', '--max-tokens', 'many'], says: /whole number of at least 1/ },
    ]],
    ['status, plan, models, stop, secret', [
      { line: ['nonsense'], says: /unknown command 'nonsense'/ },
      { line: ['status', 'extra'], says: /too many arguments/ },
      { line: ['plan', '--policy', 'weird'], says: /ram_balanced, throughput/ },
      { line: ['plan', '--nodes', '0'], says: /whole number of at least 1/ },
      { line: ['models', '--yaml'], says: /unknown option '--yaml'/ },
      { line: ['models', 'serch', 'llama'], says: /unknown command 'serch'\n\(Did you mean search\?\)/ },
      { line: ['stop', 'now'], says: /too many arguments/ },
      { line: ['secret', 'extra'], says: /too many arguments/ },
    ]],
  ] as const)('%s: exit code 2 and what is right', async (_name, cases) => {
    await expectAll(cases.map((given) => ({ ...given, code: 2 })));
  });

  it('shows the help with exit code 0 on request, and with 2 when no command is given', async () => {
    const [asked, bare] = await Promise.all([runAgentCommand(['run', '--help']), runAgentCommand([])]);
    expect(asked.code).toBe(0);
    expect(asked.stdout).toContain('--max-tokens');
    expect(bare.code).toBe(2);
    expect(bare.stderr).toContain('Commands:');
    for (const line of asked.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});

describe('agent probe', () => {
  it('B15: says in one line of JSON what the machine has', async () => {
    const finished = await runAgentCommand(['probe', '--json', '--dir', join(temporaryDirectory('probe'), 'not', 'there', 'yet')]);
    expect(finished.code, finished.stderr).toBe(0);
    expect(finished.stdout).toMatch(/^\{[^\n]*\}\n$/);
    const probed: unknown = JSON.parse(finished.stdout);
    expect(probed).toMatchObject({ os: process.platform, cores: expect.any(Number) as number, gflops: null });
    const { ramTotalBytes, ramAvailableBytes, diskFreeBytes, devices } = probed as {
      ramTotalBytes: number; ramAvailableBytes: number; diskFreeBytes: number; devices: { backend: string; memoryTotalBytes: number; unified: boolean }[];
    };
    expect(ramAvailableBytes).toBeGreaterThan(0);
    expect(ramAvailableBytes).toBeLessThanOrEqual(ramTotalBytes);
    expect(diskFreeBytes).toBeGreaterThan(0);
    expect(devices.find((device) => device.backend === 'cpu')).toMatchObject({ unified: true, memoryTotalBytes: expect.any(Number) as number });
  });
});

describe('a command that cannot do its work', () => {
  const directory = temporaryDirectory('failing');
  const file = join(directory, 'file');
  let taken: Server;
  let port = 0;

  beforeAll(async () => {
    writeFileSync(file, '');
    taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  });
  afterAll(async () => {
    await new Promise((resolve) => taken.close(resolve));
    expect(processesWithMarker((name) => name.startsWith(`${OWNER_TAG}-`)), 'processes that a failed command left').toEqual([]);
  });

  function written(name: string, content: string | Uint8Array, mode = 0o600): string {
    const path = join(directory, name);
    writeFileSync(path, content);
    chmodSync(path, mode);
    return path;
  }

  const start = (state: string, ...rest: string[]): string[] => ['start', '--state-dir', join(directory, state), ...ALONE, '--api-port', '0', ...rest];

  it('says that no agent is running, and where it looked', async () => {
    const state = join(directory, 'nobody');
    await expectAll(['status', 'plan', 'models'].map((command) => ({
      line: [command, '--state-dir', state], code: 1, says: new RegExp(`no agent is running \\(state directory ${state}\\): start one with "agent start"`),
    })));
    const stopped = await runAgentCommand(['stop', '--state-dir', state]);
    expect(stopped).toMatchObject({ code: 0, stderr: '' });
    expect(stopped.stdout).toContain('no agent is running');
    expect(existsSync(state)).toBe(false);
  });

  it('names a state directory that cannot be used', async () => {
    const below = join(file, 'state');
    await expectAll([
      { line: ['start', '--state-dir', below, ...ALONE], code: 1, says: /state directory .*file\/state cannot be written \(a part of this path is a file.*--state-dir/ },
      { line: ['start', '--state-dir', '/proc/ring-agent/state', ...ALONE], code: 1, says: /state directory \/proc\/ring-agent\/state cannot be written \(there is none/ },
      { line: ['run', '--state-dir', below, 'kjv-q8_0', 'x'], code: 1, says: /cannot look into the state directory .*file\/state .*--state-dir/ },
      { line: ['status', '--state-dir', below], code: 1, says: /cannot look into the state directory .*--state-dir/ },
      { line: ['stop', '--state-dir', below], code: 1, says: /cannot look into the state directory .*--state-dir/ },
      { line: ['logs', '--state-dir', below], code: 1, says: /cannot read the log .*--state-dir/ },
    ]);
  });

  it('names a taken port, whether of the API or for peers', async () => {
    await expectAll([
      { line: ['start', '--state-dir', join(directory, 'api'), ...ALONE, '--api-port', String(port)], code: 1, says: new RegExp(`port ${port} on 127.0.0.1 is taken.*--api-port`) },
      { line: start('peers', '--listen', `127.0.0.1:${port}`), code: 1, says: new RegExp(`port ${port} on 127.0.0.1 is taken.*--listen`) },
    ]);
    // What was opened before the failure is closed; the log says why it ended: the directory is free for the next start.
    expect(readdirSync(join(directory, 'api')).filter((name) => name !== 'logs').sort()).toEqual(['identity.key', 'node.json']);
    expect(readdirSync(join(directory, 'peers')).filter((name) => name !== 'logs').sort()).toEqual(['identity.key', 'node.json']);
  });

  it('opens the API to other machines only with keys that nobody else can read', async () => {
    const open = written('open-keys', 'a-key-that-others-can-read\n', 0o644);
    const short = written('short-keys', 'short\n');
    await expectAll([
      { line: start('lan', '--api-host', '0.0.0.0'), code: 2, says: /would listen on 0\.0\.0\.0.*--api-key-file/ },
      { line: start('lan', '--api-host', '0.0.0.0', '--api-key-file', open), code: 2, says: /other users may read it; run `chmod 600 / },
      { line: start('lan', '--api-host', '0.0.0.0', '--api-key-file', short), code: 2, says: /line 1 is shorter than 16/ },
      { line: start('lan', '--api-key-file', join(directory, 'missing')), code: 2, says: /missing cannot be read \(there is none at this path\): write one key a line/ },
    ]);
    expect(existsSync(join(directory, 'lan'))).toBe(false);
  });

  it('takes a secret only from a file that nobody else can read', async () => {
    await expectAll([
      { line: start('secret', '--secret-file', written('open-secret', 'a long enough passphrase', 0o644)), code: 1, says: /can be read by others: run `chmod 600/ },
      { line: start('secret', '--secret-file', written('weak-secret', 'weak')), code: 2, says: /too short: use the words of `agent secret`/ },
      { line: start('secret', '--secret-file', written('no-secret', '')), code: 2, says: /no-secret is empty/ },
      { line: start('secret', '--secret-file', join(directory, 'missing')), code: 2, says: /cannot read the secret file .*missing \(there is none at this path\): make one with "agent secret > FILE/ },
      { line: start('secret', '--secret-file', directory), code: 2, says: /is no file: name the one that "agent secret" was written to/ },
      { line: start('config', '--config', directory), code: 2, says: /cannot read the cluster file .*it is a directory.*--config/ },
      { line: start('model', '--model', ''), code: 2, says: /--model is empty/ },
      { line: start('address', '--listen', '192.0.2.254:1'), code: 2, says: /cannot listen on 192\.0\.2\.254 port 1 \(this machine has no such address\): give an address/ },
    ]);
  });

  it('refuses model files that are none, at the start and for one answer', async () => {
    const whole = readFileSync(BUILT_IN_MODEL);
    const shorn = written('shorn.gguf', whole.subarray(0, 3_000_000));
    const header = written('header.gguf', whole.subarray(0, 1000));
    const text = written('text.gguf', 'This is no model.');
    const huge = Buffer.from(whole);
    // The tensor count of the header: 2^60.
    huge.writeBigUInt64LE(1n << 60n, 8);
    const counted = written('counted.gguf', huge);
    await expectAll([
      { line: start('gguf-shorn', '--model', shorn), code: 1, says: /shorn\.gguf: tensor "\S+" ends at byte \d+, but the file has 3000000 .*fetch it again/ },
      { line: start('gguf-header', '--model', header), code: 1, says: /header\.gguf: .*fetch it again/ },
      { line: start('gguf-text', '--model', text), code: 1, says: /text\.gguf: it does not begin with "GGUF"/ },
      { line: start('gguf-counted', '--model', counted), code: 1, says: /counted\.gguf: tensor count is 1152921504606846976/ },
      { line: start('gguf-absent', '--model', join(directory, 'absent.gguf')), code: 1, says: /there is no file or directory .*absent\.gguf/ },
      { line: ['run', '--state-dir', join(directory, 'gguf-run'), ...ALONE, shorn, 'x'], code: 1, says: /shorn\.gguf: tensor .*fetch it again/ },
      { line: ['run', '--state-dir', join(directory, 'gguf-run2'), ...ALONE, './absent.gguf', 'x'], code: 1, says: /there is no file or directory .*absent\.gguf/ },
      { line: ['run', '--state-dir', join(directory, 'gguf-run3'), ...ALONE, 'no-such-model', 'x'], code: 1, says: /no node .* holds a model "no-such-model"; known: kjv-q8_0/ },
    ]);
    for (const state of ['gguf-shorn', 'gguf-text', 'gguf-run', 'gguf-run3']) {
      expect(readdirSync(join(directory, state)).filter((name) => name === 'lock' || name === 'agent.json'), state).toEqual([]);
    }
  });
});
