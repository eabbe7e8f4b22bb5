/**
 * How people name a model on the internet: `hf:owner/repo`, `hf:owner/repo:Q4_K_M`, `hf:owner/repo:safetensors`,
 * `hf:owner/repo/path/file.gguf`, or the https address of a GGUF file. Text only: it must not know whether such a model exists.
 */
import { RingError } from '../core/errors.js';

export type InternetReference =
  /** `file` and `quant` exclude each other; both null = the repository's usual quantisation, or its checkpoint where it has no GGUF. */
  | { readonly kind: 'hub'; readonly repository: string; readonly revision: string; readonly quant: string | null; readonly file: string | null }
  | { readonly kind: 'url'; readonly url: string };

const HUB_PREFIX = 'hf:';
const REPOSITORY_PART = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/;
const QUANT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const DEFAULT_REVISION = 'main';
const MAX_REFERENCE_CHARACTERS = 2048;

/** True for texts that `parseInternetReference` is for, well formed or not. */
export function isInternetReference(text: string): boolean {
  return /^(hf:|https?:\/\/)/i.test(text);
}

/** Throws `bad_config` with the forms that there are. */
export function parseInternetReference(text: string): InternetReference {
  if (text.length > MAX_REFERENCE_CHARACTERS) throw wrong(text, 'it is too long');
  if (!text.toLowerCase().startsWith(HUB_PREFIX)) return parseUrl(text);
  const [address = '', quant, ...more] = text.slice(HUB_PREFIX.length).split(':');
  const parts = address.split('/');
  const [owner = '', name = '', ...path] = parts;
  const [repo = '', revision = DEFAULT_REVISION] = name.split('@');
  if (more.length > 0 || !REPOSITORY_PART.test(owner) || !REPOSITORY_PART.test(repo) || !QUANT.test(revision)) throw wrong(text, 'owner and repository are missing or have odd characters');
  if (quant !== undefined && (path.length > 0 || !QUANT.test(quant))) throw wrong(text, 'a quantisation follows the repository, as in hf:owner/repo:Q4_K_M');
  if (path.some((part) => part === '' || part === '.' || part === '..')) throw wrong(text, 'the path has an empty part');
  const file = path.length === 0 ? null : path.join('/');
  if (file !== null && !file.toLowerCase().endsWith('.gguf')) throw wrong(text, file.toLowerCase().endsWith('.safetensors') ? `safetensors are read as a whole checkpoint, hf:${owner}/${repo}:safetensors` : 'the file is no .gguf');
  return { kind: 'hub', repository: `${owner}/${repo}`, revision, quant: quant ?? null, file };
}

function parseUrl(text: string): InternetReference {
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new RingError('bad_config', `${JSON.stringify(text.slice(0, 200))} is no address`, {}, { cause: error });
  }
  if (url.username !== '' || url.password !== '') throw wrong(text, 'names and passwords do not belong into an address');
  if (!url.pathname.toLowerCase().endsWith('.gguf')) throw wrong(text, 'it does not end with .gguf');
  return { kind: 'url', url: url.toString() };
}

function wrong(text: string, why: string): RingError {
  return new RingError('bad_config', `${JSON.stringify(text.slice(0, 200))} names no model: ${why}. Write hf:owner/repo, hf:owner/repo:Q4_K_M, hf:owner/repo/file.gguf or https://host/file.gguf`);
}
