/**
 * `npm run bench`: libllama on the whole file in one process (the floor) and rings of agents on this machine, side by
 * side in one run. Every round measures every configuration once, each alone on the machine, in an order that rotates;
 * medians and ratios within the rounds go into one table and `.bench/result.json`.
 */
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { errorMessageOf } from '../../src/core/errors.js';
import type { Plan } from '../../src/core/types.js';
import { generateBenchModel } from '../generate-model.js';
import { measureCaches } from './caches.js';
import { drawLines, measureDraws, VOCABULARIES } from './draws.js';
import { Floor } from './floor.js';
import { formatLines, measureFormats } from './formats.js';
import { measurePlanning } from './planning.js';
import { idleRunnerBytes } from './process-memory.js';
import { reportLines } from './report.js';
import type { BenchResult, FloorSample, SlotSample } from './report.js';
import { measureRing, withRing } from './ring.js';
import type { RingOptions, RingSample } from './ring.js';
import { servingPlot } from './plot.js';
import { delayLines, measureDelay } from './delays.js';
import type { DelaySample } from './delays.js';
import { measureServing } from './serving.js';
import type { ServingRound } from './serving.js';
import { medianRates, servingLines } from './serving-table.js';
import { packageDirectory, readSettings, USAGE } from './settings.js';
import type { BenchSettings } from './settings.js';

/** A batch of four beside one with holes between its slots, out of eight. */
const SLOT_SETS = [[0, 1, 2, 3], [0, 2, 4, 6]] as const;
const SLOT_COUNT = 8;
const SLOT_STEPS = 24;
const SLOT_CONTEXT_TOKENS = 256;
const WARM_UP_TOKENS = 8;
/** Milliseconds one way, and how often both ways of answering are compared there. */
const DELAYS = [[0, 3], [0.5, 3], [2, 3], [5, 7]] as const;

type CacheTypes = Pick<Plan, 'keyType' | 'valueType'>;

/** Ids spread over the vocabulary, the same in every run. */
function promptOf(length: number, vocabularySize: number): readonly number[] {
  return Array.from({ length }, (_, index) => (7919 * (index + 1)) % Math.max(2, vocabularySize - 1) + 1);
}

async function benchModel(directory: string): Promise<string> {
  const file = join(directory, 'bench-1b-q4_0.gguf');
  if (existsSync(file)) return file;
  say(`making ${file}`);
  await generateBenchModel(`${file}.partial`);
  await rename(`${file}.partial`, file);
  return file;
}

/** The cache types that the planner chooses: the floor runs with the same. Also makes the ring's first files. */
async function plannedCacheTypes(options: RingOptions): Promise<CacheTypes> {
  return withRing(options, async (first) => {
    // The agent's own answer, of this same version.
    const plan = await (await first.call('POST', '/v1/cluster/plan', { model: options.model, nodes: options.agents })).json() as Plan;
    return { keyType: plan.keyType, valueType: plan.valueType };
  });
}

interface FloorSetup extends CacheTypes {
  readonly modelFile: string;
  readonly settings: BenchSettings;
}

async function measureFloor({ modelFile, settings, ...types }: FloorSetup, prompts: { readonly long: readonly number[]; readonly short: readonly number[] }): Promise<FloorSample> {
  const { floor, opened } = await Floor.open({ modelFile, threads: settings.threads, contextTokens: settings.contextTokens, slots: 1, ...types });
  try {
    await floor.sequence(prompts.short, WARM_UP_TOKENS);
    const prefill = await floor.sequence(prompts.long, 1);
    const decode = await floor.sequence(prompts.short, settings.decodeTokens);
    return {
      decodeTokensPerSecond: ((settings.decodeTokens - 1) * 1000) / decode.decodeMs,
      prefillTokensPerSecond: (prompts.long.length * 1000) / prefill.firstTokenMs,
      firstTokenMs: decode.firstTokenMs,
      residentBytes: opened.residentBytes,
    };
  } finally {
    await floor.close();
  }
}

async function measureSlots({ modelFile, settings, ...types }: FloorSetup): Promise<{ readonly samples: readonly SlotSample[]; readonly vocabularySize: number }> {
  const { floor, opened } = await Floor.open({ modelFile, threads: settings.threads, contextTokens: SLOT_CONTEXT_TOKENS, slots: SLOT_COUNT, ...types });
  try {
    const samples: SlotSample[] = [];
    for (const slots of SLOT_SETS) {
      const { ms, engineCalls } = await floor.batch(slots, SLOT_STEPS);
      samples.push({ slots, tokensPerSecond: (slots.length * SLOT_STEPS * 1000) / ms, engineCallsPerStep: engineCalls / SLOT_STEPS });
    }
    return { samples, vocabularySize: opened.vocabularySize };
  } finally {
    await floor.close();
  }
}

async function bench(settings: BenchSettings): Promise<BenchResult> {
  const loadAverageAtStart = loadavg()[0] ?? 0;
  const root = packageDirectory();
  const directory = join(root, '.bench');
  await mkdir(directory, { recursive: true });
  const modelFile = settings.model ?? await benchModel(directory);
  const model = basename(modelFile).replace(/\.gguf$/i, '');
  const idleBytes = await idleRunnerBytes(root);
  const ring = (agents: number): RingOptions => ({
    agents, settings, packageDirectory: root, stateRoot: join(directory, 'state', model), modelFile, model, idleRunnerBytes: idleBytes,
  });

  for (const { nodes, layers, ms, limitMs } of measurePlanning()) say(`a plan for ${nodes} nodes and ${layers} layers takes ${ms.toFixed(1)} ms (aim: ${limitMs})`);
  say('a first ring, for its settings');
  const setup = { modelFile, settings, ...await plannedCacheTypes(ring(1)) };
  say(`slots with and without holes (KV ${setup.keyType}/${setup.valueType})`);
  const slots = await measureSlots(setup);
  say('keys and values nowhere, in host memory, on the device');
  const caches = await measureCaches({ ...setup, threads: settings.threads });
  // They begin differently: a known beginning would not be computed again.
  const prompts = { long: promptOf(settings.prefillTokens, slots.vocabularySize), short: [...promptOf(settings.promptTokens, slots.vocabularySize)].reverse() };

  const floor: FloorSample[] = [];
  const rings = settings.rings.map((agents) => ({ agents, samples: new Array<RingSample>() }));
  const turns: (() => Promise<void>)[] = [
    async () => {
      say('floor');
      floor.push(await measureFloor(setup, prompts));
    },
    ...rings.map(({ agents, samples }) => async () => {
      say(`ring of ${agents}`);
      samples.push(await measureRing(ring(agents), prompts));
    }),
  ];
  for (let round = 0; round < settings.rounds; round += 1) {
    say(`round ${round + 1} of ${settings.rounds}`);
    for (const offset of turns.keys()) await turns[(round + offset) % turns.length]?.();
  }
  return {
    model, threads: settings.threads, cores: availableParallelism(), rounds: settings.rounds, loadAverageAtStart, floor, rings, slots: slots.samples, caches,
  };
}

function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

/** Rings on one core and on two, in turns; table, figures and picture. */
async function benchServing(settings: BenchSettings): Promise<void> {
  const load = (loadavg()[0] ?? 0).toFixed(2);
  const options = await pinnedOptions(settings);
  const rounds: ServingRound[] = [];
  for (let round = 0; round < settings.rounds; round += 1) {
    say(`round ${round + 1} of ${settings.rounds}`);
    rounds.push(await measureServing(options, round, say));
    const file = join(options.packageDirectory, '.bench', 'serving.json');
    await writeFile(file, `${JSON.stringify(rounds, null, 2)}\n`);
  }
  const picture = join(options.packageDirectory, '.bench', 'serving.svg');
  await writeFile(picture, servingPlot(medianRates(rounds), `decode, tokens per second; ${options.model}`));
  process.stdout.write(`load ${load} at the start; medians of ${rounds.length} round(s)\n\n${servingLines(rounds).join('\n')}\n\n${join(options.packageDirectory, '.bench', 'serving.json')}\n${picture}\n`);
}

/** Two nodes with slower and slower links. */
async function benchDelays(settings: BenchSettings): Promise<void> {
  const load = (loadavg()[0] ?? 0).toFixed(2);
  const options = await pinnedOptions(settings);
  const samples: DelaySample[] = [];
  for (const [delayMs, runs] of DELAYS) {
    if (settings.only !== null && !settings.only.has(String(delayMs))) continue;
    say(`two nodes, ${delayMs} ms apart`);
    samples.push(await measureDelay(options, delayMs, runs));
  }
  const file = join(options.packageDirectory, '.bench', 'delays.json');
  await writeFile(file, `${JSON.stringify(samples, null, 2)}\n`);
  process.stdout.write(`load ${load} at the start\n\n${delayLines(samples).join('\n')}\n\n${file}\n`);
}

async function pinnedOptions(settings: BenchSettings): Promise<Omit<RingOptions, 'agents' | 'slots' | 'cores'>> {
  const root = packageDirectory();
  const directory = join(root, '.bench');
  await mkdir(directory, { recursive: true });
  const modelFile = settings.model ?? await benchModel(directory);
  const model = basename(modelFile).replace(/\.gguf$/i, '');
  return { settings, packageDirectory: root, stateRoot: join(directory, 'state', `${model}-serving`), modelFile, model, idleRunnerBytes: null };
}

try {
  if (process.argv.includes('--help')) {
    process.stdout.write(`${USAGE}\n`);
    process.exit(0);
  }
  const settings = readSettings(process.argv.slice(2));
  if (settings.serving) {
    await benchServing(settings);
  } else if (settings.delays) {
    await benchDelays(settings);
  } else if (settings.draws) {
    process.stdout.write(`${drawLines(measureDraws(VOCABULARIES)).join('\n')}\n`);
  } else if (settings.perplexity) {
    const result = await measureFormats(settings.model, packageDirectory(), say);
    const file = join(packageDirectory(), '.bench', 'perplexity.json');
    await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
    process.stdout.write(`${formatLines(result).join('\n')}\n\n${file}\n`);
  } else {
    const result = await bench(settings);
    const file = join(packageDirectory(), '.bench', 'result.json');
    await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
    process.stdout.write(`${reportLines(result).join('\n')}\n\n${file}\n`);
  }
} catch (error) {
  process.stderr.write(`bench: ${errorMessageOf(error)}\n`);
  process.exitCode = 1;
}
