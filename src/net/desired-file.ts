/**
 * What a cluster is to serve, on this node's disk, so that it is served again after all of its nodes were off: one small
 * file per cluster, rewritten in one step whenever it changes, in the form that nodes tell it each other.
 *
 * It must not know what it means (core/remembered.ts). A file that cannot be read is as good as none.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { errorMessageOf } from '../core/errors.js';
import type { DesiredState } from '../core/types.js';
import type { Log } from '../ports.js';
import { decodeDesired, encodeDesired } from '../wire/plan-codec.js';
import { readIfPresent, writeAtomically } from './state-files.js';

const MAX_FILE_BYTES = 16 * 1024 * 1024;

export class DesiredFile {
  private written: Uint8Array | null = null;
  private next: Uint8Array | null = null;
  private writing: Promise<void> | null = null;
  private complained = false;

  private constructor(private readonly path: string, private readonly log: Log) {}

  static async open(stateDirectory: string, clusterName: string, log: Log): Promise<{ readonly file: DesiredFile; readonly remembered: DesiredState | null }> {
    const name = createHash('sha256').update(clusterName).digest('hex').slice(0, 12);
    const file = new DesiredFile(join(stateDirectory, `desired-${name}.bin`), log);
    return { file, remembered: await file.read() };
  }

  /** Soon on disk; what came in between is left out. */
  keep(desired: DesiredState): void {
    // A version is a coordinator's count of its own changes: it says nothing after a restart.
    const bytes = encodeDesired({ ...desired, version: 0 });
    if (Buffer.compare(bytes, this.next ?? this.written ?? new Uint8Array()) === 0) return;
    this.next = bytes;
    this.writing ??= this.write().finally(() => {
      this.writing = null;
    });
  }

  /** Resolves when everything is on disk, or could not be put there. */
  async settled(): Promise<void> {
    while (this.writing !== null) await this.writing;
  }

  private async write(): Promise<void> {
    for (let bytes = this.next; bytes !== null; bytes = this.next) {
      try {
        await writeAtomically(this.path, bytes);
        this.written = bytes;
        this.complained = false;
      } catch (error) {
        if (!this.complained) this.log.warn('what is to be served again after a restart cannot be kept', { error: errorMessageOf(error) });
        this.complained = true;
      }
      if (this.next === bytes) this.next = null;
    }
  }

  private async read(): Promise<DesiredState | null> {
    try {
      const bytes = await readIfPresent(this.path);
      if (bytes === null || bytes.byteLength > MAX_FILE_BYTES) return null;
      this.written = bytes;
      return decodeDesired(bytes);
    } catch (error) {
      this.log.warn('what was served before cannot be read, and is not served again by itself', { path: this.path, error: errorMessageOf(error) });
      return null;
    }
  }
}
