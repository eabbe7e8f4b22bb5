/** The agent's log: pino, readable in a terminal, JSON lines elsewhere. Prompts and answers never reach it. */
import { pino } from 'pino';
import type { Logger } from 'pino';
import pretty from 'pino-pretty';
import { errorCodeOf } from '../core/errors.js';
import type { Log } from '../ports.js';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Standard error's file descriptor: standard output is for answers. */
const STDERR = 2;

export function createLog(level: LogLevel): Log {
  const options = { level, serializers: { error: describeError } };
  if (!process.stderr.isTTY) return adapt(pino(options, process.stderr));
  return adapt(pino(options, pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname', singleLine: true, sync: true, destination: STDERR })));
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
