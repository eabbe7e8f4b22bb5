/** What a person typed for MODEL: a file or directory of this machine, or the name of a model that the cluster holds. */
import { existsSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { RingError } from '../core/errors.js';

/** An absolute path where `text` is there on disk, else the name as typed. Throws `unknown_model` for a path that leads nowhere. */
export function modelReference(text: string): string {
  if (text === '') return '';
  if (existsSync(text)) return resolve(text);
  if (text.includes('/') || text.includes(sep)) {
    throw new RingError('unknown_model', `there is no file or directory ${resolve(text)}: check the path, or give a name that "agent models" shows`, { path: resolve(text) });
  }
  return text;
}
