#!/usr/bin/env node
/**
 * The command line's start: what was typed goes to the tree of commands, and what went wrong to standard error.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong usage.
 */
import '../net/polyfill.js';
import { CommanderError } from 'commander';
import { errorCodeOf, errorMessageOf, RingError } from '../core/errors.js';
import { program } from './program.js';

const FAILED = 1;
const WRONG_USAGE = 2;

// `agent models | head -1`: whoever read the output has seen enough. Other failures of the terminal are not ours to hide.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await program().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed the message or the help already.
    process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
  } else {
    process.stderr.write(`agent: ${errorMessageOf(error)}\n`);
    // Only our own mistakes have no code. Where they happened is of use to those who mend them.
    if (!(error instanceof RingError) && error instanceof Error && process.env['RING_AGENT_TRACE'] !== undefined) process.stderr.write(`${error.stack ?? ''}\n`);
    process.exitCode = errorCodeOf(error) === 'bad_config' ? WRONG_USAGE : FAILED;
  }
}
