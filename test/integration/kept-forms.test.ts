/**
 * Nodes are killed in the middle of answers whose form is given, that call a tool, or that are several at once: each goes on, and
 * is the undisturbed one to the letter. What a grammar has taken, and where each of several answers stood, must not be lost with a node.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AgentProcess } from '../support/agent-process.js';
import { waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MODEL = 'kjv-q8_0';
const NODES = 4;
/** The others are for the client and to come in. */
const STAGES = 2;
const AGREE_MS = 30_000;
const LOAD_MS = 60_000;
/** Pieces of every answer that are there before a node is killed. */
const BEGUN = 4;
/** What has come meanwhile is read first: a busy test sees tokens later than they were told. */
const READ_MS = 20;
/** Answers that end before a node is killed show nothing: they are asked for again, so often. */
const TRIES = 4;

const LINES = { type: 'array', items: { type: 'string', minLength: 10, maxLength: 18 }, minItems: 30, maxItems: 30 };
const BOOK = { type: 'object', properties: { title: { type: 'string', minLength: 4, maxLength: 20 }, lines: LINES }, required: ['title', 'lines'], additionalProperties: false };
const messages = [{ role: 'user' as const, content: 'Tell me of Moses.' }];
const base = { model: MODEL, messages, temperature: 1, max_tokens: 1600, stream: true as const };
const REQUESTS: Readonly<Record<string, OpenAI.ChatCompletionCreateParamsStreaming>> = {
  schema: { ...base, seed: 11, response_format: { type: 'json_schema', json_schema: { name: 'book', strict: true, schema: BOOK } } },
  tool: { ...base, seed: 12, parallel_tool_calls: false, tool_choice: { type: 'function', function: { name: 'write' } }, tools: [{ type: 'function', function: { name: 'write', strict: true, parameters: BOOK } }] },
  several: { ...base, seed: 13, n: 2, max_tokens: 1200 },
};

/** What became of a request: texts and arguments of each choice, and why it ended. */
interface Told {
  pieces: number;
  ended: boolean;
  readonly texts: string[];
  readonly calls: string[];
  readonly reasons: string[];
}

let agents: AgentProcess[] = [];
const dead = new Set<AgentProcess>();

beforeAll(async () => {
  const cluster = `kept-forms-${process.pid}`;
  agents = await Promise.all(Array.from({ length: NODES }, (_, index) => AgentProcess.start({ stateDir: temporaryDirectory(`kept${index}`), args: ['--cluster', cluster, '--threads', '1', '--log-level', 'info'] })));
  await waitUntil(async () => (await Promise.all(agents.map((agent) => agent.status()))).every(({ nodes, coordinator }) => nodes.length === NODES && coordinator !== null), {
    timeoutMs: AGREE_MS, what: 'the nodes see each other', detail: () => agents.map((agent) => agent.output()).join('\n'),
  });
  const loaded = await agents[0]?.call({ path: '/v1/cluster/load', json: { model: MODEL, nodes: STAGES, slots: 4, contextTokens: 2048 }, timeoutMs: LOAD_MS });
  expect(loaded?.status, await loaded?.text()).toBe(200);
}, 240_000);

afterAll(async () => {
  await Promise.all(agents.filter((agent) => !dead.has(agent)).map((agent) => agent.stop()));
});

/** The ring now, and a node outside of it. */
async function ring(): Promise<{ readonly head: AgentProcess; readonly tail: AgentProcess; readonly client: AgentProcess }> {
  const living = agents.filter((agent) => !dead.has(agent));
  const [first] = living;
  if (first === undefined) throw new Error('no node lives');
  const { instances: [instance] } = await first.statusWhen(({ nodes, instances }) => nodes.length === living.length && instances[0]?.state === 'active' && instances[0].stages.length === STAGES, { timeoutMs: AGREE_MS, what: 'the ring is whole' });
  const ids = new Map(await Promise.all(living.map(async (agent) => [(await agent.status()).nodeId, agent] as const)));
  const stages = (instance?.stages ?? []).map(({ nodeId }) => ids.get(nodeId));
  const [head, tail] = stages;
  const client = living.find((agent) => !stages.includes(agent));
  if (head === undefined || tail === undefined || client === undefined) throw new Error(JSON.stringify(instance));
  return { head, tail, client };
}

function ask(client: AgentProcess): { readonly told: Record<string, Told>; readonly whole: Promise<unknown> } {
  const openai = new OpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${client.http.port}/v1`, maxRetries: 0 });
  const told: Record<string, Told> = {};
  for (const name of Object.keys(REQUESTS)) told[name] = { pieces: 0, ended: false, texts: [], calls: [], reasons: [] };
  const formed = (): boolean => ['schema', 'tool'].every((name) => (told[name]?.pieces ?? 0) > 0);
  const whole = Promise.all(Object.entries(REQUESTS).map(async ([name, request]) => {
    const one = told[name];
    if (one === undefined) throw new Error(name);
    // A grammar takes its time to be read; what needs none would be over before the others begin.
    if (name === 'several') await waitUntil(async () => formed(), { timeoutMs: AGREE_MS, pollMs: 2, what: 'the answers with a form have begun' });
    for await (const { choices } of await openai.chat.completions.create(request)) {
      for (const { index, delta, finish_reason: reason } of choices) {
        one.texts[index] = (one.texts[index] ?? '') + (delta.content ?? '');
        one.calls[index] = (one.calls[index] ?? '') + (delta.tool_calls ?? []).map((call) => call.function?.arguments ?? '').join('');
        one.pieces += 1;
        if (reason !== null) one.reasons[index] = reason;
      }
    }
    one.ended = true;
  }));
  return { told, whole };
}

/** All answers have begun and none has ended. */
async function underWay(client: AgentProcess): Promise<ReturnType<typeof ask>> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const asked = ask(client);
    asked.whole.catch(() => undefined);
    const ended = (): boolean => Object.values(asked.told).some((one) => one.ended);
    await waitUntil(async () => ended() || Object.values(asked.told).every(({ pieces }) => pieces >= BEGUN), { timeoutMs: AGREE_MS, pollMs: 2, what: 'all answers have begun' });
    await new Promise((resolve) => setTimeout(resolve, READ_MS));
    if (!ended()) return asked;
    await asked.whole;
  }
  throw new Error(`an answer was over before all had begun, ${TRIES} times`);
}

function answersOf(told: Record<string, Told>): object {
  return Object.fromEntries(Object.entries(told).map(([name, { texts, calls, reasons }]) => [name, { texts, calls, reasons }]));
}

it('go on when the tail\'s node is killed, and when the head\'s is, the same to the letter', async () => {
  const undisturbed = ask((await ring()).client);
  await undisturbed.whole;
  const wanted = answersOf(undisturbed.told);
  const { schema, tool, several } = undisturbed.told;
  const ajv = new Ajv2020();
  expect(schema?.reasons).toEqual(['stop']);
  expect(ajv.validate(BOOK, JSON.parse(schema?.texts[0] ?? '')), schema?.texts[0]).toBe(true);
  expect(tool?.reasons).toEqual(['tool_calls']);
  expect(ajv.validate(BOOK, JSON.parse(tool?.calls[0] ?? '')), tool?.calls[0]).toBe(true);
  expect(several?.texts).toHaveLength(2);
  expect(several?.texts[0]).not.toBe(several?.texts[1]);

  for (const victim of ['tail', 'head'] as const) {
    const { client, [victim]: killed } = await ring();
    const { told, whole } = await underWay(client);
    dead.add(killed);
    await killed.kill9();
    await whole;
    expect(answersOf(told), `${victim} killed\n${client.output()}`).toEqual(wanted);
    expect(client.output()).toMatch(/goes on with the next one|it is asked for again/);
  }
}, 240_000);
