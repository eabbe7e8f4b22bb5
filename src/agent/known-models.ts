/** The models of the cluster: who holds what, and which one a person means. */
import type { DesiredState, HeldModel, HeldShard, NodeRecord } from '../core/types.js';
import type { ModelView } from './service.js';

/** Shortest digest prefix that counts as a reference. */
const MIN_DIGEST_PREFIX = 8;

/** Every model that one of the records names, by name; models of one digest are one. */
export function heldModels(records: readonly NodeRecord[], desired: DesiredState): ModelView[] {
  const views = new Map<string, { model: HeldModel; heldBy: string[] }>();
  for (const record of records) {
    for (const model of record.capabilities.models) {
      const view = views.get(model.digest);
      // A node that knows the model's place on the internet does not hold it.
      const heldBy = model.source === undefined ? [record.nodeId] : [];
      if (view === undefined) views.set(model.digest, { model, heldBy });
      else view.heldBy.push(...heldBy);
    }
  }
  return [...views.values()]
    .map(({ model, heldBy }): ModelView => ({ ...model, heldBy: heldBy.sort(), loaded: isLoaded(model, desired) }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.digest < b.digest ? -1 : 1));
}

/**
 * The model that `reference` names: a name, a digest or its prefix. Empty = the only served model, else `defaultModel`.
 * Null when no record names it and it is not to be served.
 */
export function resolveModel(reference: string, records: readonly NodeRecord[], desired: DesiredState, defaultModel: string): HeldModel | null {
  const models = heldModels(records, desired);
  if (reference === '') {
    const served = desired.instances.flatMap((instance) => (instance.plan === null || instance.state === 'failed' ? [] : [instance.plan.model]));
    const only = served.length === 1 ? served[0] : undefined;
    return only ?? models.find((model) => model.name === defaultModel) ?? null;
  }
  // What is to be served is known by name also while those who hold it are away: a request then hears that, not "unknown".
  return modelNamed(reference, models) ?? modelNamed(reference, desired.instances.flatMap(({ plan }) => (plan === null ? [] : [plan.model])));
}

function modelNamed(reference: string, models: readonly HeldModel[]): HeldModel | null {
  const byName = models.find((model) => model.name === reference || `${model.name}.gguf` === reference);
  if (byName !== undefined) return byName;
  if (reference.length < MIN_DIGEST_PREFIX || !/^[0-9a-f]+$/.test(reference)) return null;
  const matches = new Map(models.filter((model) => model.digest.startsWith(reference)).map((model) => [model.digest, model]));
  return matches.size === 1 ? [...matches.values()][0] ?? null : null;
}

function isLoaded(model: HeldModel, desired: DesiredState): boolean {
  return desired.instances.some((instance) => instance.state === 'active' && instance.plan?.model.digest === model.digest);
}

/** What every plan uses, whichever node it is on. */
export function shardsInPlans(desired: DesiredState): HeldShard[] {
  return desired.instances.flatMap(({ plan }) => (plan === null ? [] : [
    ...plan.stages.map(({ rank, range }) => ({ modelDigest: plan.model.digest, range, head: rank === 0, tail: rank === plan.stages.length - 1 })),
    ...(plan.draft === undefined ? [] : [{ modelDigest: plan.draft.model.digest, range: { start: 0, end: plan.draft.model.layers }, head: true, tail: true }]),
  ]));
}
