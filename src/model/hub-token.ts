/**
 * The token that the hub's own tools keep when a person logs in, where HF_TOKEN does not name one. It must not know who is
 * shown it (hub-client.ts: the hub alone).
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

const MAX_TOKEN_CHARACTERS = 1000;
const NO = new Set(['', '0', 'false', 'no', 'off']);

type Environment = Readonly<Record<string, string | undefined>>;

/** `HF_TOKEN`, else what is in the file of `hf auth login`; null = none. */
export async function hubToken(environment: Environment): Promise<string | null> {
  const named = (environment['HF_TOKEN'] ?? '').trim();
  if (named !== '') return named;
  if (!NO.has((environment['HF_HUB_DISABLE_IMPLICIT_TOKEN'] ?? '').toLowerCase())) return null;
  try {
    const kept = (await readFile(tokenPath(environment), 'utf8')).trim();
    return /^\S+$/.test(kept) && kept.length <= MAX_TOKEN_CHARACTERS ? kept : null;
  } catch {
    // Nobody logged in, or not for us to read: public models need no token.
    return null;
  }
}

function tokenPath(environment: Environment): string {
  const cache = environment['XDG_CACHE_HOME'] || join(environment['HOME'] || homedir(), '.cache');
  return environment['HF_TOKEN_PATH'] || join(environment['HF_HOME'] || join(cache, 'huggingface'), 'token');
}
