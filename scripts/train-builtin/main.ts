/**
 * `npm run train-builtin -- --out DIR`: trains the built-in model from a public-domain text and writes its GGUFs.
 *
 * Same text, options and machine, same weights. A training that was stopped (Ctrl-C, --minutes) goes on where its last
 * checkpoint was when the same command is given again. models/README.md has the figures.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessageOf, RingError } from '../../src/core/errors.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import { builtInModelPath } from '../../src/model/model-store.js';
import { parameterCount } from './decoder.js';
import type { DecoderShape } from './decoder.js';
import { GgmlTrainer } from './ggml-trainer.js';
import { readCheckpoint, readTokenizer, writeCheckpoint, writeModel } from './model-file.js';
import type { Progress } from './model-file.js';
import { cutText, readText, tokenize } from './text.js';
import { TorchTrainer } from './torch-trainer.js';
import { initialState, readState, writeState } from './trainer.js';
import type { TrainingState } from './trainer.js';
import { bitsPerByte, train } from './training.js';
import type { OpenTrainer, TrainingPlan, TrainingTexts } from './training.js';

const USAGE = `Usage: npm run train-builtin -- [options]

  --out DIR         checkpoints and models go here (default: trained)
  --name NAME       of the model and its files (default: kjv)
  --text FILE       UTF-8 (default: the King James text of Debian's bible-kjv)
  --tokenizer FILE  GGUF whose tokenizer is used (default: the built-in model)
  --tokens N        of the whole training (default: 6 million)
  --minutes N       stop after this time; the same command goes on later
  --engine NAME     ggml, which is here already, or torch, which is faster on a
                    CPU (Debian: python3-torch libopenblas0-pthread)
  --python FILE     interpreter that has torch (default: /usr/bin/python3)
  --threads N       default: 1
  --layers N --hidden N --heads N --feed-forward N   default: 5, 256, 4, 704
  --length N --context N   tokens of a window, first and in the last fifth of
                    the training (default: 256, 512)
  --batch N         tokens of a step (default: 4096)
  --rate X --table-rate X --decay X   default: 0.02, 0.004, 0.1
  --measure-every N steps (default: 50)
  --seed TEXT       default: 1
`;

const TORCH_PYTHON = '/usr/bin/python3';
const MS_PER_MINUTE = 60_000;
const MS_PER_SECOND = 1000;
const SECONDS_PER_MINUTE = 60;
/** Steps between two lines of progress on a terminal or in a log. */
const PROGRESS_STEPS = 10;

const option = { type: 'string' } as const;
const OPTIONS = {
  'out': option, 'name': option, 'text': option, 'tokenizer': option, 'tokens': option, 'minutes': option, 'engine': option, 'python': option, 'threads': option,
  'layers': option, 'hidden': option, 'heads': option, 'feed-forward': option, 'length': option, 'context': option, 'batch': option,
  'rate': option, 'table-rate': option, 'decay': option, 'measure-every': option, 'seed': option, 'help': { type: 'boolean' },
} as const;
type Values = ReturnType<typeof parse>;

try {
  const values = parse();
  if (values.help === true) process.stdout.write(USAGE);
  else await run(values);
} catch (error) {
  process.stderr.write(`train-builtin: ${errorMessageOf(error)}\n`);
  process.exitCode = 1;
}

function parse() {
  return parseArgs({ options: OPTIONS }).values;
}

function number(values: Values, name: Exclude<keyof Values, 'help'>, fallback: number): number {
  const given = values[name];
  const value = given === undefined ? fallback : Number(given);
  if (Number.isFinite(value) && value > 0) return value;
  throw new RingError('bad_config', `--${name} wants a number above 0, not "${given ?? ''}"`);
}

function planOf(values: Values, vocabulary: number): TrainingPlan {
  const whole = (name: Exclude<keyof Values, 'help'>, fallback: number): number => Math.trunc(number(values, name, fallback));
  const shape: DecoderShape = { vocabulary, layers: whole('layers', 5), hidden: whole('hidden', 256), heads: whole('heads', 4), feedForward: whole('feed-forward', 704) };
  if (shape.hidden % (2 * shape.heads) !== 0) throw new RingError('bad_config', '--hidden must be an even number of times --heads');
  return {
    shape, seed: values.seed ?? '1', batchTokens: whole('batch', 4096), shortLength: whole('length', 256), longLength: whole('context', 512),
    totalTokens: whole('tokens', 6_000_000), matrixRate: number(values, 'rate', 0.02), otherRate: number(values, 'table-rate', 0.004), decay: number(values, 'decay', 0.1),
    measureEverySteps: whole('measure-every', 50), deadlineMs: values.minutes === undefined ? Number.POSITIVE_INFINITY : Date.now() + number(values, 'minutes', 1) * MS_PER_MINUTE,
  };
}

function trainerOpener(values: Values, shape: DecoderShape): OpenTrainer {
  const threads = Math.trunc(number(values, 'threads', 1));
  const engine = values.engine ?? 'ggml';
  if (engine === 'ggml') return (batch) => Promise.resolve(new GgmlTrainer(shape, batch, { threads }));
  if (engine === 'torch') return (batch) => TorchTrainer.open(shape, batch, { threads, python: values.python ?? TORCH_PYTHON });
  throw new RingError('bad_config', `--engine is ggml or torch, not "${engine}"`);
}

async function run(values: Values): Promise<void> {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const tokenizerFile = values.tokenizer ?? builtInModelPath();
  if (tokenizerFile === null) throw new RingError('source_missing', 'there is no built-in model to take the tokenizer of; name a GGUF with --tokenizer');
  const vocabulary = openVocabulary(tokenizerFile);
  const parts = cutText(await readText(values.text ?? null));
  const tokenized = (text: string) => ({ tokens: tokenize(vocabulary, text), bytes: Buffer.byteLength(text) });
  const texts: TrainingTexts = {
    bos: vocabulary.bos ?? 0, train: tokenize(vocabulary, parts.train), validation: tokenized(parts.validation), heldOut: tokenized(parts.heldOut),
  };
  const plan = planOf(values, vocabulary.size);
  vocabulary.close();
  say(`text        ${parts.bytes} bytes, SHA-256 ${parts.sha256}`);
  say(`cut         ${texts.train.length} tokens to train, then ${texts.validation.bytes} bytes to pick the best by, the last ${texts.heldOut.bytes} held out`);
  say(`model       ${parameterCount(plan.shape)} parameters: ${JSON.stringify(plan.shape)}`);

  const directory = values.out ?? 'trained';
  await mkdir(directory, { recursive: true });
  const name = values.name ?? 'kjv';
  const checkpointFile = join(directory, 'checkpoint.gguf');
  const bestFile = join(directory, 'best.gguf');
  const facts = { name, shape: plan.shape, contextLength: plan.longLength, tokenizer: await readTokenizer(tokenizerFile) };
  const setting = JSON.stringify({ text: parts.sha256, shape: plan.shape, seed: plan.seed });
  const from = existsSync(checkpointFile) ? await readCheckpoint(checkpointFile, plan.shape) : null;
  if (from !== null && from.progress.setting !== setting) {
    throw new RingError('conflict', `${checkpointFile} is of another text, shape or seed; choose another --out`);
  }
  const start = from?.progress ?? { steps: 0, tokens: 0, bestBitsPerByte: null };
  if (from !== null) say(`goes on     after ${start.steps} steps, ${start.tokens} tokens`);

  let best = start.bestBitsPerByte;
  let stopped = false;
  process.once('SIGINT', () => { stopped = true; });
  process.once('SIGTERM', () => { stopped = true; });
  const begun = Date.now();
  const openTrainer = trainerOpener(values, plan.shape);
  const end = await train({
    plan, texts, openTrainer, start, state: from?.state ?? initialState(plan.shape, plan.seed), stopped: () => stopped,
    onStep: async ({ steps, tokens }, loss) => {
      if (steps % PROGRESS_STEPS === 0) {
        const perSecond = (tokens - start.tokens) / ((Date.now() - begun) / MS_PER_SECOND);
        const leftMinutes = (plan.totalTokens - tokens) / perSecond / SECONDS_PER_MINUTE;
        say(`step ${steps}  ${tokens} tokens  loss ${loss.toFixed(3)}  ${perSecond.toFixed(0)} tokens/s  ${Math.max(0, leftMinutes).toFixed(0)} min left`);
      }
      // Lets signals in between two steps of an engine that computes on this thread.
      await new Promise((resolve) => setImmediate(resolve));
    },
    onMeasured: async ({ steps, tokens, trainLoss, validation, heldOut, windowLength, trainer }) => {
      const state = await readState(trainer, plan.shape);
      const better = best === null || validation < best;
      best = better ? validation : best;
      say(`measured    step ${steps}, windows of ${windowLength}: train ${trainLoss.toFixed(4)} nats a token, validation ${validation.toFixed(4)}, held out ${heldOut.toFixed(4)} bits per byte${better ? ', best' : ''}`);
      const progress: Progress = { setting, steps, tokens, bestBitsPerByte: best };
      if (better) await writeCheckpoint(bestFile, progress, plan.shape, state);
      await writeCheckpoint(checkpointFile, progress, plan.shape, state);
    },
  });
  const picked = await readCheckpoint(bestFile, plan.shape);
  for (const precision of ['f16', 'q8_0'] as const) {
    const file = join(directory, `${name}-${precision}.gguf`);
    await writeModel(file, precision, facts, picked.state);
    say(`wrote       ${file}`);
  }
  const heldOut = await heldOutBits(plan, texts, openTrainer, picked.state);
  say(`picked      step ${picked.progress.steps} of ${end.steps}: ${heldOut.toFixed(4)} bits per byte of the text held out, in windows of ${plan.longLength} that overlap by half`);
  if (end.tokens < plan.totalTokens) say('stopped     before its end: the same command goes on');
}

/** As the model is used: with up to its whole context before each token, and half of it at least but at the beginning. */
async function heldOutBits(plan: TrainingPlan, texts: TrainingTexts, openTrainer: OpenTrainer, state: TrainingState): Promise<number> {
  const batch = { sequences: Math.max(1, Math.floor(plan.batchTokens / plan.longLength)), length: plan.longLength };
  const trainer = await openTrainer(batch);
  try {
    await writeState(trainer, state);
    return await bitsPerByte(trainer, texts.heldOut, batch, { bos: texts.bos, nothing: plan.shape.vocabulary }, Math.floor(plan.longLength / 2));
  } finally {
    await trainer.close();
  }
}
