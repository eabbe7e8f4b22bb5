/**
 * The floor: libllama on the whole file in one process, through the same engine code as a runner and nothing else, no
 * pipe, no network, no scheduler. Blocks while it computes, so it is a process of its own.
 */
import { errorMessageOf } from '../../src/core/errors.js';
import { stepTokens } from '../../src/core/step-size.js';
import type { SamplingSettings } from '../../src/core/step-types.js';
import { openStage } from '../../src/engine/stage.js';
import type { StageEngine } from '../../src/ports.js';
import { floorCommand } from './floor-messages.js';
import type { FloorCommand, FloorReply } from './floor-messages.js';

/** As a ring of one has. */
const BATCH_TOKENS = stepTokens(1);
const GREEDY: SamplingSettings = {
  temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, repeatPenalty: 1, frequencyPenalty: 0, presencePenalty: 0, ignoreEos: true, logitBias: [],
};
/** As the rings draw (ring.ts): drawing from a whole vocabulary has a cost that is no ring's. */
const DRAWN: SamplingSettings = { ...GREEDY, temperature: 1, seed: 1 };

let stage: StageEngine | null = null;
let idleBytes = 0;

function open(command: Extract<FloorCommand, { kind: 'open' }>): FloorReply {
  stage?.close();
  idleBytes = process.memoryUsage.rss();
  stage = openStage({
    role: 'whole', stageFile: command.modelFile, embedding: null, backend: 'cpu', batchTokens: BATCH_TOKENS,
    threads: command.threads, contextTokens: command.contextTokens, slots: command.slots, keyType: command.keyType, valueType: command.valueType,
    ...(command.keyValueCache === undefined ? {} : { keyValueCache: command.keyValueCache }),
  });
  const { vocabularySize } = stage;
  runSequence(stage, [0], 2);
  return { kind: 'opened', residentBytes: process.memoryUsage.rss() - idleBytes, vocabularySize };
}

function openSlot(engine: StageEngine, slot: number, promptLength: number, sampling: SamplingSettings): void {
  engine.apply([{
    kind: 'open', slot, sequenceId: `floor-${slot}`, sampling, origin: '', promptLength, promptTokens: [], emittedTokens: [],
  }]);
}

function runSequence(engine: StageEngine, prompt: readonly number[], decodeTokens: number): FloorReply {
  openSlot(engine, 0, prompt.length, DRAWN);
  const start = performance.now();
  let next = 0;
  for (let position = 0; position < prompt.length; position += BATCH_TOKENS) {
    const chunk = prompt.slice(position, position + BATCH_TOKENS);
    const sample = position + chunk.length === prompt.length;
    const { sampled } = engine.step({ slices: [{ slot: 0, position, tokens: chunk.length, sample }], tokens: Int32Array.from(chunk), hidden: null });
    next = sampled[0]?.token ?? 0;
  }
  const first = performance.now();
  const tokens = [next];
  for (let drawn = 1; drawn < decodeTokens; drawn += 1) {
    const position = prompt.length + drawn - 1;
    const { sampled } = engine.step({ slices: [{ slot: 0, position, tokens: 1, sample: true }], tokens: Int32Array.of(next), hidden: null });
    next = sampled[0]?.token ?? 0;
    tokens.push(next);
  }
  const end = performance.now();
  engine.apply([{ kind: 'close', slot: 0 }]);
  return { kind: 'sequence', firstTokenMs: first - start, decodeMs: end - first, tokens };
}

/** Sequences in `slots` that others left behind: every slot up to the last one was in use for a token. */
function runBatch(engine: StageEngine, slots: readonly number[], steps: number): FloorReply {
  const all = Array.from({ length: Math.max(...slots) + 1 }, (_, slot) => slot);
  for (const slot of all) openSlot(engine, slot, 1, GREEDY);
  engine.step({ slices: all.map((slot) => ({ slot, position: 0, tokens: 1, sample: true })), tokens: new Int32Array(all.length), hidden: null });
  engine.apply(all.filter((slot) => !slots.includes(slot)).map((slot) => ({ kind: 'close', slot })));
  const tokens = new Int32Array(slots.length);
  let engineCalls = 0;
  let start = 0;
  // The first step is not counted: the engine reserves its buffers for a new batch shape there.
  for (let step = 0; step <= steps; step += 1) {
    if (step === 1) start = performance.now();
    const output = engine.step({ slices: slots.map((slot) => ({ slot, position: step + 1, tokens: 1, sample: true })), tokens, hidden: null });
    if (step > 0) engineCalls += output.engineCalls;
    for (const [index, sampled] of output.sampled.entries()) tokens[index] = sampled.token;
  }
  const ms = performance.now() - start;
  engine.apply(slots.map((slot) => ({ kind: 'close', slot })));
  return { kind: 'batch', ms, engineCalls };
}

function answer(message: unknown): FloorReply {
  try {
    const command = floorCommand.parse(message);
    if (command.kind === 'open') return open(command);
    if (stage === null) return { kind: 'failed', message: 'no model is open' };
    if (command.kind === 'memory') return { kind: 'memory', residentBytes: process.memoryUsage.rss() - idleBytes };
    return command.kind === 'sequence' ? runSequence(stage, command.prompt, command.decodeTokens) : runBatch(stage, command.slots, command.steps);
  } catch (error) {
    return { kind: 'failed', message: errorMessageOf(error) };
  }
}

process.on('message', (message: unknown) => {
  process.send?.(answer(message));
});
process.on('disconnect', () => process.exit(0));
