/**
 * Asks the person at the terminal for the licence of a restricted model, once: what is accepted is remembered in the state
 * directory (model/licences.ts), where the agent looks before it fetches anything.
 */
import { createInterface } from 'node:readline/promises';
import { errorCodeOf, RingError } from '../core/errors.js';
import type { ModelCard } from '../model/catalogue.js';
import { cardOf, licenceAddress, readCatalogue } from '../model/catalogue.js';
import { acceptLicence, licenceToAccept } from '../model/licences.js';

export interface LicenceOptions {
  readonly stateDir: string;
  /** `--accept-licence` */
  readonly acceptLicence?: boolean;
}

/** Does `action`, and once more after the licence that it was refused for was accepted. */
export async function withLicence<T>(reference: string, options: LicenceOptions, action: () => Promise<T>): Promise<T> {
  if (options.acceptLicence === true) await acceptLicenceOf([reference], options.stateDir);
  try {
    return await action();
  } catch (error) {
    if (errorCodeOf(error) !== 'licence_required') throw error;
    const card = await licenceToAccept(options.stateDir, reference);
    if (card === null || !process.stdin.isTTY || !process.stderr.isTTY || !await agrees(card)) throw error;
    await acceptLicence(options.stateDir, card, new Date());
    return action();
  }
}

/** For those of the references that need it. */
export async function acceptLicenceOf(references: readonly string[], stateDirectory: string): Promise<void> {
  for (const reference of references) {
    const card = await licenceToAccept(stateDirectory, reference);
    if (card !== null) await acceptLicence(stateDirectory, card, new Date());
  }
}

/** `agent models accept`: the words of the command are the consent. Throws `unknown_model`. */
export async function acceptCommand(reference: string, options: { readonly stateDir: string; readonly json?: boolean }): Promise<void> {
  const card = cardOf(await readCatalogue(options.stateDir), reference);
  if (card === null) throw new RingError('unknown_model', `the catalogue has no model ${JSON.stringify(reference)}: "agent models search" lists what it has`);
  if (card.restricted) await acceptLicence(options.stateDir, card, new Date());
  const facts = { model: card.name, licence: card.licence, url: licenceAddress(card), accepted: card.restricted };
  const text = card.restricted ? `Accepted for every model on its terms: the ${card.licence}\n  ${facts.url}` : `${card.name} is free under ${card.licence}: nothing has to be accepted.`;
  process.stdout.write(`${options.json === true ? JSON.stringify(facts, null, 2) : text}\n`);
}

async function agrees(card: ModelCard): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${card.name} comes on terms that restrict its use, the ${card.licence}:\n  ${licenceAddress(card)}\nDo you accept them? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
