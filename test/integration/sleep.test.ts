/**
 * A machine is kept awake while stages are on it, and no longer: with an executable on PATH that stands for the system's,
 * which notes how it was called. Whatever ends the agent ends it too.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { guardCommand } from '../../src/process/sleep-guard.js';
import { AgentProcess } from '../support/agent-process.js';
import { waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MODEL = 'kjv-q8_0';
const SEEN_WITHIN_MS = 10_000;
/** Notes its arguments, then lives as long as what it was told to run. */
const STAND_IN = '#!/bin/sh\necho "$@" >> "$(dirname "$0")/called"\nfor last; do :; done\nexec "$last"\n';
const REFUSES = '#!/bin/sh\necho "$@" >> "$(dirname "$0")/called"\necho "Access denied" >&2\nexit 1\n';

const agents: AgentProcess[] = [];
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.kill9()));
});

class Machine {
  readonly directory = temporaryDirectory('sleep');

  constructor(program: string) {
    mkdirSync(this.directory, { recursive: true });
    const file = join(this.directory, 'systemd-inhibit');
    writeFileSync(file, program);
    chmodSync(file, 0o755);
  }

  async start(...args: readonly string[]): Promise<AgentProcess> {
    const agent = await AgentProcess.start({
      stateDir: temporaryDirectory('sleep-state'), env: { PATH: `${this.directory}:${process.env['PATH'] ?? ''}` },
      args: ['--cluster', `sleep-${process.pid}-${agents.length}`, '--no-mdns', '--listen', '127.0.0.1:0', '--threads', '1', '--log-level', 'info', ...args],
    });
    agents.push(agent);
    return agent;
  }

  get calls(): readonly string[] {
    const file = join(this.directory, 'called');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  }
}

/** The stand-in became what it was told to run. */
function guards(agent: AgentProcess): readonly number[] {
  return agent.family().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, 'latin1').trim() === 'cat';
    } catch {
      // It ended a moment ago.
      return false;
    }
  });
}

async function load(agent: AgentProcess): Promise<string> {
  const loaded = await agent.call({ path: '/v1/cluster/load', json: { model: MODEL, contextTokens: 64, slots: 1 } });
  const view = await loaded.json() as { instanceId: string };
  expect(loaded.status, JSON.stringify(view)).toBe(200);
  return view.instanceId;
}

describe.skipIf(process.platform !== 'linux').concurrent('a machine', () => {
  it('is kept awake from the first stage to the last, and the guard ends with the agent', async () => {
    const machine = new Machine(STAND_IN);
    const agent = await machine.start();
    expect(machine.calls).toEqual([]);
    const instanceId = await load(agent);
    await waitUntil(() => guards(agent).length === 1, { timeoutMs: SEEN_WITHIN_MS, what: 'one guard' });
    expect(machine.calls).toEqual([guardCommand('linux', 0)?.args.join(' ')]);
    expect((await agent.call({ method: 'DELETE', path: `/v1/cluster/instances/${instanceId}` })).status).toBe(200);
    await waitUntil(() => guards(agent).length === 0, { timeoutMs: SEEN_WITHIN_MS, what: 'no guard' });
    await load(agent);
    await waitUntil(() => guards(agent).length === 1, { timeoutMs: SEEN_WITHIN_MS, what: 'one guard again' });
    // Throws when a process is left.
    expect((await agent.stop()).code).toBe(0);
  });

  it('may sleep again when its agent is killed', async () => {
    const machine = new Machine(STAND_IN);
    const agent = await machine.start();
    await load(agent);
    await waitUntil(() => guards(agent).length === 1, { timeoutMs: SEEN_WITHIN_MS, what: 'one guard' });
    await agent.killAgentAlone();
  });

  it('may sleep when its person says so', async () => {
    const machine = new Machine(STAND_IN);
    const agent = await machine.start('--allow-sleep');
    await load(agent);
    expect((await agent.stop()).code).toBe(0);
    expect(machine.calls).toEqual([]);
  });

  it('serves all the same when the system refuses, and says so once', async () => {
    const machine = new Machine(REFUSES);
    const agent = await machine.start();
    await load(agent);
    await waitUntil(() => agent.output().includes('cannot be kept awake'), { timeoutMs: SEEN_WITHIN_MS, what: 'it is said' });
    expect(agent.output()).toContain('Access denied');
    await load(agent);
    expect((await agent.stop()).code).toBe(0);
    expect(machine.calls).toHaveLength(1);
    expect(agent.output().split('cannot be kept awake')).toHaveLength(2);
  });
});

describe('what keeps a machine awake', () => {
  it('is the system\'s own program, where there is one', () => {
    expect(guardCommand('darwin', 4711)).toEqual({ command: 'caffeinate', args: ['-i', '-w', '4711'] });
    expect(guardCommand('linux', 4711)?.command).toBe('systemd-inhibit');
    expect(guardCommand('win32', 4711)).toBeNull();
  });
});
