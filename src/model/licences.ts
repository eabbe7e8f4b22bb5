/**
 * Licences that restrict use, and which of them this node's user has accepted: `licences.json` in the state directory.
 *
 * A licence is accepted once, for every model that comes on its terms. Nothing of a restricted model of the catalogue is read
 * from the internet before. It must not know how people are asked (cli/licence.ts).
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { ModelCard } from './catalogue.js';
import { cardOf, licenceAddress, readCatalogue } from './catalogue.js';
import { fileError } from './file-errors.js';

const FILE = 'licences.json';
const MAX_LICENCES = 1000;

const acceptedSchema = z.array(z.object({ licence: z.string().max(200), model: z.string().max(200), at: z.string().max(40) })).max(MAX_LICENCES);
type Accepted = z.infer<typeof acceptedSchema>;

/** The card whose licence is still to be accepted before `reference` is fetched; null = nothing stands in the way. */
export async function licenceToAccept(stateDirectory: string, reference: string): Promise<ModelCard | null> {
  const card = cardOf(await readCatalogue(stateDirectory), reference);
  if (card === null || !card.restricted) return null;
  return (await readAccepted(stateDirectory)).some(({ licence }) => licence === card.licence) ? null : card;
}

/** Throws `licence_required` with what to do. */
export async function requireLicence(stateDirectory: string, reference: string): Promise<void> {
  const card = await licenceToAccept(stateDirectory, reference);
  if (card !== null) throw licenceRequired(card);
}

function licenceRequired(card: ModelCard): RingError {
  return new RingError('licence_required', `${card.name} comes on terms that restrict its use, the ${card.licence}: read them at ${licenceAddress(card)}, then accept them with "agent models accept ${card.name}" or --accept-licence`, {
    model: card.name, licence: card.licence, url: licenceAddress(card),
  });
}

/** Remembers it. Throws `disk_full`, `permission_denied` … */
export async function acceptLicence(stateDirectory: string, card: ModelCard, at: Date): Promise<void> {
  const accepted = (await readAccepted(stateDirectory)).filter(({ licence }) => licence !== card.licence);
  const path = join(stateDirectory, FILE);
  try {
    await mkdir(stateDirectory, { recursive: true });
    await writeFile(`${path}.partial`, `${JSON.stringify([...accepted, { licence: card.licence, model: card.name, at: at.toISOString() }], null, 2)}\n`, { flush: true });
    await rename(`${path}.partial`, path);
  } catch (error) {
    throw fileError(error, path, 'write');
  }
}

async function readAccepted(stateDirectory: string): Promise<Accepted> {
  const path = join(stateDirectory, FILE);
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch {
    // Nothing was accepted yet.
    return [];
  }
  try {
    return acceptedSchema.parse(JSON.parse(content));
  } catch (error) {
    throw new RingError('bad_config', `${path} is damaged (${errorMessageOf(error).split('\n')[0] ?? ''}): remove it and accept the licences again`, { path }, { cause: error });
  }
}
