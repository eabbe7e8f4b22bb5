/** The agent's log: pino, readable in a terminal, JSON lines elsewhere. Prompts and answers never reach it. */
import { pino } from 'pino';
import type { Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Log } from '../ports.js';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Standard error's file descriptor: standard output is for answers. */
const STDERR = 2;

export function createLog(level: LogLevel): Log {
  if (!process.stderr.isTTY) return adapt(pino({ level }, process.stderr));
  return adapt(pino({ level }, pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname', singleLine: true, sync: true, destination: STDERR })));
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
