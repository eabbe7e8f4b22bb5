/** What a person typed for MODEL: a file or directory of this machine, a reference to the internet, or the name of a model that the cluster holds. */
import { existsSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { RingError } from '../core/errors.js';
import { isInternetReference, parseInternetReference } from '../model/internet-reference.js';

/**
 * An absolute path where `text` is there on disk, else the name or reference as typed. Throws `unknown_model` for a path that
 * leads nowhere, `bad_config` for a reference that is none.
 */
export function modelReference(text: string): string {
  if (text === '') return '';
  if (existsSync(text)) return resolve(text);
  if (isInternetReference(text)) {
    parseInternetReference(text);
    return text;
  }
  if (text.includes('/') || text.includes(sep)) {
    throw new RingError('unknown_model', `there is no file or directory ${resolve(text)}: check the path, or give a name that "agent models" shows`, { path: resolve(text) });
  }
  return text;
}
