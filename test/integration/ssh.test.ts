/**
 * B15–B18: a cluster file with a node over ssh, against a real sshd on loopback: probed, launched, served, and ended.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonAfterBanner, shellQuote, startCommand } from '../../src/cli/remote-agents.js';
import { parseClusterFile } from '../../src/cli/config-file.js';
import { AgentProcess, runAgentCommand } from '../support/agent-process.js';
import { freePort } from '../support/free-port.js';
import { waitUntil } from '../support/processes.js';
import { DEADLY_DIRECTORY, LAST_WORDS, processesNaming, sshAvailable, SshServer } from '../support/ssh-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const available = sshAvailable();
const SERVE_MS = 45_000;

describe('B16: what the remote shell gets', () => {
  it('is one word for each argument, whatever is in it', () => {
    expect(['plain-1/a', 'a b', "it's", '$(x) `y` ;', ''].map(shellQuote)).toEqual(['plain-1/a', "'a b'", "'it'\\''s'", "'$(x) `y` ;'", "''"]);
  });

  it('never has the secret in it, and names everybody to call', () => {
    const { file } = parseClusterFile('model = "m"\n[[node]]\naddr = "10.0.0.1:1"\nckpt_dir = "/c"\n[[node]]\naddr = "10.0.0.2:2"\nssh = "far"\nckpt_dir = "/my dir"\n', 'c');
    const [own, far] = file.nodes;
    if (own === undefined || far === undefined) throw new Error('two nodes');
    const line = startCommand(far, { file, clusterName: 'x y', secretText: 'top secret words', own, mdns: true });
    expect(line).toContain("--cluster 'x y' --state-dir '/my dir/.ring-agent' --ckpt-dir '/my dir' --listen 2 ");
    expect(line).toMatch(/--peer 10\.0\.0\.1:1$/);
    expect(line).not.toContain('top secret');
  });

  it('B15: is answered by the first line that begins with a brace and is JSON', () => {
    expect(jsonAfterBanner('Welcome\n{ here }\n{"cores":2}\nbye {')).toEqual({ cores: 2 });
    expect(jsonAfterBanner('nothing here')).toBeNull();
  });
});

describe.skipIf(!available.ok)(`a cluster file over ssh${available.ok ? '' : ` (skipped: ${available.reason})`}`, () => {
  let server: SshServer;
  let directory = '';

  beforeAll(async () => {
    server = await SshServer.start();
    directory = temporaryDirectory('cluster');
  });
  afterAll(async () => server.stop());

  /** A file of two nodes, this machine and one over ssh. */
  async function clusterFile(ssh: string, remoteDirectory: string): Promise<string> {
    const own = join(directory, 'own');
    mkdirSync(own, { recursive: true });
    const path = join(directory, `${ssh}-${remoteDirectory.replaceAll(' ', '-')}.toml`);
    writeFileSync(path, [
      'model = "kjv-q8_0"', 'reserve_ram_gb = 0.5', '[placement]', 'policy = "manual"',
      '[[node]]', `addr = "127.0.0.1:${await freePort()}"`, `ckpt_dir = "${own}"`, 'layers = "0:2"',
      '[[node]]', `addr = "127.0.0.1:${await freePort()}"`, `ssh = "${ssh}"`, `ckpt_dir = "${join(directory, remoteDirectory)}"`, 'layers = "2:5"', 'precision = "f16"', 'kv_cache = "none"', '',
    ].join('\n'));
    return path;
  }

  const start = (config: string, secretFile: string) => ({
    stateDir: temporaryDirectory('ssh-own'), env: { PATH: server.path },
    args: ['--config', config, '--no-mdns', '--cluster', `ssh-${process.pid}`, '--secret-file', secretFile, '--log-level', 'info'],
  });

  function secretFile(): string {
    const path = join(directory, 'secret');
    writeFileSync(path, 'a passphrase of some length\n', { mode: 0o600 });
    return path;
  }

  it('runs the file\'s ring past banners and a path with a space, and leaves nothing on either end', async () => {
    const remote = 'check points';
    const agent = await AgentProcess.start(start(await clusterFile('far', remote), secretFile()));
    try {
      const status = await agent.statusWhen((seen) => seen.instances[0]?.state === 'active', { timeoutMs: SERVE_MS, what: 'the ring to serve' });
      expect(status.instances[0]?.stages.map(({ range }) => [range.start, range.end])).toEqual([[0, 2], [2, 5]]);
      expect(new Set(status.instances[0]?.stages.map(({ nodeId }) => nodeId)).size).toBe(2);
      expect(agent.output()).toContain('far: Authorised people only.');
      expect(existsSync(join(directory, remote, '.ring-agent', 'shards'))).toBe(true);
      const texts = status.instances[0]?.notes.map(({ text }) => text).join('; ');
      expect(texts).toContain('converted to f16');
      expect(texts).toContain('keeps no keys and values');
      expect(existsSync(join(directory, remote, '.ring-agent', 'shards', status.instances[0]?.modelDigest ?? '', '2-5-tail.f16.gguf'))).toBe(true);
      const answer = await agent.call({ path: '/v1/completions', json: { model: 'kjv-q8_0', prompt: 'In the beginning', max_tokens: 4, temperature: 0 }, timeoutMs: SERVE_MS });
      expect(answer.status, await answer.text()).toBe(200);
      expect((await agent.stop()).code).toBe(0);
    } finally {
      await agent.kill9();
    }
    await waitUntil(() => processesNaming(join(directory, remote)).length === 0, { timeoutMs: 15_000, what: 'the end of the remote agent' });
  });

  it('plans for it without serving: the ring of the file, with what the host has, and nothing is left', async () => {
    const remote = 'only planned';
    const config = await clusterFile('far', remote);
    const { stateDir, env } = start(config, '');
    const ended = await runAgentCommand(
      ['plan', '--config', config, '--state-dir', stateDir, '--no-mdns', '--cluster', `ssh-plan-${process.pid}`, '--secret-file', secretFile(), '--json'],
      { env, timeoutMs: SERVE_MS },
    );
    expect(ended.code, ended.stderr).toBe(0);
    const plan: unknown = JSON.parse(ended.stdout);
    expect(plan).toMatchObject({
      stages: [{ rank: 0, range: { start: 0, end: 2 }, backend: 'cpu' }, { rank: 1, range: { start: 2, end: 5 }, backend: 'cpu', precision: 'f16', keyValueCache: 'none' }],
    });
    expect(JSON.stringify(plan)).toContain('converted to f16');
    await waitUntil(() => processesNaming(join(directory, remote)).length === 0, { timeoutMs: 15_000, what: 'the end of the remote agent' });
    expect(existsSync(join(stateDir, 'agent.json'))).toBe(false);
  });

  it('B16: takes the remote agent with it when it is killed', async () => {
    const remote = 'killed';
    const agent = await AgentProcess.start(start(await clusterFile('far', remote), secretFile()));
    try {
      await waitUntil(() => processesNaming(join(directory, remote, '.ring-agent')).length > 0, { timeoutMs: SERVE_MS, what: 'the remote agent' });
    } finally {
      await agent.kill9();
    }
    await waitUntil(() => processesNaming(join(directory, remote)).length === 0, { timeoutMs: 40_000, what: 'the end of the remote agent' });
  });

  it.each([
    ['that refuses', 'refusing', 'never', /refusing: ssh or the agent there failed \(exit 255\).*Connection refused/s],
    ['whose agent dies before it is ready', 'far', DEADLY_DIRECTORY, new RegExp(`far: the agent ended before it was ready \\(exit 3\\).*${LAST_WORDS}`, 's')],
  ])('B18: a host %s ends the start at once, by name, and leaves nothing', async (_what, ssh, remote, message) => {
    const { args, stateDir, env } = start(await clusterFile(ssh, remote), secretFile());
    const ended = await runAgentCommand(['start', '--state-dir', stateDir, '--api-port', '0', ...args], { env, timeoutMs: SERVE_MS });
    expect(ended.code, ended.stderr).toBe(1);
    expect(ended.stderr).toMatch(message);
    expect(existsSync(join(stateDir, 'agent.json'))).toBe(false);
    expect(processesNaming(join(directory, remote))).toEqual([]);
  });
});
