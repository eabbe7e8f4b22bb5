/** `agent logs`: what this machine's agent logged, the running one's or the last one's, and with `--follow` what it logs on. */
import { RingError } from '../core/errors.js';
import { keptLines, newLines } from './log-file.js';
import { prettyLine } from './log.js';
import type { LogLevel } from './log.js';

/** pino's numbers. */
const LEVEL_NUMBERS: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50, silent: Infinity };

export interface LogsOptions {
  readonly stateDir: string;
  readonly lines: number;
  readonly level: LogLevel;
  readonly follow?: boolean;
  readonly json?: boolean;
}

export async function logsCommand(options: LogsOptions): Promise<void> {
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ended.abort());
  process.stdout.once('error', () => ended.abort());
  const shown = (line: string): boolean => (levelOf(line) ?? Infinity) >= LEVEL_NUMBERS[options.level];
  const pretty = prettyLine(process.stdout.isTTY);
  const print = (line: string): void => void process.stdout.write(options.json === true ? `${line}\n` : pretty(line));
  const { lines, newestBytes } = keptLines(options.stateDir);
  if (lines.length === 0 && options.follow !== true) {
    throw new RingError('not_ready', `nothing was logged yet (state directory ${options.stateDir}): "agent start" does, or name another with --state-dir`);
  }
  const matching = lines.filter(shown);
  for (const line of matching.slice(Math.max(0, matching.length - options.lines))) print(line);
  if (options.follow !== true) return;
  for await (const line of newLines(options.stateDir, newestBytes, ended.signal)) if (shown(line)) print(line);
}

/** Null = not a line of ours; it is shown all the same, but for machines. */
function levelOf(line: string): number | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'level' in value && typeof value.level === 'number' ? value.level : null;
  } catch {
    return null;
  }
}
