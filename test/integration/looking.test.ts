/** `agent doctor` and `agent status --watch` as real processes: what they see of this machine and of a running agent. */
import { realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startNode } from '../net/support.js';
import { AgentProcess, mainProgram, runAgentCommand } from '../support/agent-process.js';
import { freePort } from '../support/free-port.js';
import { PACKAGE_ROOT } from '../support/package-root.js';
import { runToEnd, TestChild, waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const agents: AgentProcess[] = [];
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.kill9()));
});

interface Report {
  readonly healthy: boolean;
  readonly findings: readonly { readonly check: string; readonly state: string; readonly text: string; readonly cure: string | null }[];
}

function reportOf(text: string): Report {
  const value: Report = JSON.parse(text);
  return value;
}

it('the doctor names a taken port and a missing network, and finds the engine in order', async () => {
  const taken = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
  const stateDir = temporaryDirectory('doctor');
  const peerPort = await freePort();
  // A network namespace of its own has no interface but loopback.
  const alone = await runToEnd('unshare', ['--net', process.execPath, mainProgram(), 'doctor', '--json', '--state-dir', stateDir, '--listen', String(peerPort)], { timeoutMs: 30_000 });
  const here = await runAgentCommand(['doctor', '--json', '--state-dir', stateDir, '--api-port', String(port), '--listen', String(peerPort)]);
  await new Promise((resolve) => taken.close(resolve));

  expect(here.code, here.stderr).toBe(1);
  const found = reportOf(here.stdout).findings;
  expect(found.find((finding) => finding.check === 'API port')).toMatchObject({ state: 'problem', cure: expect.stringContaining('--api-port') });
  expect(found.find((finding) => finding.check === 'engine')).toMatchObject({ state: 'ok', text: expect.stringContaining('cpu') });
  expect(found.find((finding) => finding.check === 'peer port')?.state).toBe('ok');

  expect(alone.code, alone.stderr).toBe(1);
  expect(reportOf(alone.stdout).findings.find((finding) => finding.check === 'multicast')).toMatchObject({ state: 'problem', text: expect.stringContaining('no multicast route') });
});

it('the doctor names a full disk, and a machine without an engine', async () => {
  const full = temporaryDirectory('full');
  const engines = realpathSync(join(PACKAGE_ROOT, 'node_modules', '@node-llama-cpp'));
  // In a mount namespace of its own: nobody else sees what is mounted.
  const line = 'mount -t tmpfs -o size=64k tmpfs "$1" && { cat /dev/zero > "$1/filled" 2>/dev/null; mount -t tmpfs tmpfs "$2" && exec "$3" "$4" doctor --json --state-dir "$1"; }';
  const seen = await runToEnd('unshare', ['--mount', 'sh', '-c', line, 'sh', full, engines, process.execPath, mainProgram()], { timeoutMs: 30_000 });
  expect(seen.code, seen.stderr).toBe(1);
  const { findings } = reportOf(seen.stdout);
  expect(findings.find(({ check }) => check === 'disk'), seen.stdout).toMatchObject({ state: 'problem', text: expect.stringContaining('the disk is full'), cure: expect.stringContaining('--state-dir') });
  expect(findings.find(({ check }) => check === 'engine')).toMatchObject({ state: 'problem', text: expect.stringContaining('no backend: no engine package is installed'), cure: expect.stringContaining('install') });
});

it('the doctor sees an agent of another version', async () => {
  const cluster = `versions-${process.pid}`;
  const port = await freePort();
  const agent = await AgentProcess.start({ stateDir: temporaryDirectory('version'), args: ['--cluster', cluster, '--no-mdns', '--listen', `127.0.0.1:${port}`, '--log-level', 'warn'] });
  agents.push(agent);
  const other = await startNode({ clusterName: cluster, protocolMin: 8, protocolMax: 9, agentVersion: '9.0.0', peers: [`127.0.0.1:${port}`] });
  try {
    await agent.statusWhen((status) => status.nodes.some((node) => node.problem !== null), { timeoutMs: 30_000, what: 'the other version is refused' });
    const seen = await runAgentCommand(['doctor', '--json', '--state-dir', agent.stateDir]);
    expect(seen.code, seen.stderr).toBe(1);
    expect(reportOf(seen.stdout).findings.find((finding) => finding.check === 'other nodes')).toMatchObject({ state: 'problem', text: expect.stringContaining('8 to 9'), cure: expect.stringContaining('same version') });
  } finally {
    await other.stop();
  }
}, 60_000);

it('the doctor sees an agent with another secret; a watched status shows it too, and ends with the agent', async () => {
  const cluster = `looking-${process.pid}`;
  const secret = await runAgentCommand(['secret']);
  expect(secret.code).toBe(0);
  const [first, second] = [temporaryDirectory('look0'), temporaryDirectory('look1')];
  const file = join(first, 'secret');
  writeFileSync(file, `${secret.stdout.trim().split('\n')[0] ?? ''}\n`, { mode: 0o600 });
  const args = ['--cluster', cluster, '--log-level', 'warn'];
  const agent = await AgentProcess.start({ stateDir: first, args: [...args, '--secret-file', file] });
  agents.push(agent);
  const watch = new TestChild(process.execPath, [mainProgram(), 'status', '--watch', '--json', '--state-dir', first]);
  agents.push(await AgentProcess.start({ stateDir: second, args }));
  await agent.statusWhen((status) => status.nodes.some((node) => node.problem !== null), { timeoutMs: 30_000, what: 'the open agent is refused' });

  const seen = await runAgentCommand(['doctor', '--json', '--state-dir', first]);
  expect(seen.code, seen.stderr).toBe(1);
  expect(reportOf(seen.stdout).findings.find((finding) => finding.check === 'other nodes')).toMatchObject({ state: 'problem', cure: expect.stringContaining('--secret-file') });

  await waitUntil(() => watch.stdout.includes('"problem":"'), { timeoutMs: 10_000, what: 'the refused agent in the watched status', detail: () => watch.describe() });
  await agent.kill9();
  expect((await watch.exitWithin(20_000))?.code, watch.describe()).toBe(1);
}, 90_000);
