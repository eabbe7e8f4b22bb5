/**
 * An agent's log as files of its state directory: JSON lines, in a few files of bounded size, the newest without a number.
 *
 * Written at once, so that the last words before an end are there. What a line may say is decided by whoever logs: prompts
 * and answers are never among it.
 */
import { appendFileSync, closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync, readSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessageOf, RingError } from '../core/errors.js';
import { systemCodeOf, systemTroubleOf } from '../core/system-trouble.js';

const DIRECTORY = 'logs';
const MAX_LOG_FILE_BYTES = 4 << 20;
/** With the one that is written. */
export const LOG_FILES = 3;
const POLL_MS = 250;
const READ_BYTES = 1 << 16;
/** A line without an end is no line of ours. */
const MAX_LINE_CHARACTERS = 1 << 20;

/** `agent.log`, then `agent.1.log` before it. */
function logFile(stateDirectory: string, age: number): string {
  return join(stateDirectory, DIRECTORY, age === 0 ? 'agent.log' : `agent.${age}.log`);
}

export class LogFile {
  /** Of the file that is written; null = not looked yet. */
  private bytes: number | null = null;
  private complained = false;

  constructor(private readonly stateDirectory: string, private readonly maxBytes = MAX_LOG_FILE_BYTES) {}

  /** With its line end. Never throws: an agent serves on without a log. */
  write(line: string): void {
    try {
      const file = logFile(this.stateDirectory, 0);
      const bytes = Buffer.byteLength(line);
      this.bytes ??= statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      if (this.bytes > 0 && this.bytes + bytes > this.maxBytes) this.bytes = this.rotate();
      mkdirSync(join(this.stateDirectory, DIRECTORY), { recursive: true, mode: 0o700 });
      appendFileSync(file, line, { mode: 0o600 });
      this.bytes += bytes;
    } catch (error) {
      if (!this.complained) process.stderr.write(`the log is not kept: ${errorMessageOf(error)}\n`);
      this.complained = true;
    }
  }

  /** The oldest falls out; the new file has no bytes yet. */
  private rotate(): number {
    for (let age = LOG_FILES - 1; age > 0; age -= 1) {
      const younger = logFile(this.stateDirectory, age - 1);
      if (existsSync(younger)) renameSync(younger, logFile(this.stateDirectory, age));
    }
    return 0;
  }
}

export interface KeptLines {
  /** Without their ends, the oldest first. */
  readonly lines: readonly string[];
  /** How much of the newest file that was. */
  readonly newestBytes: number;
}

export function keptLines(stateDirectory: string): KeptLines {
  const lines: string[] = [];
  let newestBytes = 0;
  for (let age = LOG_FILES - 1; age >= 0; age -= 1) {
    const file = logFile(stateDirectory, age);
    const content = contentOf(file);
    lines.push(...content.toString('utf8').split('\n').filter((line) => line !== ''));
    newestBytes = content.length;
  }
  return { lines, newestBytes };
}

/** Empty = there is none. */
function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return Buffer.alloc(0);
    throw new RingError('io_failed', `cannot read the log ${file} (${systemTroubleOf(error)}): name the agent's own directory with --state-dir, or run this as its user`, { path: file }, { cause: error });
  }
}

/** Lines behind the first `skipBytes` as they are written, also into a file that is not there yet; ends at the abort. */
export async function* newLines(stateDirectory: string, skipBytes: number, signal: AbortSignal): AsyncGenerator<string> {
  const path = logFile(stateDirectory, 0);
  let open = openOrNull(path);
  let position = skipBytes;
  let rest = '';
  const buffer = Buffer.alloc(READ_BYTES);
  const decoder = new TextDecoder();
  try {
    while (!signal.aborted) {
      const bytes = open === null ? 0 : readSync(open, buffer, 0, READ_BYTES, position);
      if (bytes > 0) {
        position += bytes;
        const lines = (rest + decoder.decode(buffer.subarray(0, bytes), { stream: true })).split('\n');
        rest = (lines.pop() ?? '').slice(0, MAX_LINE_CHARACTERS);
        yield* lines;
        continue;
      }
      // Read to its end. Whether it is still the newest shows by its identity.
      const current = openOrNull(path);
      if (current !== null && (open === null || fstatSync(current).ino !== fstatSync(open).ino)) {
        if (open !== null) closeSync(open);
        open = current;
        position = 0;
        continue;
      }
      if (current !== null) closeSync(current);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    if (open !== null) closeSync(open);
  }
}

function openOrNull(path: string): number | null {
  return existsSync(path) ? openSync(path, 'r') : null;
}
