/**
 * How people name models: by name, by the beginning of the digest, and what to say when nothing fits.
 */
import { RingError } from '../core/errors.js';
import { editDistance, nearestName } from '../core/nearest-name.js';
import type { HeldModel } from '../core/types.js';

const MIN_DIGEST_PREFIX = 6;
const MAX_SUGGESTIONS = 3;
const HEX = /^[0-9a-f]+$/;

/** The model of this name or digest prefix; null when there is none. Throws `bad_request` when several fit. */
export function findModel(reference: string, models: readonly HeldModel[]): HeldModel | null {
  const named = models.find((model) => model.name === reference);
  if (named !== undefined) return named;
  const lower = reference.toLowerCase();
  const sameName = models.filter((model) => model.name.toLowerCase() === lower || `${model.name.toLowerCase()}.gguf` === lower);
  const fitting = sameName.length > 0 || lower.length < MIN_DIGEST_PREFIX || !HEX.test(lower)
    ? sameName : models.filter((model) => model.digest.startsWith(lower));
  const digests = new Set(fitting.map((model) => model.digest));
  if (digests.size > 1) {
    throw new RingError('bad_request', `${JSON.stringify(reference)} fits several models: ${fitting.map((model) => model.name).join(', ')}. Use a full name`, { reference });
  }
  return fitting[0] ?? null;
}

/** Says what is there, the closest names first. `catalogue`: names that could be fetched. */
export function unknownModel(reference: string, models: readonly HeldModel[], catalogue: readonly string[] = []): RingError {
  const distance = (name: string): number => editDistance(reference.toLowerCase(), name.toLowerCase());
  const names = [...new Set(models.map((model) => model.name))].sort((a, b) => distance(a) - distance(b) || (a < b ? -1 : 1));
  const advice = names.length === 0
    ? 'No node holds any model: start an agent with --model FILE'
    : `Known models: ${names.slice(0, MAX_SUGGESTIONS).join(', ')}${names.length > MAX_SUGGESTIONS ? `, and ${names.length - MAX_SUGGESTIONS} more` : ''}`;
  const meant = nearestName(reference, [...names, ...catalogue]);
  const search = catalogue.length === 0 ? '' : '. "agent models search" lists what can be fetched';
  return new RingError('unknown_model', `there is no model ${JSON.stringify(reference.slice(0, 200))}${meant === null ? '. ' : `; did you mean ${JSON.stringify(meant)}? `}${advice}${search}`, { reference: reference.slice(0, 200) });
}
