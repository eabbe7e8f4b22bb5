/** How the makers of a model of the catalogue recommend to sample it. */
import { cardOf, readCatalogue } from '../model/catalogue.js';
import type { AnswerSettings } from './answer-stream.js';

/** Empty for models that no card names. */
export async function recommendedFor(reference: string, stateDirectory: string): Promise<Pick<AnswerSettings, 'recommended'>> {
  const card = cardOf(await readCatalogue(stateDirectory), reference);
  return card === null ? {} : { recommended: card.sampling };
}
