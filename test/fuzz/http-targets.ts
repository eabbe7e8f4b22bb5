/** Every route of the API that takes a body: whatever comes is answered, and never as a fault of ours. */
import { createApp } from '../../src/api/app.js';
import { RingError } from '../../src/core/errors.js';
import type { ModelUpkeep } from '../../src/ports.js';
import { answerOf, apiOptions, ScriptedAgent } from '../api/scripted-agent.js';
import type { FuzzTarget } from './fuzz.js';

const MESSAGES = [{ role: 'system', content: 'be short' }, { role: 'user', content: [{ type: 'text', text: 'Hello' }] }];

/** Of each route: bodies that it is meant to read. */
const BODIES: Readonly<Record<string, readonly object[]>> = {
  '/v1/chat/completions': [
    { model: 'kjv-q8_0', messages: MESSAGES, max_tokens: 5, temperature: 0.5, top_p: 0.9, seed: 3, stop: ['a', 'b'], stream: true, stream_options: { include_usage: true }, logit_bias: { 5: -100 } },
    { messages: [{ role: 'user', content: 'Hello' }], frequency_penalty: 1, presence_penalty: -1, n: 1, user: 'me' },
  ],
  '/v1/completions': [{ model: 'kjv-q8_0', prompt: [1, 2, 3], max_tokens: 5, ignore_eos: true, return_tokens: true }, { prompt: 'Hello', echo: false, stream: true }],
  '/v1/messages': [{ model: 'kjv-q8_0', max_tokens: 5, system: 'be short', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }], stop_sequences: ['x'], stream: true, top_k: 3 }],
  '/v1/messages/count_tokens': [{ model: 'kjv-q8_0', messages: [{ role: 'user', content: 'Hello' }] }],
  '/api/chat': [{ model: 'kjv-q8_0', messages: [{ role: 'user', content: 'Hello' }], options: { temperature: 0.1, num_predict: 4, seed: 3, stop: ['x'] }, stream: false }],
  '/api/generate': [{ model: 'kjv-q8_0', prompt: 'Hello', options: { num_ctx: 64 }, raw: true }],
  '/api/show': [{ model: 'kjv-q8_0', verbose: true }],
  '/v1/embeddings': [{ model: 'kjv-q8_0', input: ['Hello', 'you'], encoding_format: 'base64', dimensions: 2 }],
  '/api/embed': [{ model: 'kjv-q8_0', input: 'Hello', truncate: true, options: { num_ctx: 64 } }],
  '/v1/cluster/plan': [{ model: 'kjv-q8_0', policy: 'auto', nodes: 2, contextTokens: 64, slots: 1 }],
  '/v1/cluster/load': [{ model: 'kjv-q8_0', nodes: 2 }],
  '/v1/cluster/store/pull': [{ model: 'hf:owner/repo' }],
  '/v1/cluster/store/remove': [{ model: 'kjv-q8_0' }],
  '/v1/cluster/store/prune': [{ keepBytes: 5 }],
};

class KeepingAgent extends ScriptedAgent {
  readonly upkeep: ModelUpkeep = {
    list: async () => [],
    transfers: () => [],
    pull: async (model) => ({ model, path: '/a', bytes: 1 }),
    remove: async (model) => ({ model, freedBytes: 1, leftInPlace: null }),
    prune: async () => ({ removed: 0, brokenOff: 0, freedBytes: 0 }),
  };
}

export function httpTargets(): readonly FuzzTarget[] {
  return Object.entries(BODIES).map(([path, bodies]): FuzzTarget => {
    const agent = new KeepingAgent();
    agent.script = () => answerOf(['He', 'llo']);
    const app = createApp(agent, apiOptions());
    return {
      name: `POST ${path}`,
      seeds: bodies.map((body) => new TextEncoder().encode(JSON.stringify(body))),
      json: true,
      share: 100,
      async run(input) {
        const answer = await app.request(path, { method: 'POST', headers: { host: '127.0.0.1', 'content-type': 'application/json' }, body: Uint8Array.from(input) });
        const content = await answer.text();
        if (answer.status === 500) throw new Error(`answered 500: ${content.slice(0, 300)}`);
        if (answer.status >= 400) throw new RingError('bad_request', content.slice(0, 300));
      },
    };
  });
}
