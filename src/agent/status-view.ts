/** The cluster as people and programs see it: `/v1/cluster`, `agent status`. Only reads. */
import type { ClusterNode } from '../core/cluster.js';
import { lifeOf } from '../core/instance-life.js';
import type { Instance, NodeId, Plan, PlanNote, StagePlan, StageStatus, TokenPace } from '../core/types.js';
import type { Network } from '../ports.js';
import type { HeadFigures } from './head.js';
import type { ClusterStatus, InstanceView, NodeView, StageView } from './service.js';

export interface ViewSources {
  readonly cluster: Pick<ClusterNode, 'liveness' | 'records' | 'stageStatuses'>;
  readonly localStatuses: readonly StageStatus[];
  headFigures(planId: string): HeadFigures | null;
}

export interface StatusSources extends ViewSources {
  readonly cluster: ClusterNode;
  readonly clusterName: string;
  readonly secured: boolean;
  readonly network: Network;
}

export function clusterStatus(sources: StatusSources): ClusterStatus {
  const { cluster, network } = sources;
  return {
    cluster: sources.clusterName,
    secured: sources.secured,
    nodeId: network.nodeId,
    coordinator: cluster.coordinator(),
    term: cluster.term(),
    nodes: nodeViews(sources),
    instances: cluster.desired().instances.map((instance) => instanceView(instance, sources)),
  };
}

export function instanceView(instance: Instance, sources: ViewSources): InstanceView {
  const { plan } = instance;
  const figures = plan === null ? null : sources.headFigures(plan.planId);
  return {
    instanceId: instance.instanceId,
    model: plan?.model.name ?? nameOf(instance.request.model, sources.cluster),
    modelDigest: plan?.model.digest ?? '',
    state: instance.state,
    reason: instance.reason,
    ...(instance.state === 'failed' && instance.code !== undefined ? { code: instance.code } : {}),
    planId: plan?.planId ?? null,
    contextTokens: plan?.contextTokens ?? 0,
    slots: plan?.slots ?? 0,
    ...(plan?.activations === undefined ? {} : { activations: plan.activations }),
    ...(plan === null ? {} : draftView(plan, sources)),
    stages: plan === null ? [] : plan.stages.map((stage) => stageView(plan, stage, sources, figures?.busyShares[stage.rank] ?? null)),
    notes: plan?.explanation.filter((note) => !isOver(note, sources)) ?? [],
    life: lifeOf(instance),
    activeSequences: figures?.running ?? null,
    queuedSequences: figures?.queued ?? null,
    stepsInFlight: figures?.inFlight ?? null,
    reusedTokens: figures?.reusedTokens ?? null,
    guesses: figures?.guesses ?? null,
    predictedTokensPerSecond: plan?.predictedTokensPerSecond ?? null,
    pace: plan === null ? null : paceOf(plan, sources),
    hops: figures?.hops ?? null,
  };
}

/** It says that a node was silent, and the node is heard. */
function isOver({ nodeId, passing }: PlanNote, { cluster }: ViewSources): boolean {
  return passing === true && nodeId !== null && cluster.liveness(nodeId) === 'alive';
}

/** The head tells everybody, with the state of its stage. */
function paceOf(plan: Plan, sources: ViewSources): TokenPace | null {
  const [head] = plan.stages;
  return head === undefined ? null : statusOf(plan, head, sources)?.pace ?? null;
}

function draftView(plan: Plan, sources: ViewSources): Pick<InstanceView, 'draft'> {
  const { draft, stages: [head] } = plan;
  if (draft === undefined) return {};
  const status = head === undefined ? undefined : statusOf(plan, head, sources)?.draft;
  const { state = 'unknown', reason = '', residentBytes = 0 } = status ?? {};
  return { draft: { model: draft.model.name, predictedBytes: draft.predictedBytes, state, reason, residentBytes } };
}

function statusOf(plan: Plan, stage: StagePlan, sources: ViewSources): StageStatus | undefined {
  const matches = (status: StageStatus): boolean => status.planId === plan.planId && status.rank === stage.rank;
  return sources.localStatuses.find(matches) ?? sources.cluster.stageStatuses().get(stage.nodeId)?.find(matches);
}

function stageView(plan: Plan, stage: StagePlan, sources: ViewSources, busyShare: number | null): StageView {
  const status = statusOf(plan, stage, sources);
  return {
    rank: stage.rank,
    nodeId: stage.nodeId,
    hostname: hostnameOf(stage.nodeId, sources.cluster),
    range: stage.range,
    backend: stage.backend ?? null,
    state: status?.state ?? 'unknown',
    progress: status?.progress ?? 0,
    error: status?.error?.message ?? null,
    predictedBytes: stage.predictedBytes,
    spill: stage.spill ?? null,
    residentBytes: status?.residentBytes ?? 0,
    fetchedBytes: status?.fetchedBytes ?? 0,
    buildMs: status?.buildMs ?? null,
    busyShare,
  };
}

/** Requests name a model by digest; people know it by the name that its holder gives it. */
function nameOf(reference: string, cluster: ViewSources['cluster']): string {
  for (const record of cluster.records()) {
    const held = record.capabilities.models.find((model) => model.digest === reference);
    if (held !== undefined) return held.name;
  }
  return reference;
}

export function hostnameOf(nodeId: NodeId, cluster: Pick<ClusterNode, 'records'>): string {
  return cluster.records().find((record) => record.nodeId === nodeId)?.capabilities.hostname ?? nodeId;
}

function nodeViews({ cluster, network }: StatusSources): NodeView[] {
  const coordinator = cluster.coordinator();
  const known = cluster.records()
    .map((record): NodeView | null => {
      const self = record.nodeId === network.nodeId;
      const liveness = self ? 'alive' : cluster.liveness(record.nodeId);
      if (liveness === 'dead') return null;
      return {
        nodeId: record.nodeId,
        self,
        coordinator: record.nodeId === coordinator,
        capabilities: record.capabilities,
        addresses: record.addresses,
        state: liveness,
        problem: null,
      };
    })
    .filter((view): view is NodeView => view !== null);
  const refused = network.refused()
    // A living node that listens where another identity was remembered has taken its place.
    .filter(({ nodeId, address, code }) => !known.some((view) => view.state === 'alive'
      && (view.nodeId === nodeId || (code !== 'cloned_identity' && view.addresses.includes(address)))))
    .map(({ nodeId, address, code, message }): NodeView => ({
      nodeId,
      self: false,
      coordinator: false,
      capabilities: null,
      addresses: address === '' ? [] : [address],
      state: code === 'cloned_identity' ? 'cloned' : 'incompatible',
      problem: message,
    }));
  return [...known, ...refused].sort((a, b) => (a.nodeId < b.nodeId ? -1 : a.nodeId > b.nodeId ? 1 : 0));
}
