/** A runner that is told that a step goes on has the next one computed when it comes; told otherwise, or at an end, it waits. */
import { expect, it, vi } from 'vitest';
import { loadLlama } from '../../src/engine/llama.js';
import { RunnerLoop } from '../../src/runner/runner-loop.js';
import { decodeActivation, encodeActivation } from '../../src/wire/activation-codec.js';
import type { Activation } from '../../src/wire/activation-codec.js';
import type { FromRunner } from '../../src/wire/runner-codec.js';
import { GREEDY, wholeOptions } from '../engine/engine-support.js';

const PROMPT = [5, 17, 256];

/** Sends frames, and counts the engine's calls for each. */
class Driver {
  private readonly messages: FromRunner[] = [];
  private frame: Activation | null = null;
  private step = 0;
  private readonly loop = new RunnerLoop({
    control: (message) => this.messages.push(message),
    activation: (pieces) => {
      this.frame = decodeActivation(Buffer.concat(pieces));
    },
  });

  constructor() {
    this.loop.control({ kind: 'load_stage', options: wholeOptions() });
  }

  send(part: Partial<Activation>): { readonly token: number; readonly goesOn: boolean; readonly calls: number; readonly computeMicros: number } {
    this.step += 1;
    const body = encodeActivation({ planId: 'p', step: this.step, operations: [], slices: [], tokens: null, hidden: null, hiddenSize: 0, sampled: [], computeMicros: 0, stageMicros: [], ...part });
    const decode = vi.spyOn(loadLlama('cpu').c, 'llama_decode');
    this.loop.step(body);
    const calls = decode.mock.calls.length;
    decode.mockRestore();
    expect(this.messages.filter(({ kind }) => kind === 'failed')).toEqual([]);
    if (this.frame === null) throw new Error('no frame came');
    const { sampled, goesOn = false, computeMicros } = this.frame;
    return { token: sampled[0]?.token ?? -1, goesOn, calls, computeMicros };
  }

  prompt(): number {
    return this.send({
      operations: [{ kind: 'open', slot: 0, sequenceId: 's', sampling: GREEDY, origin: 'o', promptLength: PROMPT.length, promptTokens: [], emittedTokens: [] }],
      slices: [{ slot: 0, position: 0, tokens: PROMPT.length, sample: true }], tokens: Int32Array.from(PROMPT),
    }).token;
  }

  decode(position: number, token: number, goesOn: boolean): ReturnType<Driver['send']> {
    return this.send({ slices: [{ slot: 0, position, tokens: 1, sample: true }], tokens: Int32Array.of(token), ...(goesOn ? { goesOn: true } : {}) });
  }
}

it('a step that was begun with is answered at once, with the time that it took before', () => {
  const [waits, goes] = [new Driver(), new Driver()];
  const tokens = [waits, goes].map((driver) => [driver.prompt()]);
  for (let index = 0; index < 8; index += 1) {
    const goesOn = index % 4 < 2;
    const [plain, begun] = [waits, goes].map((driver, which) => driver.decode(PROMPT.length + index, tokens[which]?.[index] ?? 0, which === 1 && goesOn));
    if (plain === undefined || begun === undefined) throw new Error('two answers');
    tokens[0]?.push(plain.token);
    tokens[1]?.push(begun.token);
    expect(plain.calls).toBe(1);
    // Itself and the next; the next but one; nothing, as it is there; itself.
    expect(begun.calls).toBe([2, 1, 0, 1][index % 4]);
    expect(begun.computeMicros).toBeGreaterThan(0);
    expect([plain.goesOn, begun.goesOn]).toEqual([false, goesOn]);
  }
  expect(tokens[1]).toEqual(tokens[0]);
});
