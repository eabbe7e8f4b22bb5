/**
 * The catalogue: open models by short names. Cards are JSON in the package (`models/catalogue.json`); a user's own files in
 * `catalogue/` of the state directory add to them, and replace those of the same name.
 *
 * A card says where a model is and on which terms, no more: what it is comes from its header. It must not know the hub.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { errorMessageOf, RingError } from '../core/errors.js';

const PACKAGE_FILE = 'models/catalogue.json';
const MAX_PARENTS = 5;
const MAX_USER_FILES = 100;
const MAX_CARDS = 5000;

const cardSchema = z.strictObject({
  /** What people type, with or without `:QUANT`. */
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/),
  /** `owner/repo` on the hub. */
  repository: z.string().regex(/^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/),
  /** As in the repository's file names; the first one is meant when none is named. */
  quants: z.array(z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/)).min(1),
  /** E.g. `0.6B`, `30B-A3B`. */
  parameters: z.string().max(20),
  /** Tokens. */
  context: z.int().positive(),
  /** SPDX id, or the licence's own name. */
  licence: z.string().max(80),
  /** Where the licence can be read; absent = on the repository's page. */
  licenceUrl: z.url({ protocol: /^https$/ }).optional(),
  /** True: the licence restricts use, or the hub asks for its acceptance. It is accepted before anything is fetched (licences.ts). */
  restricted: z.boolean().default(false),
  /** How its chat template writes a conversation. */
  template: z.string().max(200).default(''),
  /** Absent = all that the engine has. */
  backends: z.array(z.enum(['metal', 'cuda', 'vulkan', 'cpu'])).min(1).optional(),
  /** What its makers recommend, where they do. */
  sampling: z.strictObject({ temperature: z.number().min(0).max(2), topP: z.number().min(0).max(1), topK: z.int().min(0), minP: z.number().min(0).max(1) }).partial().default({}),
  /** Which of its statements were compared with what is published; the others are from memory. */
  checked: z.array(z.enum(['repository', 'context', 'licence', 'sampling'])).default([]),
  notes: z.string().max(500).default(''),
});

const catalogueSchema = z.array(cardSchema).max(MAX_CARDS);

export type ModelCard = z.infer<typeof cardSchema>;

/** Every card by name. Throws `bad_config` naming a user's file that is none. */
export async function readCatalogue(stateDirectory: string): Promise<readonly ModelCard[]> {
  const cards = new Map<string, ModelCard>();
  const own = packagedCatalogue();
  const user = join(stateDirectory, 'catalogue');
  const files = [...(own === null ? [] : [own]), ...(await jsonFilesIn(user)).map((name) => join(user, name))];
  for (const file of files) for (const card of await readCards(file)) cards.set(card.name, card);
  return [...cards.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The card that a name (`name` or `name:QUANT`) or a reference (`hf:owner/repo…`) means; null = none. */
export function cardOf(cards: readonly ModelCard[], reference: string): ModelCard | null {
  const lower = reference.toLowerCase();
  const repository = /^hf:([^/]+\/[^/:@]+)/.exec(lower)?.[1] ?? null;
  return cards.find((card) => (repository === null ? card.name === lower.split(':')[0] : card.repository.toLowerCase() === repository)) ?? null;
}

/** Where a card's licence can be read. */
export function licenceAddress(card: ModelCard): string {
  return card.licenceUrl ?? `https://huggingface.co/${card.repository}`;
}

/** Cards that have every word somewhere in name, repository, size, licence or notes. */
export function searchCards(cards: readonly ModelCard[], words: readonly string[]): readonly ModelCard[] {
  return cards.filter((card) => {
    const text = [card.name, card.repository, card.parameters, card.licence, card.template, card.notes, ...card.quants].join(' ').toLowerCase();
    return words.every((word) => text.includes(word.toLowerCase()));
  });
}

/** The internet reference of `name` or `name:QUANT`; null when no card has the name. Throws `unknown_model` for another quantisation. */
export function catalogueReference(cards: readonly ModelCard[], text: string): string | null {
  const [name = '', quant] = text.toLowerCase().split(':');
  const card = cards.find((one) => one.name === name);
  if (card === undefined) return null;
  const chosen = quant === undefined ? card.quants[0] : card.quants.find((one) => one.toLowerCase() === quant);
  if (chosen === undefined) throw new RingError('unknown_model', `${card.name} comes as ${card.quants.join(', ')}: write ${card.name}:${card.quants[0] ?? ''}, or hf:${card.repository}:QUANT`, { model: card.name });
  return `hf:${card.repository}:${chosen}`;
}

function packagedCatalogue(): string | null {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (let level = 0; level < MAX_PARENTS; level++) {
    const candidate = join(directory, PACKAGE_FILE);
    if (existsSync(candidate)) return candidate;
    directory = dirname(directory);
  }
  return null;
}

async function readCards(file: string): Promise<readonly ModelCard[]> {
  try {
    return catalogueSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    const what = error instanceof z.ZodError ? z.prettifyError(error).split('\n').slice(0, 3).join(' ') : errorMessageOf(error);
    throw new RingError('bad_config', `${file} is no catalogue of models: ${what}. It is a JSON list of cards {name, repository, quants, parameters, context, licence}`, { file }, { cause: error });
  }
}

async function jsonFilesIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith('.json')).sort().slice(0, MAX_USER_FILES);
  } catch {
    // The user has no cards of their own.
    return [];
  }
}
