/** What a person typed for MODEL: a file or directory of this machine, a reference to the internet, or the name of a model that the cluster holds. */
import { statSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { RingError } from '../core/errors.js';
import { systemCodeOf, systemTroubleOf } from '../core/system-trouble.js';
import { isInternetReference, parseInternetReference } from '../model/internet-reference.js';

const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/**
 * An absolute path where `text` is there on disk, else the name or reference as typed. Throws `unknown_model` for a path that
 * leads nowhere, `bad_config` for a reference that is none.
 */
export function modelReference(text: string): string {
  if (text === '') return '';
  const trouble = whyNotThere(text);
  if (trouble === null) return resolve(text);
  if (isInternetReference(text)) {
    parseInternetReference(text);
    return text;
  }
  if (text.includes('/') || text.includes(sep)) {
    if (!ABSENT.has(systemCodeOf(trouble))) throw new RingError('permission_denied', `cannot look at ${resolve(text)} (${systemTroubleOf(trouble)}): check the permissions of the file and its directory`, { path: resolve(text) }, { cause: trouble });
    throw new RingError('unknown_model', `there is no file or directory ${resolve(text)}: check the path, or give a name that "agent models" shows`, { path: resolve(text) });
  }
  return text;
}

/** Null = it is there. */
function whyNotThere(path: string): unknown {
  try {
    statSync(path);
    return null;
  } catch (error) {
    return error;
  }
}
