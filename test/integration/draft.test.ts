/**
 * A draft beside a ring of two real agents: a copy of the model with stirred weights, which one of them holds, guesses for it.
 * No answer changes by it, and none by its end.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { InstanceView } from '../../src/agent/service.js';
import { WatchedStream } from '../lan/watched-stream.js';
import { startAgentPair } from '../support/agent-pair.js';
import type { AgentPair } from '../support/agent-pair.js';
import { runAgentCommand } from '../support/agent-process.js';
import type { AgentProcess } from '../support/agent-process.js';
import { writeStirredBuiltInModel } from '../support/model-copy.js';
import { signalQuietly, waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MODEL = 'kjv-q8_0';
const DRAFT = 'stirred';
const DEADLINE_MS = 60_000;
const PROMPT = [1, 99, 371, 512, 23, 640, 7, 81];
const COUNT = 160;
const REQUESTS = [
  { model: MODEL, prompt: PROMPT, count: COUNT, temperature: 0, seed: 1 },
  { model: MODEL, prompt: PROMPT, count: COUNT, temperature: 0.8, seed: 7 },
] as const;

let pair: AgentPair;

beforeAll(async () => {
  const models = join(temporaryDirectory('draft-models'), 'models');
  mkdirSync(models);
  await writeStirredBuiltInModel(join(models, `${DRAFT}.gguf`));
  pair = await startAgentPair('draft', { args: ['--log-level', 'info'], firstArgs: ['--model', models] });
}, DEADLINE_MS * 2);

afterAll(() => pair.kill());

function agentAt(index: number): AgentProcess {
  return pair.at(index);
}

async function command(...words: readonly string[]): Promise<{ code: number | null; text: string }> {
  const { code, stdout, stderr } = await runAgentCommand([...words, '--state-dir', agentAt(1).stateDir]);
  return { code, text: `${stdout}${stderr}` };
}

async function answers(): Promise<readonly (readonly number[])[]> {
  const all: (readonly number[])[] = [];
  for (const request of REQUESTS) {
    const stream = new WatchedStream(agentAt(1), request);
    await stream.ended;
    expect(stream.failure, output()).toBe('');
    expect(stream.tokens).toHaveLength(COUNT);
    all.push(stream.tokens);
  }
  return all;
}

const output = (): string => pair.agents.map((agent) => agent.output()).join('\n');

/** As the head's node sees it: it alone knows of guesses. */
async function served(): Promise<{ readonly head: AgentProcess; readonly instance: InstanceView }> {
  for (const agent of pair.agents) {
    const { instances: [instance], nodeId } = await agent.status();
    if (instance?.stages[0]?.nodeId === nodeId) return { head: agent, instance };
  }
  throw new Error(`nothing is served:\n${output()}`);
}

async function draftBecomes(state: string): Promise<void> {
  for (const agent of pair.agents) await agent.statusWhen(({ instances }) => instances[0]?.draft?.state === state, { timeoutMs: DEADLINE_MS, what: `a draft that is ${state}` });
}

it('changes no answer, whether it guesses, ends in the middle, or is not there', async () => {
  expect(await command('models', 'load', MODEL, '--nodes', '2')).toMatchObject({ code: 0 });
  const plain = await answers();
  expect((await served()).instance).toMatchObject({ guesses: { model: { drafted: 0 } } });
  expect((await command('models', 'load', MODEL, '--draft', DRAFT)).text).toMatch(/is served already.*unload it first/s);
  await command('models', 'unload', MODEL);

  const plan = await command('plan', MODEL, '--nodes', '2', '--draft', DRAFT);
  expect(plan.text).toMatch(/draft stirred beside the first stage, [\d.]+ MB predicted/);
  expect(await command('models', 'load', MODEL, '--nodes', '2', '--draft', DRAFT)).toMatchObject({ code: 0 });
  await draftBecomes('ready');
  expect((await command('status')).text).toMatch(/draft stirred: ready, [\d.]+ MB/);
  expect(await answers(), output()).toEqual(plain);
  const { head, instance } = await served();
  const { drafted = 0, accepted = 0 } = instance.guesses?.model ?? {};
  expect(accepted, JSON.stringify(instance.guesses)).toBeGreaterThan(0);
  expect(accepted).toBeLessThan(drafted);
  expect(await (await head.call({ path: '/metrics' })).text()).toMatch(new RegExp(`ring_accepted_tokens\\{model="${MODEL}",source="model"\\} ${accepted}\n`));

  const runner = Number(/"runner":(\d+).*a draft is ready/.exec(head.output())?.[1]);
  expect(head.family()).toContain(runner);
  const stream = new WatchedStream(agentAt(1), REQUESTS[0]);
  await stream.reaches(10);
  signalQuietly(runner, 'SIGKILL');
  await stream.ended;
  expect([stream.failure, stream.tokens]).toEqual(['', plain[0]]);
  await draftBecomes('failed');
  await waitUntil(() => head.output().includes('a draft failed'), { timeoutMs: DEADLINE_MS, what: 'a notice', detail: output });
  expect(head.output().split('a draft failed')).toHaveLength(2);
  expect(await answers()).toEqual(plain);
  await command('models', 'unload', MODEL);
}, 240_000);

it('is refused by name where it cannot guess', async () => {
  const itself = await command('models', 'load', MODEL, '--draft', MODEL);
  expect(itself.code).not.toBe(0);
  expect(itself.text).toMatch(/kjv-q8_0 is the model itself: a draft is a smaller one/);
  expect((await command('plan', MODEL, '--draft', 'nowhere')).text).toMatch(/no node of this cluster holds a model "nowhere"/);
  const answer = await agentAt(0).call({ path: '/v1/cluster/load', json: { model: MODEL, draft: MODEL }, timeoutMs: DEADLINE_MS });
  expect(answer.status).toBe(400);
});
