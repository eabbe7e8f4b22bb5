/**
 * The cluster, a plan and models as plain text for a terminal, within 80 columns: a table of long names leaves out what
 * JSON still has.
 *
 * Pure: data in, text out, no colour, no terminal. Names and messages come from other machines, so control characters
 * are taken out of them: a node must not be able to move somebody else's cursor. Bytes are decimal, layers are shown
 * as people count them, first to last. It must not know how the data was obtained.
 */
import Table from 'cli-table3';
import type { ClusterStatus, DraftView, InstanceView, ModelView, NodeView, StageView } from '../agent/service.js';
import { durationText, FOR_EVER_MS } from '../core/instance-life.js';
import type { ActivationType, Backend, LayerRange, NodeId, Plan, PlanNote, Term, Spill } from '../core/types.js';

/** The widest that a line gets. */
export const RENDER_COLUMNS = 80;
const TEXT_COLUMNS = RENDER_COLUMNS;

const NAME_COLUMNS = 16;
const BACKENDS_COLUMNS = 18;
/** Of one node, in one line. */
const MAX_LINKS_SHOWN = 8;
const MODEL_COLUMNS = 32;
/** The end of a peer id tells nodes apart; its beginning is the same for all. */
const SHORT_ID_LENGTH = 6;
const DIGEST_SHOWN = 8;
const ARROW = ' ─▶ ';
const NOTHING = '-';

/** `agent status`. */
export function renderStatus(status: ClusterStatus): string {
  const names = nodeNames(status.nodes);
  const sections = [renderHeading(status, names), renderNodes(status.nodes, names)];
  const problems = status.nodes.filter((node) => node.problem !== null);
  if (problems.length > 0) {
    sections.push(problems.map((node) => listItem(`${nameOf(names, node.nodeId)}: ${node.problem ?? ''}`)).join('\n'));
  }
  const facts = status.nodes.flatMap((node) => nodeFacts(node, names));
  if (facts.length > 0) sections.push(facts.map(listItem).join('\n'));
  if (status.instances.length === 0) sections.push('No model is loaded: the first request for one loads it.');
  for (const instance of status.instances) sections.push(renderInstance(instance, names));
  return sections.join('\n\n');
}

/** `agent plan`. Nodes give their names; one that is not among them is shown by its id. */
export function renderPlan(plan: Plan, nodes: readonly NodeView[]): string {
  const names = nodeNames(nodes);
  const { model } = plan;
  const total = plan.stages.reduce((sum, stage) => sum + stage.predictedBytes, 0);
  const rows = plan.stages.map((stage) => [
    String(stage.rank), nameOf(names, stage.nodeId), shortId(stage.nodeId), layersText(stage.range), backendText(stage),
    bytesText(stage.predictedBytes),
  ]);
  const sections = [
    [
      `${clip(model.name, MODEL_COLUMNS)}: ${clean(model.architecture)}, ${counted(model.layers, 'layer')}, ${bytesText(model.sizeBytes)}`,
      wrap([counted(plan.stages.length, 'stage'), slotsText(plan), `KV ${plan.keyType}/${plan.valueType}`, ...activationsText(plan), `${bytesText(total)} predicted`].join(', '), ''),
      ...(plan.draft === undefined ? [] : [wrap(`draft ${clip(plan.draft.model.name, MODEL_COLUMNS)} beside the first stage, ${bytesText(plan.draft.predictedBytes)} predicted`, '')]),
      ...(plan.predictedTokensPerSecond === undefined ? [] : [`${paceText(plan.predictedTokensPerSecond)} predicted for one answer alone`]),
    ].join('\n'),
    ringText(plan.stages, names),
    renderTable(['Rank', 'Node', 'Id', 'Layers', 'Backend', 'Predicted'], rows, [0, 5]),
  ];
  if (plan.explanation.length > 0) sections.push(notesText(plan.explanation, names));
  return sections.join('\n\n');
}

/** `agent models`. */
export function renderModels(models: readonly ModelView[]): string {
  if (models.length === 0) return 'No node of the cluster holds a model.';
  const rows = models.map((model) => [
    clip(model.name, MODEL_COLUMNS), clip(model.architecture, NAME_COLUMNS), String(model.layers), bytesText(model.sizeBytes),
    model.trainedContext === undefined ? NOTHING : grouped(model.trainedContext), model.heldBy.length === 0 ? 'web' : counted(model.heldBy.length, 'node'),
    model.loaded ? 'yes' : 'no', model.digest.slice(0, DIGEST_SHOWN),
  ]);
  return renderTable(['Model', 'Architecture', 'Layers', 'Size', 'Context', 'Held by', 'Loaded', 'Digest'], rows, [2, 3, 4], [7, 1]);
}

/** The stages in ring order, from the head back to it: `mac 0-15 ─▶ pc 16-31 ─▶ (mac)`. Wrapped between nodes. */
function ringText(
  stages: readonly { readonly nodeId: NodeId; readonly range: LayerRange }[],
  names: ReadonlyMap<NodeId, string>,
): string {
  const head = stages[0];
  if (head === undefined) return 'no stages';
  const stops = stages.map((stage) => `${nameOf(names, stage.nodeId)} ${layersText(stage.range)}`);
  if (stops.length > 1) stops.push(`(${nameOf(names, head.nodeId)})`);
  const lines: string[] = [];
  let line = stops[0] ?? '';
  for (const stop of stops.slice(1)) {
    if (line.length + ARROW.length + stop.length + ARROW.length <= TEXT_COLUMNS) {
      line += ARROW + stop;
    } else {
      lines.push(line + ARROW.trimEnd());
      line = `  ${stop}`;
    }
  }
  return [...lines, line].join('\n');
}

function nodeNames(nodes: readonly NodeView[]): ReadonlyMap<NodeId, string> {
  return distinctNames(nodes.map(({ nodeId, capabilities }) => ({ nodeId, hostname: capabilities?.hostname ?? '' })));
}

/** Host names, with the end of the id where two nodes share one (several agents on one machine). */
export function distinctNames(nodes: readonly { readonly nodeId: NodeId; readonly hostname: string }[]): ReadonlyMap<NodeId, string> {
  const hostnames = nodes.map(({ hostname }) => clip(hostname, NAME_COLUMNS));
  return new Map(nodes.map(({ nodeId }, index) => {
    const hostname = hostnames[index] ?? '';
    if (hostname === '') return [nodeId, shortId(nodeId)];
    const shared = hostnames.indexOf(hostname) !== hostnames.lastIndexOf(hostname);
    if (!shared) return [nodeId, hostname];
    return [nodeId, `${clip(hostname, NAME_COLUMNS - SHORT_ID_LENGTH - 1)}/${shortId(nodeId)}`];
  }));
}

function renderHeading(status: ClusterStatus, names: ReadonlyMap<NodeId, string>): string {
  const coordinator = status.coordinator === null ? 'no coordinator yet' : `coordinator ${nameOf(names, status.coordinator)}`;
  const able = status.nodes.filter((node) => node.problem === null).length;
  const others = able === status.nodes.length ? '' : ` and ${status.nodes.length - able} that cannot take part`;
  const lines = [wrap(`Cluster ${clip(status.cluster, MODEL_COLUMNS)}: ${counted(able, 'node')}${others}, ${coordinator}${termText(status.term, names)}`, '')];
  if (!status.secured) {
    lines.push('Open: any agent on this network may join. To close it, run `agent secret` and', 'start every agent with --secret-file.');
  }
  return lines.join('\n');
}

function termText(term: Term | null, names: ReadonlyMap<NodeId, string>): string {
  return term === null ? '' : `, term ${term.counter} of ${nameOf(names, term.node)}`;
}

function renderNodes(nodes: readonly NodeView[], names: ReadonlyMap<NodeId, string>): string {
  const rows = nodes.map((node) => {
    const known = node.capabilities;
    const roles = [...(node.coordinator ? ['coordinator'] : []), ...(node.self ? ['self'] : [])];
    return [
      nameOf(names, node.nodeId), shortId(node.nodeId), node.state, backendsText(node),
      known === null ? NOTHING : memoryText(known.ramAvailableBytes, known.ramTotalBytes),
      known === null ? NOTHING : String(known.cores), roles.join(', '),
    ];
  });
  return renderTable(['Node', 'Id', 'State', 'Backends', 'Memory free', 'Cores', 'Role'], rows, [4, 5], [5, 1, 3]);
}

/** Device memory is named where it is not the host's. */
function backendsText(node: NodeView): string {
  if (node.capabilities === null) return NOTHING;
  const { backends, devices } = node.capabilities;
  const texts = backends.map((backend) => {
    const own = devices.filter((device) => device.backend === backend && !device.unified && backend !== 'cpu');
    const bytes = own.reduce((sum, device) => sum + device.memoryTotalBytes, 0);
    return bytes > 0 ? `${backend} ${bytesText(bytes)}` : backend;
  });
  return clip(texts.join(', '), BACKENDS_COLUMNS);
}

function renderInstance(instance: InstanceView, names: ReadonlyMap<NodeId, string>): string {
  const load = instance.activeSequences === null
    ? []
    : [`${instance.activeSequences} running, ${instance.queuedSequences ?? 0} waiting`];
  const facts = [instance.state, ...stayText(instance), ...(instance.slots > 0 ? [slotsText(instance)] : []), ...activationsText(instance), ...load];
  const lines = [wrap(`${clip(instance.model, MODEL_COLUMNS)}: ${facts.join(', ')}`, '')];
  if (instance.reason !== '') lines.push(wrap(clean(instance.reason), '  '));
  if (instance.draft !== undefined) lines.push(draftText(instance.draft));
  const parts = [lines.join('\n')];
  if (instance.stages.length > 0) {
    parts.push(ringText(instance.stages, names), renderStages(instance.stages, names));
  }
  const failures = instance.stages.filter((stage) => stage.error !== null);
  if (failures.length > 0) {
    parts.push(failures.map((stage) => listItem(`stage ${stage.rank} on ${stageNode(stage, names)}: ${stage.error ?? ''}`)).join('\n'));
  }
  if (instance.notes.length > 0) parts.push(notesText(instance.notes, names));
  const speed = speedText(instance, names);
  if (speed !== null) parts.push(speed);
  // A ring of one has no hop.
  if (instance.stages.length > 1 && instance.hops !== null && instance.hops.samples > 0) {
    const { overheadMicros, computeMicros, samples } = instance.hops;
    parts.push(`A hop costs ${grouped(Math.round(overheadMicros))} µs beside ${grouped(Math.round(computeMicros))} µs of compute (${counted(samples, 'step')} measured).`);
  }
  return parts.join('\n\n');
}

/** Nothing of what stays until its room is needed. */
function stayText({ life }: InstanceView): string[] {
  if (life.pinned) return ['pinned'];
  return life.keepAliveMs === null || life.keepAliveMs >= FOR_EVER_MS ? [] : [`unloads when idle for ${durationText(life.keepAliveMs)}`];
}

/** Predicted beside measured, where a token's time goes, and how long each node took to be ready. Null = nothing is known. */
function speedText(instance: InstanceView, names: ReadonlyMap<NodeId, string>): string | null {
  const predicted = instance.predictedTokensPerSecond ?? null;
  const pace = instance.pace ?? null;
  const measured = pace === null || pace.tokenMicros <= 0 ? null : 1e6 / pace.tokenMicros;
  const lines: string[] = [];
  const said = [
    ...(predicted === null ? [] : [`${paceText(predicted)} predicted`]), ...(measured === null ? [] : [`${paceText(measured)} measured`]),
  ];
  if (said.length > 0) lines.push(listItem(`one answer alone: ${said.join(', ')}`));
  if (pace !== null && instance.stages.length > 0 && pace.stageMicros.length === instance.stages.length) {
    const between = Math.max(0, pace.tokenMicros - pace.stageMicros.reduce((sum, micros) => sum + micros, 0));
    const path = instance.stages.map((stage, index) => `${stageNode(stage, names)} ${millisText((pace.stageMicros[index] ?? 0) / 1000)}`);
    lines.push(listItem(`a token takes ${millisText(pace.tokenMicros / 1000)}: ${path.join(' + ')} + ${millisText(between / 1000)} ${path.length === 1 ? 'around it' : 'between them'}`));
  }
  const built = instance.stages.flatMap((stage) => (stage.buildMs === undefined || stage.buildMs === null ? [] : [`${stageNode(stage, names)} ${(stage.buildMs / 1000).toFixed(1)} s`]));
  if (built.length > 0) lines.push(listItem(`ready after ${built.join(', ')}`));
  return lines.length === 0 ? null : lines.join('\n');
}

function paceText(tokensPerSecond: number): string {
  return `${tokensPerSecond.toFixed(tokensPerSecond < 100 ? 1 : 0)} tok/s`;
}

function millisText(ms: number): string {
  return `${ms.toFixed(ms < 10 ? 2 : 1)} ms`;
}

function renderStages(stages: readonly StageView[], names: ReadonlyMap<NodeId, string>): string {
  const rows = stages.map((stage) => [
    String(stage.rank), stageNode(stage, names), layersText(stage.range), backendText(stage), stageStateText(stage),
    bytesText(stage.predictedBytes), stage.residentBytes === 0 ? NOTHING : bytesText(stage.residentBytes),
    stage.fetchedBytes === 0 ? NOTHING : bytesText(stage.fetchedBytes),
  ]);
  return renderTable(['Rank', 'Node', 'Layers', 'Backend', 'State', 'Predicted', 'Resident', 'Fetched'], rows, [0, 5, 6, 7], [7, 3, 6]);
}

/** `vulkan+cpu` where a stage is in both memories; the plan's note says how much. */
function backendText({ backend, spill }: { readonly backend?: Backend | null; readonly spill?: Spill | null }): string {
  return `${backend ?? 'default'}${spill === undefined || spill === null ? '' : '+cpu'}`;
}

/** What was measured, and what a person could do for more. */
function nodeFacts({ nodeId, capabilities }: NodeView, names: ReadonlyMap<NodeId, string>): readonly string[] {
  if (capabilities === null) return [];
  const name = nameOf(names, nodeId);
  const speeds = capabilities.devices.flatMap((device) => {
    if (device.memoryBandwidthBytesPerSecond === undefined) return [];
    return [`${device.backend} reads ${(device.memoryBandwidthBytesPerSecond / 1e9).toFixed(1)} GB/s, ${grouped(Math.round(device.gflops ?? 0))} GFLOP/s`];
  });
  const links = (capabilities.links ?? []).filter((link) => names.has(link.nodeId)).slice(0, MAX_LINKS_SHOWN).map((link) => {
    const rate = link.bytesPerSecond === null ? '' : `, ${(link.bytesPerSecond / 1e6).toFixed(0)} MB/s`;
    return `${nameOf(names, link.nodeId)} ${(link.roundTripMicros / 1000).toFixed(1)} ms${rate}`;
  });
  return [
    ...(speeds.length === 0 ? [] : [`${name}: measured: ${speeds.join('; ')}`]),
    ...(capabilities.storeRoomBytes === undefined ? [] : [`${name}: room on disk for ${bytesText(capabilities.storeRoomBytes)} of stages`]),
    ...(links.length === 0 ? [] : [`${name}: there and back to ${links.join(', ')}`]),
    ...(capabilities.hints ?? []).map((hint) => `${name}: ${hint}`),
  ];
}

/** A node that has left is no longer in the table of nodes; its stage still knows the host's name. */
function stageNode(stage: StageView, names: ReadonlyMap<NodeId, string>): string {
  const hostname = clip(stage.hostname, NAME_COLUMNS);
  return names.get(stage.nodeId) ?? (hostname === '' ? shortId(stage.nodeId) : hostname);
}

function stageStateText(stage: StageView): string {
  return stage.state === 'fetching' ? `fetching ${Math.floor(Math.min(1, Math.max(0, stage.progress)) * 100)} %` : stage.state;
}

/** What holds for several nodes is said once. */
function notesText(notes: readonly PlanNote[], names: ReadonlyMap<NodeId, string>): string {
  const nodesOf = new Map<string, string[]>();
  for (const note of notes) {
    const nodes = nodesOf.get(note.text) ?? [];
    nodesOf.set(note.text, note.nodeId === null ? nodes : [...nodes, nameOf(names, note.nodeId)]);
  }
  return [...nodesOf].map(([text, nodes]) => listItem(nodes.length === 0 ? text : `${nodes.join(', ')}: ${text}`)).join('\n');
}

function nameOf(names: ReadonlyMap<NodeId, string>, nodeId: NodeId): string {
  return names.get(nodeId) ?? shortId(nodeId);
}

function shortId(nodeId: NodeId): string {
  return clean(nodeId).slice(-SHORT_ID_LENGTH);
}

function slotsText({ contextTokens, slots }: { readonly contextTokens: number; readonly slots: number }): string {
  return `context ${grouped(contextTokens)} tokens in ${slots === 1 ? 'one slot' : `each of ${slots} slots`}`;
}

/** Nothing of f32, which is the rule. */
function activationsText({ activations }: { readonly activations?: ActivationType }): string[] {
  return activations === undefined ? [] : [`${activations} activations`];
}

/** `draft small: ready, 312.0 MB`. */
function draftText({ model, state, reason, predictedBytes, residentBytes }: DraftView): string {
  const bytes = `${bytesText(residentBytes > 0 ? residentBytes : predictedBytes)}${residentBytes > 0 ? '' : ' predicted'}`;
  return wrap(`draft ${clip(model, MODEL_COLUMNS)}: ${state}, ${reason === '' ? bytes : clean(reason)}`, '  ');
}

/** First to last, both included. */
function layersText({ start, end }: LayerRange): string {
  if (end <= start) return 'none';
  return end - start === 1 ? String(start) : `${start}-${end - 1}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  for (const [unit, size] of [['kB', 1e3], ['MB', 1e6], ['GB', 1e9]] as const) {
    // Rounded first: 999,960 bytes are 1.0 MB, not 1000.0 kB.
    if (unit === 'GB' || Math.round((bytes / size) * 10) < 10_000) return `${(bytes / size).toFixed(1)} ${unit}`;
  }
  return `${bytes} B`;
}

function memoryText(freeBytes: number, totalBytes: number): string {
  const digits = totalBytes < 1e12 ? 1 : 0;
  return `${(freeBytes / 1e9).toFixed(digits)}/${(totalBytes / 1e9).toFixed(digits)} GB`;
}

function counted(count: number, thing: string): string {
  return `${grouped(count)} ${thing}${count === 1 ? '' : 's'}`;
}

/** Thousands apart: 32,768. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** One line without control characters (Unicode's Cc and Cf: escapes, line ends, direction marks). */
export function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}

function clip(text: string, columns: number): string {
  const characters = [...clean(text)];
  return characters.length <= columns ? characters.join('') : `${characters.slice(0, columns - 1).join('')}…`;
}

function listItem(text: string): string {
  return wrap(clean(text), '  ').replace(/^ {2}/, '- ');
}

/** At words, every line begun with `indent`. */
export function wrap(text: string, indent: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > TEXT_COLUMNS) {
      lines.push(indent + line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, indent + line].join('\n');
}

/**
 * Columns two blanks apart, no borders; `rightAligned` are column numbers. Where it gets too wide the columns of
 * `dispensable` go, in this order.
 */
function renderTable(head: readonly string[], rows: readonly (readonly string[])[], rightAligned: readonly number[], dispensable: readonly number[] = []): string {
  const text = tableText(head, rows, rightAligned);
  const [first, ...others] = dispensable;
  if (first === undefined || text.split('\n').every((line) => [...line].length <= RENDER_COLUMNS)) return text;
  const without = <T>(cells: readonly T[]): readonly T[] => cells.filter((_, index) => index !== first);
  const moved = (columns: readonly number[]): number[] => columns.filter((column) => column !== first).map((column) => (column > first ? column - 1 : column));
  return renderTable(without(head), rows.map(without), moved(rightAligned), moved(others));
}

function tableText(head: readonly string[], rows: readonly (readonly string[])[], rightAligned: readonly number[]): string {
  const none = {
    top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '',
    'bottom-right': '', left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ',
  };
  const table = new Table({
    head: [...head],
    chars: none,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
    colAligns: head.map((_, index) => (rightAligned.includes(index) ? 'right' : 'left')),
  });
  for (const row of rows) table.push([...row]);
  return table.toString().split('\n').map((line) => line.trimEnd()).join('\n');
}
