/**
 * The agent's log: pino, to standard error (readable in a terminal, JSON lines elsewhere) and into the state directory
 * (log-file.ts). Prompts and answers never reach it.
 */
import { pino } from 'pino';
import type { Logger, StreamEntry } from 'pino';
import pretty, { prettyFactory } from 'pino-pretty';
import type { PrettyOptions } from 'pino-pretty';
import { errorCodeOf } from '../core/errors.js';
import type { Log } from '../ports.js';
import { LogFile } from './log-file.js';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
/** Levels that a line can have. */
export const LINE_LEVELS = LOG_LEVELS.filter((level) => level !== 'silent');
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Standard error's file descriptor: standard output is for answers. */
const STDERR = 2;
/** Lines that wait for the state directory; a start says a handful. */
const MAX_EARLY_LINES = 256;
const PRETTY: PrettyOptions = { ignore: 'pid,hostname', singleLine: true, sync: true };

export interface AgentLog extends Log {
  /** From now on the log is kept in this state directory, with what was said before. */
  keepIn(stateDirectory: string): void;
}

/** `level` is standard error's; the kept log has everything from `info` on, or from `debug` on when that is asked for. */
export function createLog(level: LogLevel): AgentLog {
  const kept = new KeptLog();
  const keptLevel = level === 'debug' ? 'debug' : 'info';
  // Silence is meant: nothing is kept either.
  const entries: StreamEntry[] = level === 'silent' ? [] : [
    { level, stream: process.stderr.isTTY ? pretty({ ...PRETTY, colorize: true, translateTime: 'SYS:HH:MM:ss', destination: STDERR }) : process.stderr },
    { level: keptLevel, stream: kept },
  ];
  const logger = pino({ level: level === 'silent' ? level : keptLevel, serializers: { error: describeError } }, pino.multistream(entries));
  return { ...adapt(logger), keepIn: (stateDirectory) => kept.keepIn(stateDirectory) };
}

/** A kept line for a person. */
export function prettyLine(colorize: boolean): (line: string) => string {
  return prettyFactory({ ...PRETTY, colorize, translateTime: 'SYS:yyyy-mm-dd HH:MM:ss' });
}

/** A stream for pino: in memory until the state directory is known to be ours. */
class KeptLog {
  private early: string[] = [];
  private file: LogFile | null = null;

  write(line: string): void {
    if (this.file !== null) this.file.write(line);
    else if (this.early.length < MAX_EARLY_LINES) this.early.push(line);
  }

  keepIn(stateDirectory: string): void {
    this.file = new LogFile(stateDirectory);
    for (const line of this.early.splice(0)) this.file.write(line);
  }
}

function adapt(logger: Logger): Log {
  return {
    debug: (message, facts) => logger.debug(facts ?? {}, message),
    info: (message, facts) => logger.info(facts ?? {}, message),
    warn: (message, facts) => logger.warn(facts ?? {}, message),
    error: (message, facts) => logger.error(facts ?? {}, message),
    child: (facts) => adapt(logger.child(facts)),
  };
}

/** Errors are not enumerable: without this a log line says `{}` of them. */
function describeError(error: unknown): unknown {
  return error instanceof Error ? `${errorCodeOf(error)}: ${error.message}` : error;
}
