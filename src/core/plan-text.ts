/**
 * A plan as lines of text for people: one row per stage, then what was left out or shrunk and why.
 *
 * Pure: for `agent plan`, the demo and logs, which only print what comes back. It must not know colours or terminals.
 */
import { stageBytes } from './memory-model.js';
import type { MemoryTable } from './memory-model.js';
import { bytesText } from './quantities.js';
import type { NodeId, Plan, StagePlan } from './types.js';

/** What the table shows beside the plan; absent columns are left out. */
export interface PlanTextDetails {
  readonly labels: ReadonlyMap<NodeId, string>;
  /** Splits each stage's bytes into weights, KV and buffers. */
  readonly table?: MemoryTable;
  readonly budgets?: ReadonlyMap<NodeId, number>;
}

interface Column {
  readonly title: string;
  readonly align: 'left' | 'right';
  cell(stage: StagePlan): string;
}

export function planLines(plan: Plan, details: PlanTextDetails): readonly string[] {
  const columns = columnsOf(details);
  const rows = [columns.map((column) => column.title), ...plan.stages.map((stage) => columns.map((column) => column.cell(stage)))];
  const widths = columns.map((_column, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]): string => row.map((cell, at) => {
    const width = widths[at] ?? cell.length;
    return columns[at]?.align === 'right' ? cell.padStart(width) : cell.padEnd(width);
  }).join('  ').trimEnd();
  const notes = plan.explanation.map((note) => note.nodeId === null
    ? `- ${note.text}`
    : `- ${details.labels.get(note.nodeId) ?? note.nodeId}: ${note.text}`);
  const title = `${plan.model.name}: ${plan.model.layers} layers, ${plan.slots} slots of ${plan.contextTokens} tokens, `
    + `KV ${plan.keyType}/${plan.valueType}`;
  return [title, ...rows.map(line), ...notes];
}

function columnsOf({ labels, table, budgets }: PlanTextDetails): readonly Column[] {
  const columns: Column[] = [
    { title: 'rank', align: 'right', cell: (stage) => String(stage.rank) },
    { title: 'node', align: 'left', cell: (stage) => labels.get(stage.nodeId) ?? stage.nodeId },
    { title: 'layers', align: 'left', cell: ({ range }) => `${range.start}:${range.end}` },
    { title: 'backend', align: 'left', cell: (stage) => stage.backend ?? 'default' },
  ];
  // Weights are what remains of the total: a node's precision changes them, never the cache or the buffers.
  if (table !== undefined) {
    const parts = (stage: StagePlan): ReturnType<typeof stageBytes> => stageBytes(table, stage.range);
    columns.push(
      { title: 'weights', align: 'right', cell: (stage) => bytesText(stage.predictedBytes - parts(stage).cache - parts(stage).buffers) },
      { title: 'KV', align: 'right', cell: (stage) => bytesText(parts(stage).cache) },
      { title: 'buffers', align: 'right', cell: (stage) => bytesText(parts(stage).buffers) },
    );
  }
  columns.push({ title: 'total', align: 'right', cell: (stage) => bytesText(stage.predictedBytes) });
  if (budgets !== undefined) {
    columns.push({ title: 'budget', align: 'right', cell: (stage) => bytesText(budgets.get(stage.nodeId) ?? 0) });
  }
  return columns;
}
