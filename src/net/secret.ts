/**
 * The cluster's secret: made here, written down as words, read from a file, and mixed with the cluster's name into the
 * bytes that both sides of a Noise handshake must share. It must not know connections, and never logs what it reads.
 */
import { createHash, randomBytes, scrypt } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import { RingError } from '../core/errors.js';
import { systemTroubleOf } from '../core/system-trouble.js';
import { SECRET_WORDS } from './secret-words.js';

const SECRET_BYTES = 16;
/** Sixteen bytes and one of checksum. */
const SECRET_WORD_COUNT = SECRET_BYTES + 1;
const MAX_SECRET_FILE_BYTES = 4096;
const MIN_PASSPHRASE_CHARACTERS = 12;
/** 64 MiB and some tenths of a second: paid once, at start. */
const SCRYPT = { N: 65_536, r: 8, p: 1, maxmem: 128 * 1024 * 1024 } as const;
const DERIVED_BYTES = 32;

/** A new secret: 128 random bits as seventeen words, the last of which checks the others. */
export function generateSecret(): string {
  return spellSecret(randomBytes(SECRET_BYTES));
}

/** Bytes `[16]` as words. */
export function spellSecret(bytes: Uint8Array): string {
  return [...bytes, checksum(bytes)].map((byte) => SECRET_WORDS[byte] ?? '').join(' ');
}

/**
 * What the text of a secret file means for `clusterName`: words made by `agent secret`, or a passphrase of at least twelve
 * characters, stretched. Throws `bad_config`.
 */
export async function parseSecret(text: string, clusterName: string): Promise<Uint8Array> {
  const trimmed = text.trim();
  const words = trimmed.toLowerCase().split(/\s+/);
  const known = words.map((word) => SECRET_WORDS.indexOf(word));
  if (words.length === SECRET_WORD_COUNT && known.every((index) => index >= 0)) {
    const bytes = Uint8Array.from(known.slice(0, SECRET_BYTES));
    if (checksum(bytes) !== known[SECRET_BYTES]) {
      throw new RingError('bad_config', 'the cluster secret has a word that is not the right one, or two that changed places: compare it with the original');
    }
    return bytes;
  }
  const strange = known.findIndex((index) => index < 0);
  const recognised = known.filter((index) => index >= 0).length;
  if (words.length > 8 && recognised >= words.length - 3) {
    throw new RingError('bad_config', strange >= 0
      ? `word ${strange + 1} of the cluster secret is not one of those that \`agent secret\` uses: compare it with the original`
      : `the cluster secret has ${words.length} words instead of ${SECRET_WORD_COUNT}: compare it with the original`);
  }
  if (trimmed.length < MIN_PASSPHRASE_CHARACTERS) {
    throw new RingError('bad_config', `the cluster secret is too short: use the words of \`agent secret\`, or a passphrase of at least ${MIN_PASSPHRASE_CHARACTERS} characters`);
  }
  return stretch(trimmed.normalize('NFC'), clusterName);
}

/** Reads `--secret-file`. Refuses a file that others may read. */
export async function readSecretFile(path: string, clusterName: string): Promise<Uint8Array> {
  return parseSecret(await readSecretText(path), clusterName);
}

/** The same, as written: for an agent that hands it on. */
export async function readSecretText(path: string): Promise<string> {
  let text: string;
  try {
    const facts = await stat(path);
    const { mode, size } = facts;
    if (!facts.isFile()) throw new RingError('bad_config', `${path} is no file: name the one that "agent secret" was written to`, { path });
    if (platform() !== 'win32' && (mode & 0o077) !== 0) {
      throw new RingError('permission_denied', `the secret file ${path} can be read by others: run \`chmod 600 ${path}\``, { path });
    }
    if (size > MAX_SECRET_FILE_BYTES) throw new RingError('bad_config', `${path} is too large for a cluster secret (${size} bytes)`, { path });
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof RingError) throw error;
    throw new RingError('bad_config', `cannot read the secret file ${path} (${systemTroubleOf(error)}): make one with "agent secret > FILE && chmod 600 FILE", or name another with --secret-file`, { path }, { cause: error });
  }
  if (text.trim() === '') throw new RingError('bad_config', `the secret file ${path} is empty: write the words of \`agent secret\` into it`, { path });
  return text;
}

/** SHA-256 of the cluster's name, hex. Not secret: it goes into the hello and the mDNS service name. */
export function clusterHash(clusterName: string): string {
  return createHash('sha256').update(`ring-agent cluster\0${clusterName}`).digest('hex');
}

/** What both sides of a handshake must share: 32 bytes of name and secret (null = an open cluster). */
export function noisePrologue(clusterName: string, secret: Uint8Array | null): Uint8Array {
  const hash = createHash('sha256').update(`ring-agent prologue\0${clusterName}\0`);
  return secret === null ? hash.digest() : hash.update(secret).digest();
}

function checksum(bytes: Uint8Array): number {
  return createHash('sha256').update(bytes).digest()[0] ?? 0;
}

function stretch(passphrase: string, clusterName: string): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase, `ring-agent secret\0${clusterName}`, DERIVED_BYTES, SCRYPT, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}
