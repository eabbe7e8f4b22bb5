/** A soak's figures as text of at most 80 columns. */
import { HOST_NUMBERS } from './hosts.js';
import type { SoakReport } from './soak.js';

export function soakText(report: SoakReport): string {
  const { outcomes, censuses } = report;
  const pauses = [...outcomes.pausesMs].sort((a, b) => a - b);
  const startMs = censuses[0]?.atMs ?? 0;
  return [
    `soak, seed ${report.seed}, ${((censuses.at(-1)?.atMs ?? startMs) - startMs) / 1000 | 0} s`,
    `requests   ${outcomes.answered} answered, ${outcomes.lost.length} lost, ${outcomes.wrong.length} with wrong tokens`,
    `           ${outcomes.diedWithOrigin} ended with the agent that took them, ${outcomes.refused} refused before a token and asked again`,
    `tokens     ${outcomes.tokens}`,
    `faults     ${[...report.faults.values()].reduce((sum, count) => sum + count, 0)}`,
    ...[...report.faults].map(([name, count]) => `  ${name.padEnd(32)} ${String(count).padStart(4)}`),
    `time to the next token, over ${pauses.length} answers under faults:`,
    `           median ${Math.round(pauses[pauses.length >> 1] ?? 0)} ms, worst ${Math.round(pauses.at(-1) ?? 0)} ms`,
    `agents over time (MB resident / descriptors / processes; host ${report.steady} was never ended):`,
    `  ${'s'.padStart(5)} ${HOST_NUMBERS.map((host) => `host ${host}`.padStart(16)).join('')}`,
    ...censuses.map((census) => `  ${((census.atMs - startMs) / 1000).toFixed(0).padStart(5)} ${HOST_NUMBERS.map((number) => cell(census.hosts.find(({ host }) => host === number))).join('')}`),
    ...report.problems.map((problem) => `PROBLEM ${problem}`),
    report.problems.length === 0 ? 'it holds' : `${report.problems.length} problems; replay: npm run soak -- --seed ${report.seed}`,
  ].join('\n');
}

function cell(count: SoakReport['censuses'][number]['hosts'][number] | undefined): string {
  return (count === undefined ? '-' : `${count.residentMegabytes.toFixed(0)}/${count.descriptors}/${count.processes}`).padStart(16);
}
