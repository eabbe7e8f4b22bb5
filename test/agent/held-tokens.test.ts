/** When a head tells an answer's tokens: not while its own stage computes the step that everybody waits for. */
import { describe, expect, it } from 'vitest';
import { Head } from '../../src/agent/head.js';
import type { ControlMessage } from '../../src/core/messages.js';
import type { Plan } from '../../src/core/types.js';
import { decodeActivation } from '../../src/wire/activation-codec.js';
import { HandClock } from '../support/hand-clock.js';
import { SILENT } from '../support/silent-log.js';

const sampling = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 1, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: false, logitBias: [],
};

/** A head on node `a` with answers of its own node; the ring draws tokens 100, 101 and so on. */
class Ring {
  readonly clock = new HandClock();
  readonly told: string[] = [];
  readonly head: Head;
  private readonly steps: Uint8Array[] = [];
  private readonly names = new Map<number, string>();
  private token = 100;

  constructor(stages: number) {
    const plan: Plan = {
      planId: '1.a.1', instanceId: 'i', model: { digest: 'd'.repeat(64), sizeBytes: 1, name: 'm', architecture: 'llama', layers: stages },
      stages: Array.from({ length: stages }, (_, rank) => ({ rank, nodeId: 'abc'.charAt(rank), range: { start: rank, end: rank + 1 }, predictedBytes: 1 })),
      contextTokens: 64, slots: 2, keyType: 'q8_0', valueType: 'f16', explanation: [],
    };
    this.head = new Head(plan, { vocabularySize: 1_000, canRollBack: false }, {
      clock: this.clock, log: SILENT, requestsChanged: () => undefined,
      send: (_to: string, message: ControlMessage) => void this.told.push(message.kind === 'token' ? String(message.token) : message.kind),
      enter: (body) => void this.steps.push(body),
    });
  }

  ask(requestId: string, maxTokens: number): void {
    this.head.generate('a', { kind: 'generate', requestId, planId: '1.a.1', promptTokens: [1], emittedTokens: [], sampling, maxTokens });
  }

  /** The oldest step comes around. */
  comeAround(): void {
    const body = this.steps.shift();
    if (body === undefined) throw new Error('no step is in the ring');
    const frame = decodeActivation(body);
    for (const operation of frame.operations) if (operation.kind === 'open') this.names.set(operation.slot, operation.sequenceId);
    this.head.stepReturned({
      ...frame, computeMicros: 2, stageMicros: this.head.plan.stages.map(() => 1),
      sampled: frame.slices.map(({ slot, position, tokens }) => ({ slot, sequenceId: this.names.get(slot) ?? '?', position: position + tokens, token: this.token++, endOfGeneration: false })),
    });
  }
}

describe('tokens of a lone answer', () => {
  it('are told when the next step has left this node, the first and the last at once', () => {
    const ring = new Ring(2);
    ring.ask('r', 4);
    ring.comeAround();
    expect(ring.told).toEqual(['100']);
    ring.comeAround();
    expect(ring.told).toEqual(['100']);
    ring.head.stagePassedOn();
    ring.clock.pass(0);
    expect(ring.told).toEqual(['100', '101']);
    ring.comeAround();
    ring.comeAround();
    // What waited comes first.
    expect(ring.told).toEqual(['100', '101', '102', '103', 'finished']);
  });

  it('do not wait longer than people notice, where a stage takes long', () => {
    const ring = new Ring(3);
    ring.ask('r', 8);
    ring.comeAround();
    ring.comeAround();
    ring.clock.pass(29);
    expect(ring.told).toEqual(['100']);
    ring.clock.pass(1);
    expect(ring.told).toEqual(['100', '101']);
    ring.head.stagePassedOn();
    ring.clock.pass(100);
    expect(ring.told).toEqual(['100', '101']);
  });

  it('are told at once where the stage does not rest: alone in the ring, or with another step behind', () => {
    const alone = new Ring(1);
    alone.ask('r', 8);
    alone.comeAround();
    alone.comeAround();
    expect(alone.told).toEqual(['100', '101']);
    const busy = new Ring(2);
    busy.ask('r', 8);
    busy.comeAround();
    busy.ask('s', 8);
    busy.comeAround();
    expect(busy.told).toEqual(['100', '101']);
  });

  it('are all told before the plan is over', () => {
    const ring = new Ring(2);
    ring.ask('r', 8);
    ring.comeAround();
    ring.comeAround();
    ring.head.close('over');
    expect(ring.told).toEqual(['100', '101', 'refused']);
    ring.clock.pass(100);
    expect(ring.told).toEqual(['100', '101', 'refused']);
  });
});
