/** `agent models` and its subcommands: what the cluster holds, and the upkeep of this machine's store. */
import type { ClusterStatus, InstanceView, ModelView } from '../agent/service.js';
import { RingError } from '../core/errors.js';
import { lifeText, LOADED_LIFE, PINNED_LIFE } from '../core/instance-life.js';
import { cardOf, readCatalogue, searchCards } from '../model/catalogue.js';
import type { KeptModel, ModelTransfer } from '../ports.js';
import type { AgentClient } from './agent-client.js';
import { loadInstance } from './load-model.js';
import type { LicenceOptions } from './licence.js';
import { withLicence } from './licence.js';
import { modelReference } from './model-reference.js';
import { namedModel } from './named-model.js';
import { durationText, Rate, showProgress } from './progress-line.js';
import { renderModels } from './render.js';
import { ringFields } from './ring-flags.js';
import type { RingFlags } from './ring-flags.js';
import { renderCard, renderCards, renderModelInfo, sizeText } from './render-store.js';
import { requireAgent } from './require-agent.js';
import { findRunningAgent } from './state-directory.js';

const PULL_DEADLINE_MS = 24 * 60 * 60_000;

export interface ModelsOptions {
  readonly stateDir: string;
  readonly json?: boolean;
}

interface StoreAnswer {
  readonly models: readonly KeptModel[];
  readonly transfers: readonly ModelTransfer[];
}

export async function modelsCommand(options: ModelsOptions): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const { models } = await client.get('/v1/cluster/models') as { models: readonly ModelView[] };
  print(options, models, () => renderModels(models));
}

/** Of a name of the catalogue, its card; of a model that the cluster knows, that and where it is. */
export async function modelInfoCommand(model: string, options: ModelsOptions): Promise<void> {
  const cards = await readCatalogue(options.stateDir);
  const named = cardOf(cards, model);
  if (named !== null && await findRunningAgent(options.stateDir) === null) {
    print(options, { card: named }, () => renderCard(named));
    return;
  }
  const client = await requireAgent(options.stateDir);
  const { models } = await client.get('/v1/cluster/models') as { models: readonly ModelView[] };
  const store = await client.get('/v1/cluster/store') as StoreAnswer;
  const digest = namedModel(model, models, store.models, cards);
  const view = models.find((one) => one.digest === digest);
  if (view === undefined && named !== null) {
    print(options, { card: named }, () => renderCard(named));
    return;
  }
  if (view === undefined) throw new RingError('unknown_model', `no node of the cluster knows a model ${JSON.stringify(model)}: "agent models" lists those that there are, "agent models search" those that can be fetched`);
  const status = await client.get('/v1/cluster') as ClusterStatus;
  const kept = store.models.find((one) => one.digest === view.digest) ?? null;
  const holders = status.nodes.flatMap((node) => (node.capabilities === null ? [] : [{
    hostname: node.capabilities.hostname, whole: view.heldBy.includes(node.nodeId), shards: node.capabilities.shards.filter((shard) => shard.modelDigest === view.digest),
  }])).filter((holder) => holder.whole || holder.shards.length > 0);
  const card = named ?? (kept?.internet === null || kept === null ? null : cardOf(cards, kept.internet));
  print(options, { ...view, card, holders, here: kept }, () => `${renderModelInfo(view, holders, kept)}${card === null ? '' : `\n\n${renderCard(card)}`}`);
}

export async function modelPullCommand(reference: string, options: ModelsOptions & LicenceOptions): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort(new RingError('cancelled', 'interrupted; what came is kept, the same command goes on with it')));
  const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(PULL_DEADLINE_MS)]);
  const pulled = await withLicence(reference, options, async () => {
    const stop = showTransfers(client, reference);
    try {
      return await client.post('/v1/cluster/store/pull', { model: modelReference(reference) }, signal);
    } finally {
      // The question about a licence has the line for itself.
      stop();
    }
  }) as { model: string; path: string; bytes: number };
  print(options, pulled, () => `${pulled.model} is here, ${sizeText(pulled.bytes)}:\n  ${pulled.path}`);
}

export async function modelRemoveCommand(model: string, options: ModelsOptions): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const store = await client.get('/v1/cluster/store') as StoreAnswer;
  const digest = namedModel(model, [], store.models, await readCatalogue(options.stateDir));
  const removed = await client.post('/v1/cluster/store/remove', { model: digest ?? model }) as { model: string; freedBytes: number; leftInPlace: string | null };
  print(options, removed, () => `${removed.model}: ${sizeText(removed.freedBytes)} freed.${removed.leftInPlace === null ? '' : `\nThe file is not ours and stays: ${removed.leftInPlace}`}`);
}

export async function modelPruneCommand(options: ModelsOptions & { readonly keep?: number }): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const pruned = await client.post('/v1/cluster/store/prune', { keepBytes: Math.trunc((options.keep ?? 0) * 1e9) }) as PruneAnswer;
  print(options, pruned, () => prunedText(pruned));
}

interface PruneAnswer {
  readonly removed: number;
  readonly brokenOff: number;
  readonly freedBytes: number;
}

/** `2 unused stages and 1 broken-off download removed, 4.2 GB freed.` */
export function prunedText({ removed, brokenOff, freedBytes }: PruneAnswer): string {
  const counted = (count: number, what: string): string[] => (count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`]);
  const what = [...counted(removed, 'unused stage'), ...counted(brokenOff, 'broken-off download')];
  return what.length === 0 ? 'Nothing to remove: no stage is kept that nothing uses, and no download was broken off.' : `${what.join(' and ')} removed, ${sizeText(freedBytes)} freed.`;
}

export interface LoadFlags extends ModelsOptions, LicenceOptions, RingFlags {
  readonly pin?: boolean;
  readonly keepAlive?: number | null;
}

export async function modelLoadCommand(model: string, options: LoadFlags): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort(new RingError('cancelled', 'interrupted; the cluster goes on loading it ("agent models unload" ends that)')));
  const instance = await withLicence(model, options, () => loadInstance(client, {
    model: modelReference(model),
    ...(options.pin === true ? { pinned: true } : {}),
    ...(options.keepAlive === undefined ? {} : { keepAlive: options.keepAlive === null ? -1 : options.keepAlive / 1000 }),
    ...ringFields(options),
  }, interrupted.signal));
  print(options, instance, () => `${instance.model} is served on ${instance.stages.length === 1 ? 'one node' : `${instance.stages.length} nodes`}; it ${lifeText(instance.life)}.`);
}

export async function modelUnloadCommand(model: string, options: ModelsOptions): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const instance = await servedInstance(client, model, options);
  await client.delete(`/v1/cluster/instances/${encodeURIComponent(instance.instanceId)}`);
  print(options, { model: instance.model, instanceId: instance.instanceId, unloaded: true }, () => `${instance.model} is no longer served.`);
}

/** Loads it when it is to be pinned and is not served. */
export async function modelPinCommand(model: string, pinned: boolean, options: ModelsOptions & LicenceOptions): Promise<void> {
  const client = await requireAgent(options.stateDir);
  if (!pinned) await servedInstance(client, model, options);
  const instance = await withLicence(model, options, () => loadInstance(client, { model: modelReference(model), pinned }, AbortSignal.timeout(PULL_DEADLINE_MS)));
  print(options, { model: instance.model, instanceId: instance.instanceId, pinned }, () => `${instance.model} ${lifeText(pinned ? PINNED_LIFE : LOADED_LIFE)}.`);
}

async function servedInstance(client: AgentClient, model: string, { stateDir }: ModelsOptions): Promise<InstanceView> {
  const { instances } = await client.get('/v1/cluster') as ClusterStatus;
  const { models } = await client.get('/v1/cluster/models') as { models: readonly ModelView[] };
  const { models: kept } = await client.get('/v1/cluster/store') as StoreAnswer;
  const digest = namedModel(model, models, kept, await readCatalogue(stateDir));
  const found = instances.find((one) => one.model === model || one.instanceId === model || one.modelDigest === digest);
  if (found !== undefined) return found;
  const names = instances.map((one) => one.model);
  throw new RingError('unknown_model', `the cluster does not serve ${JSON.stringify(model)}; it serves ${names.length === 0 ? 'nothing' : names.join(', ')}`);
}

/** Needs no agent. */
export async function modelSearchCommand(words: readonly string[], options: ModelsOptions): Promise<void> {
  const cards = searchCards(await readCatalogue(options.stateDir), words);
  print(options, cards, () => renderCards(cards));
}

function print(options: ModelsOptions, value: unknown, text: () => string): void {
  process.stdout.write(options.json === true ? `${JSON.stringify(value, null, 2)}\n` : `${text()}\n`);
}

/** `qwen3-8b 42 %, 2.1 GB of 5.0 GB, 11.2 MB/s, 4 min left`. */
export function transferText({ model, doneBytes, totalBytes }: ModelTransfer, bytesPerSecond: number | null): string {
  const rate = bytesPerSecond === null || bytesPerSecond < 1 ? '' : `, ${sizeText(bytesPerSecond)}/s, ${durationText((totalBytes - doneBytes) / bytesPerSecond)} left`;
  return `${model} ${Math.floor((doneBytes / Math.max(1, totalBytes)) * 100)} %, ${sizeText(doneBytes)} of ${sizeText(totalBytes)}${rate}`;
}

function showTransfers(client: AgentClient, reference: string): () => void {
  const rates = new Map<string, Rate>();
  return showProgress(async () => {
    const { transfers } = await client.get('/v1/cluster/store') as StoreAnswer;
    const texts = transfers.map((transfer) => {
      const rate = rates.get(transfer.model) ?? new Rate();
      rates.set(transfer.model, rate);
      return transferText(transfer, rate.next(transfer.doneBytes, performance.now()));
    });
    return texts.length === 0 ? `looking up ${reference}` : texts.join(' · ');
  });
}
