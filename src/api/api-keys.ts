/**
 * The file of `--api-key-file`: one key a line, readable by its owner only.
 *
 * Blank lines and lines that begin with `#` are skipped. Keys never reach a log or a message.
 */
import { open } from 'node:fs/promises';
import { RingError } from '../core/errors.js';
import { systemTroubleOf } from '../core/system-trouble.js';

const API_KEY_FILE_BYTES_MAX = 64 * 1024;
/** Shorter keys can be guessed over the LAN. */
const API_KEY_LENGTH_MIN = 16;

/** Bits that let anybody but the owner read or write. */
const OTHERS_MODE = 0o077;

/** Throws `bad_config` that says what to do. */
export async function readApiKeys(file: string): Promise<readonly string[]> {
  let text: string;
  try {
    const handle = await open(file, 'r');
    try {
      const facts = await handle.stat();
      if (!facts.isFile()) throw badFile(file, 'it is not a regular file');
      if (process.platform !== 'win32' && (facts.mode & OTHERS_MODE) !== 0) {
        throw badFile(file, `other users may read it; run \`chmod 600 ${file}\``);
      }
      if (facts.size > API_KEY_FILE_BYTES_MAX) throw badFile(file, `it is larger than ${API_KEY_FILE_BYTES_MAX} bytes`);
      text = await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (cause) {
    if (cause instanceof RingError) throw cause;
    throw new RingError('bad_config', `the API key file ${file} cannot be read (${systemTroubleOf(cause)}): write one key a line, "chmod 600" it, and name it with --api-key-file`, { file }, { cause });
  }
  const keys: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const key = line.trim();
    if (key === '' || key.startsWith('#')) continue;
    if (!/^[\x21-\x7e]+$/.test(key)) throw badFile(file, `line ${index + 1} has a character that no key may have (use printable ASCII without spaces)`);
    if (key.length < API_KEY_LENGTH_MIN) throw badFile(file, `the key in line ${index + 1} is shorter than ${API_KEY_LENGTH_MIN} characters ("openssl rand -hex 24" makes a good one)`);
    keys.push(key);
  }
  if (keys.length === 0) throw badFile(file, 'it has no key; write one key a line');
  return keys;
}

function badFile(file: string, what: string): RingError {
  return new RingError('bad_config', `the API key file ${file} cannot be used: ${what}`, { file });
}
