/**
 * The trace of a request as a table for a terminal: a line a step, a column a stage, within 80 columns for rings of usual size.
 * Pure. Times are milliseconds.
 */
import type { TraceView } from '../agent/service.js';
import { clean, distinctNames, wrap } from './render.js';

/** Of a long ring the slowest stages are shown; the others are one column. */
const MAX_STAGES_SHOWN = 3;

export function renderTrace(trace: TraceView): string {
  const wireMicros = trace.wireMicros;
  const shown = slowest(trace);
  const others = trace.stages.length > shown.length;
  const head = ['Step', 'At', 'Tokens', 'Others', ...shown.map((rank) => `Stage ${rank}`), ...others ? ['rest'] : [], 'Wire', 'Queue', 'Total'];
  const rows = trace.steps.map((step, index) => {
    const compute = step.stageMicros.reduce((sum, micros) => sum + micros, 0);
    const wire = Math.min(step.restMicros, step.ahead === 0 ? step.restMicros : wireMicros);
    const visible = shown.map((rank) => step.stageMicros[rank] ?? 0);
    return [
      String(index + 1), millis(step.sentAfterMicros), String(step.tokens), String(step.otherTokens), ...visible.map(millis),
      ...others ? [millis(compute - visible.reduce((sum, micros) => sum + micros, 0))] : [],
      millis(wire), millis(step.restMicros - wire), millis(compute + step.restMicros),
    ];
  });
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]): string => cells.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  ');
  return [
    wrap(`${clean(trace.model)}, request ${clean(trace.requestId)}: its first ${trace.steps.length} steps, in ms`, ''),
    '',
    line(head),
    ...rows.map(line),
    '',
    wrap(`Stages: ${stageNames(trace).join(', ')}.`, ''),
    'At: since its first step. Others: tokens of other requests in the same step.',
    'Wire: links and pipes of the whole way around. Queue: waiting for steps ahead.',
  ].join('\n');
}

function slowest({ stages, steps }: TraceView): readonly number[] {
  const sum = (rank: number): number => steps.reduce((total, step) => total + (step.stageMicros[rank] ?? 0), 0);
  const ranks = stages.map((_, rank) => rank);
  return ranks.length <= MAX_STAGES_SHOWN ? ranks : ranks.sort((a, b) => sum(b) - sum(a)).slice(0, MAX_STAGES_SHOWN).sort((a, b) => a - b);
}

function stageNames({ stages }: TraceView): readonly string[] {
  const names = distinctNames(stages);
  return stages.map(({ nodeId }, rank) => `${rank} ${names.get(nodeId) ?? ''}`);
}

function millis(micros: number): string {
  return (micros / 1000).toFixed(micros < 99_950 ? 1 : 0);
}
