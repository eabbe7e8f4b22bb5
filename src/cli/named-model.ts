/**
 * Which model a person means by the name that they fetched it by: a name of the catalogue or a reference to the internet,
 * where the model itself goes by its file's name. It must not know what is done with it.
 */
import type { ModelView } from '../agent/service.js';
import type { ModelSource } from '../core/types.js';
import type { ModelCard } from '../model/catalogue.js';
import { catalogueReference } from '../model/catalogue.js';
import { hasQuant } from '../model/hub-files.js';
import { isInternetReference, parseInternetReference } from '../model/internet-reference.js';
import type { KeptModel } from '../ports.js';

/** Shortest beginning of a digest that counts. */
const MIN_DIGEST_PREFIX = 6;

/** Its digest; null = nobody knows such a model. `kept` are those of this machine. */
export function namedModel(name: string, models: readonly ModelView[], kept: readonly KeptModel[], cards: readonly ModelCard[]): string | null {
  const lower = name.toLowerCase();
  const named = [...models, ...kept].find((model) => model.name.toLowerCase() === lower || `${model.name.toLowerCase()}.gguf` === lower || (lower.length >= MIN_DIGEST_PREFIX && model.digest.startsWith(lower)));
  if (named !== undefined) return named.digest;
  const reference = isInternetReference(name) ? name : catalogueReference(cards, name);
  if (reference === null) return null;
  const sources = [...models.map(({ digest, source }) => ({ digest, internet: source === undefined ? null : addressOf(source) })), ...kept];
  // Several quantisations of one repository: a name without one means its first.
  return sources.find(({ internet }) => internet !== null && isMeant(reference, internet))?.digest ?? null;
}

function addressOf({ repository, files }: ModelSource): string {
  const location = files[0]?.location ?? '';
  return repository === '' ? location : `hf:${repository}/${location}`;
}

function isMeant(reference: string, internet: string): boolean {
  const meant = parseInternetReference(reference);
  if (meant.kind === 'url') return meant.url === internet;
  const repository = `hf:${meant.repository}`.toLowerCase();
  const path = internet.toLowerCase().startsWith(`${repository}/`) ? internet.slice(repository.length + 1) : internet.toLowerCase() === repository ? '' : null;
  if (path === null) return false;
  if (meant.file !== null) return path === meant.file;
  return meant.quant === null || hasQuant(path, meant.quant) || (meant.quant.toLowerCase() === 'safetensors' && (path === '' || path.endsWith('.safetensors')));
}
