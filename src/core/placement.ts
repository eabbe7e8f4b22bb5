/**
 * "Which node runs which layers": a deterministic plan, with everything that was left out or shrunk explained.
 *
 * The same table and request give the same plan, to the byte, on every node and whatever the order of the table.
 * Pure. It must not know who asks, how nodes were found, or how a plan is carried out.
 */
import { assignShardBackends, chooseBackend } from './backends.js';
import { balanceTimes } from './balanced-ring.js';
import { nodeBudgets } from './budget.js';
import { nodeSpeeds, ringTokensPerSecond } from './decode-speed.js';
import type { RingStage } from './decode-speed.js';
import { draftBytes, draftProblem } from './draft.js';
import { assert } from './errors.js';
import type { ErrorCode } from './errors.js';
import { preferHeld } from './held-tiling.js';
import { layFastest } from './fastest-ring.js';
import { capacityOn, excessText, isEmpty, noDiskText, tableOn } from './layer-problem.js';
import type { Candidate, LayerProblem, LayerResult, Placed } from './layer-problem.js';
import { layByWeight } from './layer-policies.js';
import { nodeTable } from './node-tables.js';
import { layManually } from './manual-layers.js';
import { libllamaMemory, stageBytes } from './memory-model.js';
import type { MemoryModel, MemoryTable } from './memory-model.js';
import type { PlacementInput, PlacementNode, PlacementResult } from './placement-types.js';
import { parsePrecision, weightStorage } from './precision.js';
import { bytesText, countText } from './quantities.js';
import { spillOf } from './spill.js';
import { nodeDisk } from './stage-disk.js';
import type { HeldShard, ModelShape, NodeId, NodeSettings, Plan, PlanNote, StagePlan } from './types.js';

/** Context when nobody asks, in tokens per slot; never more than the model was trained for. */
export const DEFAULT_CONTEXT_TOKENS = 4096;
/** Context is halved down to this before slots are. */
const MIN_CONTEXT_TOKENS = 512;
const DEFAULT_SLOTS = 8;
/** Limits of what may be asked for: the engine's own number of sequences, and a context that sums stay exact with. */
export const MAX_SLOTS = 256;
export const MAX_CONTEXT_TOKENS = 1 << 24;
/** Nodes in one table. */
const MAX_PLACEMENT_NODES = 4096;

/** A draft is a help, not a condition: where it cannot be, or would cost context, the plan is made without it and says why. */
export function placeModel(input: PlacementInput, memory: MemoryModel = libllamaMemory): PlacementResult {
  const { draft, ...rest } = input;
  const alone = place(rest, memory, MIN_CONTEXT_TOKENS);
  if (draft === undefined || alone.kind === 'impossible') return alone;
  const problem = draft.kind === 'absent' ? draft.reason : draftProblem(input.shape, draft.shape);
  const together = problem === null ? place(input, memory, alone.plan.contextTokens) : null;
  if (together?.kind === 'plan') return together;
  const name = draft.kind === 'shape' ? draft.shape.name : '';
  const text = `served without a draft: ${problem ?? `beside the model and its context there is no room for ${name}`}`;
  return { ...alone, plan: { ...alone.plan, explanation: [...alone.plan.explanation, { nodeId: null, text }] } };
}

/** `leastContextTokens`: a context that nobody asked for is not smaller. */
function place(input: PlacementInput, memory: MemoryModel, leastContextTokens: number): PlacementResult {
  assert(input.nodes.length <= MAX_PLACEMENT_NODES, 'a table has a bounded number of nodes');
  const { shape } = input;
  const excluded = [...input.excluded].sort(byNode);
  if (shape.unsupportedReason !== null) {
    return impossible('unsupported_architecture', `model ${shape.name} cannot run here: ${shape.unsupportedReason}`, excluded);
  }
  const wrong = requestProblem(input);
  if (wrong !== null) return impossible('bad_request', wrong, excluded);
  const nodes = input.ordered ? input.nodes : [...input.nodes].sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
  if (nodes.length === 0) return impossible('no_placement', 'no node can take part: the cluster has none that is alive and usable', excluded);
  const labels = nodeLabels(nodes);
  const budgets = nodeBudgets(nodes, shape.supportedBackends, labels);
  if (budgets.kind === 'missing_device') return impossible('backend_missing', budgets.message, excluded);
  const speeds = speedWeights(nodes);
  const decodeSpeeds = nodeSpeeds(nodes, budgets.budgets, shape, input.request.activations);
  const candidates = budgets.budgets.map((budget, index): Candidate => {
    const speed = decodeSpeeds?.[index];
    const settings = nodes[index]?.settings;
    return {
      label: labels.get(budget.nodeId) ?? budget.nodeId,
      budget,
      weight: input.request.policy === 'throughput' ? speeds.weights[index] ?? 1 : budget.budgetBytes,
      pin: settings?.layers ?? null,
      ...(settings === undefined ? {} : { settings }),
      ...(speed === undefined ? {} : { speed }),
      ...(nodes[index] === undefined ? {} : { disk: nodeDisk(nodes[index], shape) }),
    };
  });
  const notes = [...excluded, ...budgets.notes, ...(input.request.policy === 'throughput' ? speeds.notes : [])];
  if (wantsFastest(input) && input.request.nodes === null && decodeSpeeds === null && nodes.length > 1) {
    notes.push({ nodeId: null, text: 'no speed was measured yet: layers are shared out by memory' });
  }
  return placeCandidates(input, memory, { candidates, leastContextTokens }, notes);
}

/** Tries context and slots from the wanted size down until something fits. */
function placeCandidates(
  input: PlacementInput, memory: MemoryModel, { candidates, leastContextTokens }: { readonly candidates: readonly Candidate[]; readonly leastContextTokens: number }, notes: readonly PlanNote[],
): PlacementResult {
  const { shape, request } = input;
  const refusedSizes = new Set(shape.refusedStageLayers.map((refused) => refused.layers));
  const lay = (size: ContextSize): SizedResult => {
    const options = { ...size, keyType: input.keyType, valueType: input.valueType };
    const table = memory(shape, options);
    const cpuTable = memory(shape, { ...options, onCpu: true });
    const reservedBytes = input.draft?.kind === 'shape' ? draftBytes(input.draft.shape, size, memory) : 0;
    const problem: LayerProblem = {
      shape, table, refusedSizes, policy: request.policy, nodes: request.nodes, ordered: input.ordered,
      candidates: candidates.map((candidate) => {
        const ownMemory = candidate.budget.hostBytes !== null;
        const onCpu = chooseBackend(candidate.budget.backends, shape.supportedBackends) === 'cpu';
        return withTable(keepingFree(candidate, reservedBytes), nodeTable({ shape, settings: candidate.settings, ownMemory, options: { ...options, onCpu } }, memory) ?? (onCpu ? cpuTable : undefined));
      }),
    };
    const fastest = wantsFastest(input) ? layFastest(problem) : null;
    if (fastest !== null) return { size, problem, reservedBytes, result: fastest };
    const result = request.policy === 'manual' ? layManually(problem) : layByWeight(problem);
    return { size, problem, reservedBytes, result: wantsEvenTimes(input) && result.kind === 'laid' ? evened(problem, result) : result };
  };
  const ladder = contextLadder(input, leastContextTokens);
  const wanted = ladder[0];
  const least = ladder.at(-1);
  assert(wanted !== undefined && least !== undefined, 'the ladder has at least one step');
  let found = lay(wanted);
  // What fails with the least fails with everything between: two tries decide that nothing fits.
  if (found.result.kind === 'failed' && found.result.memory && ladder.length > 1) {
    const last = lay(least);
    found = last;
    for (const size of last.result.kind === 'laid' ? ladder.slice(1, -1) : []) {
      const between = lay(size);
      if (between.result.kind === 'failed') continue;
      found = between;
      break;
    }
  }
  const { size, problem, reservedBytes, result } = found;
  if (result.kind === 'failed') return impossible(result.code, result.message, notes);
  const placed = request.policy === 'manual' || input.ordered ? result.placed : preferHeld(problem, result.placed, shardsByNode(input));
  const held = placed === result.placed ? [] : [{ nodeId: null, text: 'cut where the nodes already hold their layers on disk' }];
  const all = [...notes, ...contextNotes(shape, wanted, size), ...result.notes, ...held, ...leftOutNotes(problem, placed), ...draftNotes(input, reservedBytes)];
  const plan = planOf(input, problem, size, placed, all);
  const draft = input.draft?.kind === 'shape' ? { draft: { model: heldModelOf(input.draft.shape), predictedBytes: reservedBytes } } : {};
  return { kind: 'plan', plan: { ...plan, ...draft }, ...(result.options === undefined ? {} : { options: result.options }) };
}

/** Any node may come to be the head, which has the draft beside its stage, on the same device. */
function keepingFree(candidate: Candidate, bytes: number): Candidate {
  if (bytes === 0) return candidate;
  const { budget } = candidate;
  const left = (of: number): number => Math.max(0, of - bytes);
  return { ...candidate, budget: { ...budget, budgetBytes: left(budget.budgetBytes), spillAboveBytes: budget.spillAboveBytes === null ? null : left(budget.spillAboveBytes) } };
}

function withTable(candidate: Candidate, table: MemoryTable | undefined): Candidate {
  return table === undefined ? candidate : { ...candidate, table };
}

function shardsByNode({ nodes, shape }: PlacementInput): ReadonlyMap<NodeId, readonly HeldShard[]> {
  return new Map(nodes.map(({ nodeId, capabilities }) => [nodeId, capabilities.shards.filter((shard) => shard.modelDigest === shape.identity.digest)] as const));
}

/** Where people left the choice of nodes to us, or want one alone; an order, pins or a number of nodes are theirs. */
function wantsFastest({ request, ordered, nodes }: PlacementInput): boolean {
  return request.policy === 'auto' && (request.nodes === null || request.nodes === 1) && !ordered && nodes.every((node) => node.settings?.layers === undefined);
}

/** Where people said how many nodes, and left the rest to us. */
function wantsEvenTimes({ request, ordered, nodes }: PlacementInput): boolean {
  return request.policy === 'auto' && request.nodes !== null && request.nodes > 1 && !ordered && nodes.every((node) => node.settings?.layers === undefined);
}

function evened(problem: LayerProblem, result: Extract<LayerResult, { kind: 'laid' }>): LayerResult {
  const placed = balanceTimes(problem, result.placed);
  if (placed === result.placed) return result;
  return { ...result, placed, notes: [...result.notes, { nodeId: null, text: 'cut so that no stage takes much longer than another: many answers go at the pace of the slowest' }] };
}

interface SizedResult {
  readonly size: ContextSize;
  readonly problem: LayerProblem;
  /** Left free on every node for the draft. */
  readonly reservedBytes: number;
  readonly result: LayerResult;
}

function requestProblem({ request }: PlacementInput): string | null {
  const bounds = [['context', request.contextTokens, MAX_CONTEXT_TOKENS], ['slots', request.slots, MAX_SLOTS]] as const;
  for (const [what, value, most] of bounds) {
    if (value !== null && !(Number.isInteger(value) && value >= 1 && value <= most)) return `${what} must be a whole number from 1 to ${most}, not ${value}`;
  }
  return null;
}

interface ContextSize {
  readonly contextTokens: number;
  readonly slots: number;
}

/** First the wanted size, then ever smaller ones. What was asked for explicitly stays. */
function contextLadder(input: PlacementInput, leastContextTokens: number): readonly ContextSize[] {
  const { request, shape } = input;
  const wanted = {
    contextTokens: request.contextTokens ?? Math.min(shape.trainedContext > 0 ? shape.trainedContext : DEFAULT_CONTEXT_TOKENS, DEFAULT_CONTEXT_TOKENS),
    slots: request.slots ?? DEFAULT_SLOTS,
  };
  const ladder: ContextSize[] = [wanted];
  let { contextTokens, slots } = wanted;
  while (request.contextTokens === null && contextTokens > leastContextTokens) {
    contextTokens = Math.max(leastContextTokens, Math.floor(contextTokens / 2));
    ladder.push({ contextTokens, slots });
  }
  while (request.slots === null && slots > 1) {
    slots = Math.floor(slots / 2);
    ladder.push({ contextTokens, slots });
  }
  return ladder;
}

function contextNotes(shape: ModelShape, wanted: ContextSize, used: ContextSize): readonly PlanNote[] {
  const notes: PlanNote[] = [];
  if (shape.trainedContext > 0 && used.contextTokens > shape.trainedContext) {
    notes.push({ nodeId: null, text: `context of ${used.contextTokens} tokens is beyond the ${shape.trainedContext} that the model was trained for` });
  }
  if (used.contextTokens < wanted.contextTokens) {
    notes.push({ nodeId: null, text: `context shrunk from ${wanted.contextTokens} to ${used.contextTokens} tokens per slot: more does not fit` });
  }
  if (used.slots < wanted.slots) {
    notes.push({ nodeId: null, text: `slots shrunk from ${wanted.slots} to ${used.slots}: more do not fit` });
  }
  return notes;
}

function planOf(
  input: PlacementInput, problem: LayerProblem, size: ContextSize, placed: readonly Placed[], notes: readonly PlanNote[],
): Plan {
  const used = placed.filter(({ range }) => !isEmpty(range));
  const stages = used.map(({ candidate, range }, rank): StagePlan => {
    const { budget, settings } = candidate;
    const table = tableOn(problem, candidate);
    const spill = budget.spillAboveBytes === null ? null : spillOf(table, range, budget.spillAboveBytes);
    return {
      rank, nodeId: budget.nodeId, range, predictedBytes: stageBytes(table, range).total, ...(spill === null ? {} : { spill }),
      ...precisionOf(settings),
      ...(settings?.keyValueCache === undefined ? {} : { keyValueCache: settings.keyValueCache }),
    };
  });
  for (const [index, stage] of stages.entries()) {
    assert(stage.range.start === (stages[index - 1]?.range.end ?? 0), 'stages tile the layers');
    const candidate = used[index]?.candidate;
    assert(candidate !== undefined && excessText(problem, candidate, stage.range) === null, 'a stage stays within its budget');
  }
  assert(stages.at(-1)?.range.end === input.shape.layers, 'stages reach the last layer');
  const nodeBackends = new Map(used.map(({ candidate }) => [candidate.budget.nodeId, candidate.budget.backends] as const));
  const predicted = predictedSpeed(problem, used);
  const backends = assignShardBackends(stages, nodeBackends, input.shape.supportedBackends);
  const spills = stages.flatMap((stage, index) => {
    const candidate = used[index]?.candidate;
    const cacheBytes = candidate === undefined ? 0 : stageBytes(tableOn(problem, candidate), stage.range).cache;
    return [...spillNotes(stage), ...precisionNotes(stage), ...cacheNotes(stage, cacheBytes)];
  });
  return {
    planId: input.planId,
    instanceId: input.instanceId,
    model: heldModelOf(input.shape),
    stages: backends.stages,
    contextTokens: size.contextTokens,
    slots: size.slots,
    keyType: input.keyType,
    valueType: input.valueType,
    ...(input.request.activations === undefined || input.request.activations === 'f32' ? {} : { activations: input.request.activations }),
    ...(predicted === null ? {} : { predictedTokensPerSecond: predicted }),
    explanation: [...notes, ...backends.notes, ...spills],
  };
}

function draftNotes({ draft, nodes }: PlacementInput, bytes: number): readonly PlanNote[] {
  if (draft?.kind !== 'shape' || nodes.length < 2) return [];
  return [{ nodeId: null, text: `${bytesText(bytes)} are left free on every node for the draft ${draft.shape.name}, which runs beside the first stage` }];
}

function predictedSpeed(problem: LayerProblem, used: readonly Placed[]): number | null {
  const stages = used.flatMap(({ candidate, range }): RingStage[] => (candidate.speed === undefined ? [] : [{
    table: tableOn(problem, candidate), budget: candidate.budget, speed: candidate.speed, range, recomputes: candidate.settings?.keyValueCache === 'none',
  }]));
  return stages.length < used.length ? null : ringTokensPerSecond(problem.shape, stages);
}

function precisionNotes({ nodeId, precision }: StagePlan): readonly PlanNote[] {
  const parsed = precision === undefined ? null : parsePrecision(precision);
  const storage = parsed === null ? null : weightStorage(parsed);
  if (parsed === null || storage === null) return [];
  return [{ nodeId, text: `its layers' matrices are converted to ${parsed.name}${storage === parsed.name ? '' : `, rounded to its grid and stored as ${storage}`}` }];
}

function cacheNotes({ nodeId, keyValueCache }: StagePlan, cacheBytes: number): readonly PlanNote[] {
  if (keyValueCache === 'host') return [{ nodeId, text: `keeps keys and values in host memory: ${bytesText(cacheBytes)}` }];
  if (keyValueCache === 'none') return [{ nodeId, text: 'keeps no keys and values: it computes every sequence from its start again, with every step' }];
  return [];
}

/** What the stage's weights are converted to; nothing where they stay as stored. */
function precisionOf(settings: NodeSettings | undefined): Pick<StagePlan, 'precision'> {
  const precision = settings?.precision === undefined ? null : parsePrecision(settings.precision);
  return precision === null || weightStorage(precision) === null ? {} : { precision: precision.name };
}

function heldModelOf(shape: ModelShape): Plan['model'] {
  return {
    ...shape.identity, name: shape.name, architecture: shape.architecture, layers: shape.layers,
    ...(shape.source === undefined ? {} : { source: shape.source }),
  };
}

function spillNotes({ nodeId, range, predictedBytes, spill }: StagePlan): readonly PlanNote[] {
  if (spill === undefined) return [];
  const layers = `${spill.hostLayers} of ${countText(range.end - range.start, 'layer')}`;
  return [{ nodeId, text: `spills ${layers} to host memory, ${bytesText(spill.hostBytes)} of ${bytesText(predictedBytes)}: the device takes no more` }];
}

/** Every node that got no layers, with the reason. */
function leftOutNotes(problem: LayerProblem, placed: readonly Placed[]): readonly PlanNote[] {
  const { shape } = problem;
  return placed.filter(({ range }) => isEmpty(range)).map(({ candidate }): PlanNote => {
    const { nodeId, budgetBytes } = candidate.budget;
    const unit = { start: 0, end: Math.min(shape.layers, Math.max(1, shape.cutPeriod)) };
    if (budgetBytes === 0) return { nodeId, text: 'left out: it has no memory to spare after the reserve' };
    const noDisk = noDiskText(candidate, shape);
    if (noDisk !== null) return { nodeId, text: noDisk };
    // A middle stage is the least that a node may be asked for.
    const least = capacityOn(problem, candidate, { start: 1, end: shape.layers - 1 });
    if (least < unit.end) {
      return { nodeId, text: `left out: its budget of ${bytesText(budgetBytes)} is below the smallest stage of this model` };
    }
    return { nodeId, text: `left out: its share of the ${shape.layers} layers is less than the smallest stage` };
  });
}

interface SpeedWeights {
  readonly weights: readonly number[];
  readonly notes: readonly PlanNote[];
}

/** Steps of 0.001 GFLOP/s: weights are integers, so that their sum has no order. */
const SPEED_STEPS = 1000;
/** A figure above this is a mistake. */
const MAX_GFLOPS = 1e9;

/** Measured speed as integers; a node that was not measured counts as the slowest one that was. */
function speedWeights(nodes: readonly PlacementNode[]): SpeedWeights {
  const speeds = nodes.map(({ capabilities: { gflops } }) => (gflops !== null && gflops >= 0 && gflops <= MAX_GFLOPS ? gflops : null));
  const slowest = speeds.reduce<number | null>((least, speed) => (speed === null ? least : Math.min(least ?? speed, speed)), null) ?? 1;
  const weights = speeds.map((speed) => Math.round(Math.max(speed ?? slowest, 1) * SPEED_STEPS));
  const notes = nodes.map(({ nodeId }, index): PlanNote => {
    const speed = speeds[index] ?? null;
    return {
      nodeId,
      text: speed === null
        ? `speed not measured: counted as ${Math.max(slowest, 1).toFixed(1)} GFLOP/s, like the slowest node that was`
        : `speed ${speed.toFixed(1)} GFLOP/s`,
    };
  });
  return { weights, notes };
}

/** Hostnames; two nodes of one hostname get the end of their ids too. */
function nodeLabels(nodes: readonly { readonly nodeId: NodeId; readonly capabilities: { readonly hostname: string } }[]): ReadonlyMap<NodeId, string> {
  const counts = new Map<string, number>();
  for (const { capabilities } of nodes) counts.set(capabilities.hostname, (counts.get(capabilities.hostname) ?? 0) + 1);
  return new Map(nodes.map(({ nodeId, capabilities: { hostname } }) => {
    if (hostname === '') return [nodeId, nodeId] as const;
    return [nodeId, counts.get(hostname) === 1 ? hostname : `${hostname} (…${nodeId.slice(-6)})`] as const;
  }));
}

function byNode(a: PlanNote, b: PlanNote): number {
  const left = a.nodeId ?? '';
  const right = b.nodeId ?? '';
  if (left !== right) return left < right ? -1 : 1;
  if (a.text === b.text) return 0;
  return a.text < b.text ? -1 : 1;
}

function impossible(code: ErrorCode, message: string, notes: readonly PlanNote[]): PlacementResult {
  return { kind: 'impossible', code, message, notes };
}
