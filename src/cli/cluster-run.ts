/**
 * A cluster file at work on the coordinating machine: where its model is, which agents to call, and when everybody whom
 * it names is there, the request to serve its model with what it says of each node.
 *
 * From then on the settings travel with the instance: any coordinator plans again by them. It must not know how plans
 * are made.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { AgentService, PlanRequest } from '../agent/service.js';
import type { ClusterFile, ClusterFileNode } from '../core/cluster-file.js';
import { errorMessageOf, RingError } from '../core/errors.js';
import { NAMED_LIFE } from '../core/instance-life.js';
import { DEFAULT_CONTEXT_TOKENS } from '../core/placement.js';
import { isInternetReference, parseInternetReference } from '../model/internet-reference.js';
import type { Clock, Log } from '../ports.js';
import { addressText, findFileNodes, ownFileNode } from './file-nodes.js';

/** How often the table is looked at while nodes are missing. */
const LOOK_INTERVAL_MS = 250;
/** Tokens of an answer beside a prompt of the length that the file names. */
const ANSWER_TOKENS = 1024;

/** The models that the file names: each a path on this disk, a reference to the internet, or a name that the cluster knows. */
export interface FileModels {
  readonly model: string;
  /** Null = none. */
  readonly draft: string | null;
}

/** What the file means for the start of this machine's agent. */
export interface FileStart extends FileModels {
  /** Files and directories in which models are looked for here. */
  readonly modelPaths: readonly string[];
  /** Agents to call, as `--peer`. */
  readonly peers: readonly string[];
  /** Where this machine listens, as `--listen`; null = the file does not name this machine. */
  readonly listen: string | null;
  readonly own: ClusterFileNode | null;
}

/** `path` is the file's own: a relative model is looked for beside it too. */
export async function fileStart(file: ClusterFile, path: string): Promise<FileStart> {
  const own = await ownFileNode(file);
  const [model, draft] = [modelOf('model', file.model, path, own), file.draft === null ? null : modelOf('draft', file.draft, path, own)];
  const directory = own?.checkpointDirectory ?? null;
  return {
    model,
    draft,
    modelPaths: [...(existsSync(model) ? [model] : []), ...(directory !== null && isDirectory(directory) ? [resolve(directory)] : [])],
    peers: file.nodes.filter((node) => node !== own).map(addressText),
    listen: own === null ? null : String(own.port),
    own,
  };
}

/** What is asked of the cluster; `nodeSettings` only once everybody is there. */
export async function fileRequest(file: ClusterFile, { model, draft }: FileModels, nodes: Parameters<typeof findFileNodes>[1]): Promise<
  { readonly kind: 'ready'; readonly request: PlanRequest } | { readonly kind: 'missing'; readonly missing: readonly string[] }
> {
  const { requested, missing } = await findFileNodes(file, nodes);
  if (missing.length > 0) return { kind: 'missing', missing };
  const contextTokens = file.promptTokens > DEFAULT_CONTEXT_TOKENS ? file.promptTokens + ANSWER_TOKENS : null;
  return { kind: 'ready', request: { model, policy: file.policy, nodes: null, contextTokens, slots: null, ...(file.cacheType === null ? {} : { cacheType: file.cacheType }), ...(file.activations === null ? {} : { activations: file.activations }), ...(draft === null ? {} : { draft }), nodeSettings: requested, life: NAMED_LIFE } };
}

export interface WaitOptions {
  readonly agent: Pick<AgentService, 'status'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Null = for ever: whoever starts a cluster may start its machines one by one. */
  readonly deadlineMs: number | null;
}

/** Waits until every node of the file is there. Throws `timeout` (who is missing), or the signal's reason. */
export async function waitForFileNodes(file: ClusterFile, models: FileModels, options: WaitOptions): Promise<PlanRequest> {
  const { agent, clock, log, signal, deadlineMs } = options;
  const startedMs = clock.now();
  let said = '';
  for (;;) {
    if (signal.aborted) throw signal.reason instanceof Error ? signal.reason : new RingError('cancelled', 'stopped');
    const found = await fileRequest(file, models, agent.status().nodes);
    if (found.kind === 'ready') return found.request;
    const names = found.missing.join(', ');
    if (deadlineMs !== null && clock.now() - startedMs > deadlineMs) {
      throw new RingError('timeout', `these nodes of the cluster file are not here after ${Math.round(deadlineMs / 1000)} s: ${names}. Is an agent running there, in the same cluster, on that port?`);
    }
    if (names !== said && clock.now() - startedMs >= LOOK_INTERVAL_MS) {
      log.info('the cluster file waits for nodes', { missing: found.missing });
      said = names;
    }
    await new Promise<void>((done) => void clock.after(LOOK_INTERVAL_MS, done));
  }
}

/** Serves the file's model; a failure is logged, and the agent runs on. */
export async function serveFile(file: ClusterFile, models: FileModels, options: WaitOptions & { readonly agent: AgentService }): Promise<void> {
  try {
    const request = await waitForFileNodes(file, models, options);
    await options.agent.load(request, options.signal);
  } catch (error) {
    if (!options.signal.aborted) options.log.error('the cluster file\'s model is not served', { model: models.model, error: errorMessageOf(error) });
  }
}

function modelOf(key: 'model' | 'draft', named: string, path: string, own: ClusterFileNode | null): string {
  const places = [resolve(named), resolve(dirname(path), named), ...(own === null ? [] : [join(own.checkpointDirectory, named)])];
  const found = places.find((place) => existsSync(place));
  if (found !== undefined) return resolve(found);
  if (isInternetReference(named)) {
    parseInternetReference(named);
    return named;
  }
  if (/[/\\]|\.gguf$/i.test(named)) {
    throw new RingError('unknown_model', `${path}: ${key} "${named}" is not there; looked at ${[...new Set(places)].join(', ')}`);
  }
  // A name: some node of the cluster holds it.
  return named;
}

function isDirectory(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
