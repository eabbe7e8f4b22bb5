/**
 * What the single executable carries: a list of files with their digests, and each different content once, compressed.
 *
 * Written by build.ts, read by bootstrap.ts, which runs before anything else is there: Node's own modules only.
 */
import { createHash } from 'node:crypto';

/** Asset with the list; every other asset is named by the SHA-256 of what it unpacks to, and is gzip. */
export const MANIFEST_ASSET = 'manifest.json';
/** First argument that makes the executable a runner. */
export const RUNNER_ARGUMENT = 'internal-runner';
export const AGENT_PROGRAM = 'src/cli/main.js';
/** A file that imports another one by its address. */
export const IMPORTER = 'import.cjs';
export const RUNNER_PROGRAM = 'src/runner/main.js';

export interface PayloadFile {
  /** With `/`, below the payload's directory. */
  readonly path: string;
  /** SHA-256, hex. */
  readonly digest: string;
  readonly bytes: number;
}

export interface Manifest {
  readonly version: string;
  readonly files: readonly PayloadFile[];
}

export function digestOf(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}
