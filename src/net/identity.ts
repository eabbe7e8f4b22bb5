/**
 * Who this node is: an Ed25519 key that stays, and an incarnation that grows with every start.
 *
 * libp2p's own helper leaves the key readable for everyone, so that it is written here: 0600, in one step. Opening the
 * identity also locks the state directory: two agents with one key would be one node in two places.
 */
import { randomBytes } from 'node:crypto';
import { chmod, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import { join } from 'node:path';
import { generateKeyPair, privateKeyFromProtobuf, privateKeyToProtobuf } from '@libp2p/crypto/keys';
import type { PrivateKey } from '@libp2p/interface';
import { peerIdFromPrivateKey } from '@libp2p/peer-id';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { NodeId } from '../core/types.js';
import type { Log } from '../ports.js';
import { lockStateDirectory, readIfPresent, stateError, writeAtomically } from './state-files.js';
import type { StateLock } from './state-files.js';

const KEY_FILE = 'identity.key';
const NODE_FILE = 'node.json';
const NONCE_BYTES = 12;
/** A file that says more is damaged: peers could not read what follows. */
const MAX_INCARNATION = 2 ** 48;

export interface Identity {
  readonly nodeId: NodeId;
  readonly privateKey: PrivateKey;
  /** Larger at every start. */
  readonly incarnation: number;
  /** Drawn per process: tells a restart from a clone. */
  readonly nonce: string;
  /** Unlocks the state directory. Last of all. */
  release(): Promise<void>;
}

/**
 * Locks `stateDir` and reads the identity in it, or makes one. Throws `state_locked`, `permission_denied`, `disk_full` or
 * `bad_config`.
 */
export async function openIdentity(stateDir: string, log: Log): Promise<Identity> {
  const lock = await lockStateDirectory(stateDir);
  try {
    return await readIdentity(stateDir, lock, log);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function readIdentity(stateDir: string, lock: StateLock, log: Log): Promise<Identity> {
  const keyPath = join(stateDir, KEY_FILE);
  const known = await readKey(keyPath, log);
  const privateKey = known ?? await makeKey(keyPath);
  const incarnation = await nextIncarnation(join(stateDir, NODE_FILE), { knownKey: known !== null, log });
  return {
    nodeId: peerIdFromPrivateKey(privateKey).toString(),
    privateKey,
    incarnation,
    nonce: randomBytes(NONCE_BYTES).toString('hex'),
    release: () => lock.release(),
  };
}

async function makeKey(path: string): Promise<PrivateKey> {
  const key = await generateKeyPair('Ed25519');
  await writeAtomically(path, privateKeyToProtobuf(key));
  return key;
}

async function readKey(path: string, log: Log): Promise<PrivateKey | null> {
  const bytes = await readIfPresent(path);
  if (bytes === null) return null;
  await mendMode(path, log);
  try {
    const key = privateKeyFromProtobuf(bytes);
    if (key.type !== 'Ed25519') throw new Error(`it holds a key of type ${key.type}`);
    return key;
  } catch (error) {
    throw new RingError('bad_config', `${path} is damaged (${errorMessageOf(error)}): restore it from a backup, or delete it and this machine joins as a new node`, { path }, { cause: error });
  }
}

async function mendMode(path: string, log: Log): Promise<void> {
  if (platform() === 'win32') return;
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) === 0) return;
    await chmod(path, 0o600);
    log.warn('the identity key could be read by other users; that was mended. If this machine has other users, delete the key to get a new one', { path });
  } catch (error) {
    throw stateError(path, error);
  }
}

async function nextIncarnation(path: string, options: { readonly knownKey: boolean; readonly log: Log }): Promise<number> {
  const bytes = await readIfPresent(path);
  const last = bytes === null ? (options.knownKey ? null : 0) : parseIncarnation(bytes.toString('utf8'));
  if (last === null) options.log.warn('the incarnation was lost and starts anew from the clock', { path });
  // Peers ignore a record that is older than the one they have: seconds since 1970 are more than any count of starts.
  const incarnation = last === null ? Math.floor(Date.now() / 1000) : last + 1;
  await writeAtomically(path, `${JSON.stringify({ incarnation })}\n`);
  return incarnation;
}

function parseIncarnation(text: string): number | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('incarnation' in value)) return null;
    const { incarnation } = value;
    return typeof incarnation === 'number' && Number.isSafeInteger(incarnation) && incarnation >= 0 && incarnation < MAX_INCARNATION ? incarnation : null;
  } catch {
    return null;
  }
}
