/**
 * The journal beside a half-written stage file: which tensors are on disk and verified, and how far an unfinished one is.
 *
 * Lines of JSON, appended and synced after the data they speak of. A torn last line is ignored; a journal of another
 * layout is started anew. It must not know what a tensor is.
 */
import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { open, readFile, rename, writeFile } from 'node:fs/promises';

/** Far more than any model has tensors; a longer file is not ours. */
const MAX_JOURNAL_LINES = 200_000;

type Entry =
  | { readonly kind: 'layout'; readonly fingerprint: string }
  | { readonly kind: 'done'; readonly key: string; readonly digest: string }
  | { readonly kind: 'offset'; readonly key: string; readonly bytes: number };

export class StageJournal {
  private readonly digests = new Map<string, string>();
  private readonly offsets = new Map<string, number>();

  private constructor(private readonly handle: FileHandle, readonly isNew: boolean) {}

  /** `isNew`: nothing that an earlier run left may be used. */
  static async open(path: string, fingerprint: string): Promise<StageJournal> {
    const entries = await readEntries(path);
    const first = entries[0];
    const continues = first?.kind === 'layout' && first.fingerprint === fingerprint;
    // In one step, so that a journal is never there without its layout.
    if (!continues) await replaceFile(path, `${JSON.stringify({ kind: 'layout', fingerprint })}\n`);
    const handle = await open(path, 'a', 0o644);
    const journal = new StageJournal(handle, !continues);
    if (continues) {
      // A torn last line must not swallow the next one.
      await handle.appendFile('\n');
      for (const entry of entries) journal.remember(entry);
    }
    return journal;
  }

  /** Finished tensors and their digests of a journal that somebody else writes; null when there is none of this layout. */
  static async finished(path: string, fingerprint: string): Promise<ReadonlyMap<string, string> | null> {
    const [first, ...entries] = await readEntries(path);
    if (first?.kind !== 'layout' || first.fingerprint !== fingerprint) return null;
    return new Map(entries.flatMap((entry): [string, string][] => (entry.kind === 'done' ? [[entry.key, entry.digest]] : [])));
  }

  /** SHA-256 of a finished tensor, or null. */
  digestOf(key: string): string | null {
    return this.digests.get(key) ?? null;
  }

  /** Bytes of an unfinished tensor that are on disk for certain. */
  offsetOf(key: string): number {
    return this.digests.has(key) ? 0 : this.offsets.get(key) ?? 0;
  }

  /** Call after the data was synced. */
  async finish(key: string, digest: string): Promise<void> {
    await this.append({ kind: 'done', key, digest });
  }

  async checkpoint(key: string, bytes: number): Promise<void> {
    await this.append({ kind: 'offset', key, bytes });
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private async append(entry: Entry): Promise<void> {
    await this.handle.appendFile(`${JSON.stringify(entry)}\n`);
    await this.handle.datasync();
    this.remember(entry);
  }

  private remember(entry: Entry): void {
    if (entry.kind === 'done') this.digests.set(entry.key, entry.digest);
    else if (entry.kind === 'offset') this.offsets.set(entry.key, entry.bytes);
  }
}

async function replaceFile(path: string, content: string): Promise<void> {
  const next = `${path}.${randomBytes(6).toString('hex')}.new`;
  await writeFile(next, content, { flush: true });
  await rename(next, path);
}

async function readEntries(path: string): Promise<Entry[]> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch {
    // No journal, or one that cannot be read: start anew; opening it for writing reports what is wrong.
    return [];
  }
  return content.split('\n').slice(0, MAX_JOURNAL_LINES).map(parseEntry).filter((entry) => entry !== null);
}

function parseEntry(line: string): Entry | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // A torn or empty line says nothing.
    return null;
  }
  if (typeof value !== 'object' || value === null || !('kind' in value)) return null;
  if (value.kind === 'layout' && 'fingerprint' in value && typeof value.fingerprint === 'string') return { kind: 'layout', fingerprint: value.fingerprint };
  if (!('key' in value) || typeof value.key !== 'string') return null;
  if (value.kind === 'done' && 'digest' in value && typeof value.digest === 'string') return { kind: 'done', key: value.key, digest: value.digest };
  if (value.kind === 'offset' && 'bytes' in value && typeof value.bytes === 'number' && Number.isSafeInteger(value.bytes) && value.bytes >= 0) {
    return { kind: 'offset', key: value.key, bytes: value.bytes };
  }
  return null;
}
