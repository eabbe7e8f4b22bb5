/**
 * Terms and plan ids: their order. A term is a pair (counter, node), so no two nodes can ever hold the same one; a plan
 * id carries the term that created the plan, so it tells which of two plans is newer.
 */
import type { NodeId, Term } from './types.js';

/** No real cluster gets here; a node that claims more is not believed, so that counters cannot run out. */
const MAX_TERM_COUNTER = 2 ** 48;

export function isTerm(term: Term): boolean {
  return Number.isSafeInteger(term.counter) && term.counter >= 1 && term.counter <= MAX_TERM_COUNTER && term.node.length > 0;
}

/** Negative when `a` is older. */
export function compareTerms(a: Term, b: Term): number {
  return a.counter - b.counter || compareIds(a.node, b.node);
}

export function sameTerm(a: Term | null, b: Term | null): boolean {
  return a === null || b === null ? a === b : a.counter === b.counter && a.node === b.node;
}

/** Plain string order: the same on every node, whatever its locale. */
export function compareIds(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function makePlanId(term: Term, serial: number): string {
  return `${term.counter}.${term.node}.${serial}`;
}

interface PlanIdParts {
  readonly counter: number;
  readonly node: NodeId;
  readonly serial: number;
}

/** Total order of plan ids by the term that made them, then serial; an id of another form is oldest. */
export function comparePlanIds(a: string, b: string): number {
  const [left, right] = [parsePlanId(a), parsePlanId(b)];
  return left.counter - right.counter || compareIds(left.node, right.node) || left.serial - right.serial || compareIds(a, b);
}

function parsePlanId(planId: string): PlanIdParts {
  const parts = /^(\d{1,15})\.(.*)\.(\d{1,15})$/s.exec(planId);
  return { counter: Number(parts?.[1] ?? 0), node: parts?.[2] ?? '', serial: Number(parts?.[3] ?? 0) };
}
