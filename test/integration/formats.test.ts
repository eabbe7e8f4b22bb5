/**
 * Number formats that people choose, on real agents: hidden states in fewer bytes from stage to stage, and a KV cache of
 * another type. What was sent is what the kernel counted on the agents' connections.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesSent } from '../../scripts/bench/wire-bytes.js';
import { startAgentPair } from '../support/agent-pair.js';
import type { AgentPair } from '../support/agent-pair.js';
import { runAgentCommand } from '../support/agent-process.js';
import type { AgentProcess } from '../support/agent-process.js';

const MODEL = 'kjv-q8_0';
const HIDDEN_SIZE = 256;
const PROMPT = 'And God said, Let there be light: and there was light. '.repeat(16);
const DEADLINE_MS = 60_000;
/** Beside hidden states: frames, encryption, multiplexing, gossip and whatever else the two say meanwhile. */
const OTHER_PART = 1.25;

let pair: AgentPair;

beforeAll(async () => {
  pair = await startAgentPair('formats');
}, DEADLINE_MS * 2);

afterAll(() => pair.kill());

function agentAt(index: number): AgentProcess {
  return pair.at(index);
}

async function command(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runAgentCommand([...words, '--state-dir', agentAt(0).stateDir]);
  expect(code, `${stdout}${stderr}`).toBe(0);
  return stdout;
}

/** Loads, answers greedily, unloads. */
async function answer(...flags: readonly string[]): Promise<{ text: string; promptTokens: number; bytes: number }> {
  await command('models', 'load', MODEL, '--nodes', '2', ...flags);
  // A ring that has just been loaded sends steps around itself until somebody asks.
  await (await agentAt(0).call({ path: '/v1/completions', json: { model: MODEL, prompt: 'Amen', max_tokens: 1 }, timeoutMs: DEADLINE_MS })).text();
  const before = await bytesSent(pair.ports) ?? 0;
  const response = await agentAt(0).call({ path: '/v1/completions', json: { model: MODEL, prompt: PROMPT, max_tokens: 12, temperature: 0 }, timeoutMs: DEADLINE_MS });
  const bytes = (await bytesSent(pair.ports) ?? 0) - before;
  const body = await response.json() as { choices: { text: string }[]; usage: { prompt_tokens: number } };
  expect(response.status, JSON.stringify(body)).toBe(200);
  await command('models', 'unload', MODEL);
  return { text: body.choices[0]?.text ?? '', promptTokens: body.usage.prompt_tokens, bytes };
}

describe('formats of a ring of two', () => {
  it('send half the bytes of f32 as f16, and less than a third as q8_0, for the same answer to the eye', async () => {
    const exact = await answer();
    const half = await answer('--activations', 'f16');
    const quarter = await answer('--activations', 'q8_0');
    const shown = JSON.stringify({ exact, half, quarter });
    const { promptTokens } = exact;
    expect(promptTokens, shown).toBeGreaterThan(200);
    const payload = promptTokens * HIDDEN_SIZE;
    expect(exact.bytes, shown).toBeGreaterThanOrEqual(payload * 4);
    expect(half.bytes, shown).toBeGreaterThanOrEqual(payload * 2);
    expect(half.bytes, shown).toBeLessThan(payload * 2 * OTHER_PART);
    expect(quarter.bytes, shown).toBeGreaterThanOrEqual(payload * 34 / 32);
    expect(quarter.bytes, shown).toBeLessThan(payload * 34 / 32 * OTHER_PART);
    expect(half.text, shown).toBe(exact.text);
    expect(quarter.text, shown).toMatch(/[a-z]/i);
  });

  it('are in the plan, and a load that asks for others than are served is told so', async () => {
    const plan = await command('plan', MODEL, '--nodes', '2', '--kv-type', 'f16', '--activations', 'f16');
    expect(plan).toMatch(/KV f16\/f16, f16 activations/);
    await command('models', 'load', MODEL, '--nodes', '2', '--kv-type', 'f16', '--activations', 'f16');
    const refused = await agentAt(1).call({ path: '/v1/cluster/load', json: { model: MODEL, cacheType: 'q8_0' }, timeoutMs: DEADLINE_MS });
    expect(refused.status).toBe(409);
    expect(await refused.text()).toMatch(/KV f16\/f16 and f16 activations/);
    const response = await agentAt(1).call({ path: '/v1/completions', json: { model: MODEL, prompt: 'In the beginning', max_tokens: 8, temperature: 0 }, timeoutMs: DEADLINE_MS });
    expect(await response.text()).toMatch(/"text":"[^"]*\w/);
  });
});
