/**
 * Safety of what coordinators say, looked at word by word: one coordinator a term, one meaning of every version and plan,
 * plans that serve each layer once, and none that is active before all its stages were ready.
 *
 * Both simulations use it (world.ts, agent-world.ts). It must not know how words travel.
 */
import type { CoordinatorMessage } from '../../src/core/messages.js';
import type { Instance, NodeId, Plan } from '../../src/core/types.js';

export class ClaimChecks {
  private readonly claims = new Map<string, string>();
  private readonly plans = new Map<string, string>();
  private readonly everReady = new Set<string>();

  constructor(private readonly violation: (text: string) => void) {}

  stageReady(planId: string, rank: number): void {
    this.everReady.add(stageKey(planId, rank));
  }

  claim(from: NodeId, incarnation: number, { term, desired }: CoordinatorMessage): void {
    if (term.node !== from) this.violation(`${from} claims the term of ${term.node}`);
    const claim = `${term.counter}.${term.node}/${incarnation} version ${desired.version}`;
    const content = JSON.stringify(desired.instances);
    if ((this.claims.get(claim) ?? content) !== content) this.violation(`${claim} means two things`);
    this.claims.set(claim, content);
    for (const { plan, state } of desired.instances) if (plan !== null) this.checkPlan(plan, state);
  }

  private checkPlan(plan: Plan, state: Instance['state']): void {
    const content = JSON.stringify(plan);
    const known = this.plans.get(plan.planId);
    if (known === undefined) {
      let next = 0;
      plan.stages.forEach((stage, rank) => {
        if (stage.rank !== rank || stage.range.start !== next || stage.range.end <= next) this.violation(`plan ${plan.planId} does not tile: ${content}`);
        next = stage.range.end;
      });
      if (next !== plan.model.layers) this.violation(`plan ${plan.planId} ends at layer ${next} of ${plan.model.layers}`);
    } else if (known !== content) {
      this.violation(`plan id ${plan.planId} means two plans`);
    }
    this.plans.set(plan.planId, content);
    if (state !== 'active') return;
    for (const stage of plan.stages) {
      if (!this.everReady.has(stageKey(plan.planId, stage.rank))) this.violation(`plan ${plan.planId} is active but its stage ${stage.rank} was never ready`);
    }
  }
}

export function stageKey(planId: string, rank: number): string {
  return `${planId}#${rank}`;
}
