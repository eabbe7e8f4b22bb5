/** Steps without work that go around a ring before its first request: how many, and when they end. */
import { describe, expect, it } from 'vitest';
import { Head } from '../../src/agent/head.js';
import type { Plan } from '../../src/core/types.js';
import { decodeActivation } from '../../src/wire/activation-codec.js';
import { HandClock } from '../support/hand-clock.js';
import { SILENT } from '../support/silent-log.js';

const PLAN: Plan = {
  planId: '1.a.1', instanceId: 'i', model: { digest: 'd'.repeat(64), sizeBytes: 1, name: 'm', architecture: 'llama', layers: 2 },
  stages: [0, 1].map((rank) => ({ rank, nodeId: 'ab'.charAt(rank), range: { start: rank, end: rank + 1 }, predictedBytes: 1 })),
  contextTokens: 64, slots: 2, keyType: 'q8_0', valueType: 'f16', explanation: [],
};
const SAMPLING = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

class Ring {
  readonly clock = new HandClock();
  readonly told: string[] = [];
  readonly entered: Uint8Array[] = [];
  readonly head = new Head(PLAN, { vocabularySize: 1_000, canRollBack: false }, {
    clock: this.clock, log: SILENT, requestsChanged: () => undefined,
    send: (_to, message) => void this.told.push(message.kind),
    enter: (body) => void this.entered.push(body),
  });
  private returned = 0;

  /** The oldest step that is under way; `sampled`: with a token for each of its sequences. */
  comeAround(): void {
    const body = this.entered[this.returned];
    if (body === undefined) throw new Error('no step is in the ring');
    this.returned += 1;
    const frame = decodeActivation(body);
    const sampled = frame.slices.map(({ slot, position, tokens }) => ({ slot, sequenceId: 'r', position: position + tokens, token: 7, endOfGeneration: false }));
    this.head.stepReturned({ ...frame, sampled, computeMicros: 2, stageMicros: [1, 1] });
  }

  ask(): void {
    this.head.generate('a', { kind: 'generate', requestId: 'r', planId: '1.a.1', promptTokens: [1], emittedTokens: [], sampling: SAMPLING, maxTokens: 2 });
  }

  shapes(): readonly string[] {
    return this.entered.map((body) => {
      const { step, operations, slices } = decodeActivation(body);
      return `${step}: ${operations.length} operations, ${slices.length} slices`;
    });
  }
}

describe('a rehearsal', () => {
  it('sends its steps one by one, then none', () => {
    const ring = new Ring();
    ring.head.rehearse(3);
    expect(ring.shapes()).toEqual(['1: 0 operations, 0 slices']);
    for (let step = 0; step < 3; step += 1) ring.comeAround();
    expect(ring.shapes()).toHaveLength(3);
    ring.head.rehearse(3);
    expect(ring.shapes()).toHaveLength(3);
    expect(ring.told).toEqual([]);
    expect(ring.head.pace()).toBeNull();
  });

  it('does not keep a request waiting, and ends with it for good', () => {
    const ring = new Ring();
    ring.head.rehearse(100);
    ring.comeAround();
    ring.ask();
    expect(ring.shapes()).toEqual(['1: 0 operations, 0 slices', '2: 0 operations, 0 slices', '3: 1 operations, 1 slices']);
    for (let step = 0; step < 3; step += 1) ring.comeAround();
    expect(ring.told).toEqual(['token', 'token', 'finished']);
    // The slot's close, and nothing more.
    ring.comeAround();
    expect(ring.shapes().slice(3)).toEqual(['4: 0 operations, 1 slices', '5: 1 operations, 0 slices']);
  });

  it('does not begin after a request', () => {
    const ring = new Ring();
    ring.ask();
    ring.head.rehearse(100);
    for (let step = 0; step < 3; step += 1) ring.comeAround();
    expect(ring.shapes()).toHaveLength(3);
  });

  it('ends where the way around takes long, and with the plan', () => {
    const slow = new Ring();
    slow.head.rehearse(100);
    slow.clock.pass(2_999);
    slow.comeAround();
    expect(slow.shapes()).toHaveLength(2);
    slow.clock.pass(1);
    slow.comeAround();
    expect(slow.shapes()).toHaveLength(2);
    const over = new Ring();
    over.head.rehearse(100);
    over.head.close('over');
    over.comeAround();
    expect(over.shapes()).toHaveLength(1);
  });
});
