/** `agent plan MODEL`: who would run what, and why, without running it. */
import type { ClusterStatus } from '../agent/service.js';
import type { Plan } from '../core/types.js';
import type { LicenceOptions } from './licence.js';
import { withLicence } from './licence.js';
import { modelReference } from './model-reference.js';
import { whileShown } from './progress-line.js';
import { renderPlan } from './render.js';
import { requireAgent } from './require-agent.js';
import { ringFields } from './ring-flags.js';
import type { RingFlags } from './ring-flags.js';

/** A model on the internet has its header read first. */
const PLAN_DEADLINE_MS = 5 * 60_000;

export interface PlanOptions extends LicenceOptions, RingFlags {
  readonly policy: string;
  readonly json?: boolean;
}

export async function planCommand(model: string, options: PlanOptions): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const plan = await withLicence(model, options, () => whileShown(`looking up and planning ${model}`, client.post('/v1/cluster/plan', {
    model: modelReference(model),
    policy: options.policy,
    ...ringFields(options),
  }, AbortSignal.timeout(PLAN_DEADLINE_MS)))) as Plan;
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify(plan, null, 2)}\n`);
    return;
  }
  const status = await client.get('/v1/cluster') as ClusterStatus;
  process.stdout.write(`${renderPlan(plan, status.nodes)}\n`);
}
