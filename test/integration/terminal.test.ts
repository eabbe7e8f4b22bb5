/**
 * What a person does in a terminal, with a real agent: a chat through a pipe and in a real (pseudo) terminal, and the log,
 * in which neither question nor answer may be.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentProcess, mainProgram, runAgentCommand } from '../support/agent-process.js';
import { runToEnd, TestChild, waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const QUESTION = 'And Zaphnathpaaneah said';
const WAIT_MS = 40_000;
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const UP = '\u001b[A';
const ENTER = '\r';

const stateDir = temporaryDirectory('terminal');
const mine = ['--state-dir', stateDir];
let agent: AgentProcess;

beforeAll(async () => {
  agent = await AgentProcess.start({ stateDir, args: ['--no-mdns', '--cluster', `terminal-${process.pid}`, '--listen', '127.0.0.1:0', '--log-level', 'debug'] });
});
afterAll(async () => agent.stop());

const shown = (name: string): string => readFileSync(join(stateDir, name), 'utf8');

describe('agent chat', () => {
  it('answers each line of a pipe, and its commands, and ends with the input', async () => {
    const finished = await runToEnd(process.execPath, [mainProgram(), 'chat', ...mine, '--seed', '3', '--max-tokens', '6'], {
      input: `${QUESTION}\n/stats\n/clear\n${QUESTION}\n/bye\nunheard\n`, timeoutMs: WAIT_MS,
    });
    expect(finished.code, finished.stderr).toBe(0);
    expect(finished.stderr).toMatch(/answer +6 tokens/);
    const answers = finished.stdout.split('\n').filter((line) => line !== '');
    expect(answers.length).toBeGreaterThanOrEqual(2);
    // The same question with the same seed, as the conversation was forgotten.
    expect(finished.stdout.slice(0, finished.stdout.length / 2)).toBe(finished.stdout.slice(finished.stdout.length / 2));
    expect(readdirSync(stateDir), 'a pipe is no history').not.toContain('chat-history');
  });

  it('is a terminal to talk in: history, Ctrl-C stops an answer or a line and keeps the session, Ctrl-D leaves', async () => {
    const line = [process.execPath, mainProgram(), 'chat', ...mine, '--seed', '3', '--max-tokens', '300'].map((word) => `'${word}'`).join(' ');
    // util-linux's `script` gives it a terminal of its own.
    const child = new TestChild('script', ['--quiet', '--return', '--flush', '--command', line, '/dev/null'], { typing: true, env: { TERM: 'xterm' } });
    try {
      const prompts = (): number => child.stdout.split('>>> ').length - 1;
      const lastLine = (): string => child.stdout.slice(child.stdout.lastIndexOf('>>> '));
      const seen = (takes: () => boolean, what: string): Promise<void> => waitUntil(takes, { timeoutMs: WAIT_MS, what, detail: () => child.describe() });
      await seen(() => child.stdout.includes('/help') && child.stdout.includes('>>> '), 'the first prompt');

      child.type(`${QUESTION}${ENTER}`);
      const typed = child.stdout.length;
      await seen(() => child.stdout.length > typed + QUESTION.length + 20, 'the beginning of an answer');
      // Stops the answer; should it be complete already, it gives up the line.
      child.type(CTRL_C);
      await seen(() => />>> [^>]*$/.test(child.stdout) && prompts() > 1, 'a prompt after the stopped answer');

      child.type('half a line');
      await seen(() => child.stdout.includes('half a line'), 'the echo');
      const before = child.stdout.length;
      child.type(CTRL_C);
      await seen(() => child.stdout.slice(before).includes('>>> '), 'a new prompt instead of the line');

      child.type(`/set max_tokens 3${ENTER}`);
      child.type(`${UP}${UP}`);
      await seen(() => lastLine().includes(QUESTION), 'the question from the history');
      child.type(ENTER);
      // Typed while the answer may still come: it waits for its turn.
      child.type(`/stats${ENTER}`);
      await seen(() => /answer +3 tokens/.test(child.stdout), 'figures of an answer with three tokens');
      child.type(CTRL_D);
      expect(await child.exitWithin(WAIT_MS), child.describe()).toEqual({ code: 0, signal: null });
    } finally {
      await child.reap();
    }
    expect(shown('chat-history').split('\n')[0]).toBe(QUESTION);
    expect(statSync(join(stateDir, 'chat-history')).mode & 0o077).toBe(0);
  });
});

describe('agent trace', () => {
  it('says where the time of the last request went, step by step, and which requests are remembered', async () => {
    const answered = await runAgentCommand(['run', 'kjv-q8_0', QUESTION, ...mine, '--max-tokens', '4', '--temperature', '0', '--trace']);
    expect(answered.code, answered.stderr).toBe(0);
    expect(answered.stderr).toMatch(/^kjv-q8_0, request (.|\n)*? in ms$/m);
    const text = await runAgentCommand(['trace', ...mine]);
    expect(text.stdout).toMatch(/^Stages: 0 \S+\.$/m);
    expect(text.stdout, text.stderr).toMatch(/^Step +At +Tokens +Others +Stage 0 +Wire +Queue +Total$/m);
    const trace = JSON.parse((await runAgentCommand(['trace', ...mine, '--json'])).stdout) as { requestId: string; steps: { tokens: number; stageMicros: number[] }[] };
    expect(trace.steps.length).toBeGreaterThan(0);
    for (const { tokens, stageMicros } of trace.steps) {
      expect(tokens).toBeGreaterThan(0);
      expect(stageMicros).toHaveLength(1);
    }
    expect((await runAgentCommand(['trace', ...mine, '--list'])).stdout).toContain(trace.requestId);
    const unknown = await runAgentCommand(['trace', 'nobody', ...mine]);
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(/no request whose id begins with "nobody" is remembered .*agent trace --list/);
  });
});

describe('agent logs', () => {
  it('shows what the agent did, from a level on, as text or JSON lines, and no word of questions and answers', async () => {
    const finished = await runAgentCommand(['run', 'kjv-q8_0', QUESTION, ...mine, '--max-tokens', '8', '--ctx', '64', '--no-mdns']);
    expect(finished.code, finished.stderr).toBe(0);
    // An agent runs already: what was typed for one of its own has no effect, and that is said.
    expect(finished.stderr).toBe('note: the agent that runs here answers, and was started with its own options: --no-mdns, --ctx are not used\n');
    const text = await runAgentCommand(['logs', ...mine, '--level', 'debug', '-n', '10000']);
    expect(text.stdout).toMatch(/^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] INFO: a stage starts here/m);
    const json = await runAgentCommand(['logs', ...mine, '--json', '-n', '2']);
    const records = json.stdout.trim().split('\n').map((line) => JSON.parse(line) as { level: number; msg: string });
    expect(records).toHaveLength(2);
    for (const { level } of records) expect(level).toBeGreaterThanOrEqual(30);
    expect((await runAgentCommand(['logs', ...mine, '--level', 'error'])).stdout).toBe('');
    for (const file of readdirSync(join(stateDir, 'logs'))) {
      const kept = shown(join('logs', file));
      for (const word of ['Zaphnathpaaneah', finished.stdout.trim().slice(0, 20)]) expect(kept.includes(word), `${word} in ${file}`).toBe(false);
    }
  });

  it('follows on from the last line until it is interrupted', async () => {
    const child = new TestChild(process.execPath, [mainProgram(), 'logs', '--follow', ...mine, '-n', '0', '--json']);
    try {
      const logged = (): number => execFileSync(process.execPath, [mainProgram(), 'logs', ...mine, '--json', '-n', '10000'], { encoding: 'utf8' }).split('\n').length;
      const before = logged();
      await agent.call({ method: 'DELETE', path: `/v1/cluster/instances/${(await agent.status()).instances[0]?.instanceId ?? ''}` });
      await waitUntil(() => logged() > before, { timeoutMs: WAIT_MS, what: 'a new line in the log' });
      await waitUntil(() => child.stdout.includes('"msg"'), { timeoutMs: WAIT_MS, what: 'the new line', detail: () => child.describe() });
      child.signalAlone('SIGINT');
      expect(await child.exitWithin(WAIT_MS), child.describe()).toEqual({ code: 0, signal: null });
    } finally {
      await child.reap();
    }
  });

  it('says what to do where nothing was ever logged', async () => {
    const finished = await runAgentCommand(['logs', '--state-dir', join(stateDir, 'none')]);
    expect(finished.code).toBe(1);
    expect(finished.stderr).toMatch(/nothing was logged yet .*"agent start"/);
  });
});
