/** `agent plan MODEL`: who would run what, and why, without running it. */
import type { ClusterStatus } from '../agent/service.js';
import type { ActivationType, GgmlCacheType, Plan } from '../core/types.js';
import type { LicenceOptions } from './licence.js';
import { withLicence } from './licence.js';
import { modelReference } from './model-reference.js';
import { whileShown } from './progress-line.js';
import { renderPlan } from './render.js';
import { requireAgent } from './require-agent.js';

/** A model on the internet has its header read first. */
const PLAN_DEADLINE_MS = 5 * 60_000;

export interface PlanOptions extends LicenceOptions {
  readonly policy: string;
  readonly nodes?: number;
  readonly ctx?: number;
  readonly slots?: number;
  readonly kvType?: GgmlCacheType;
  readonly activations?: ActivationType;
  readonly json?: boolean;
}

export async function planCommand(model: string, options: PlanOptions): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const plan = await withLicence(model, options, () => whileShown(`looking up and planning ${model}`, client.post('/v1/cluster/plan', {
    model: modelReference(model),
    policy: options.policy,
    ...(options.nodes === undefined ? {} : { nodes: options.nodes }),
    ...(options.ctx === undefined ? {} : { contextTokens: options.ctx }),
    ...(options.slots === undefined ? {} : { slots: options.slots }),
    ...(options.kvType === undefined ? {} : { cacheType: options.kvType }),
    ...(options.activations === undefined ? {} : { activations: options.activations }),
  }, AbortSignal.timeout(PLAN_DEADLINE_MS)))) as Plan;
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify(plan, null, 2)}\n`);
    return;
  }
  const status = await client.get('/v1/cluster') as ClusterStatus;
  process.stdout.write(`${renderPlan(plan, status.nodes)}\n`);
}
