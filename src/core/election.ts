/**
 * Who coordinates (docs/how-it-works.md, "Who decides"): one state machine a node, fed with claims, words and time.
 *
 * An incumbent stays. A newcomer listens before it dares; who lost a coordinator claims at once, staggered by rank among
 * the living so that one claim wins, and never while another node still hears a coordinator. There is no quorum: both sides of
 * a split have a coordinator, and when they meet the stronger stays (serves more; else the higher term). The weaker one
 * yields only when the other's desired state carries all of its own, so nothing that runs is ever dropped for a title.
 * A node alone never raises the counter: a laptop that was away comes back with the term it left with.
 *
 * It must not know what instances are: the caller tells whether one desired state covers another.
 */
import { assert } from './errors.js';
import type { CoordinatorMessage } from './messages.js';
import { compareIds, compareTerms, isTerm } from './terms.js';
import type { Millis, NodeId, Term } from './types.js';

/** A newcomer listens for a coordinator this long, from its first connection on. */
const ELECTION_TIMEOUT_MS = 1_000;
/** Added per rank among the living, so that the first claim is heard before the second is made. */
const CLAIM_STAGGER_MS = 200;
/** Ranks beyond wait no longer than this one; their claims may meet, and then the stronger stays. */
const MAX_STAGGER_RANK = 8;
/** A node without any other coordinates itself after this. */
const SOLO_WAIT_MS = 500;
/** A coordinator that lives but does not say so has stepped down. */
const COORDINATOR_TIMEOUT_MS = 2_000;
/** A claim that does not carry our instances may be on its way to do so; then we claim too, and are heard. */
const ADOPTION_WAIT_MS = 1_000;
/** The weaker of two coordinators yields after this even if the stronger never took its instances over. */
const ADOPTION_DEADLINE_MS = 5_000;

export type Role = 'waiting' | 'follower' | 'coordinator';

/** What to do with a claim's desired state: nothing, take it as ours, or adopt its instances into ours. */
export type ClaimVerdict = 'ignore' | 'follow' | 'adopt';

export interface ClaimView {
  /** Stages that run on our side. */
  readonly serving: number;
  /** Whether the claim's desired state carries everything of ours. */
  covers(): boolean;
}

export class Election {
  private currentRole: Role = 'waiting';
  private currentTerm: Term | null = null;
  private highest: Term | null = null;
  private readonly otherTerms = new Map<NodeId, Term | null>();
  private waitingSinceMs: Millis;
  private patienceMs = ELECTION_TIMEOUT_MS;
  private fresh = true;
  private lastClaimMs: Millis;
  private handedTo: NodeId | null = null;
  private uncoveredSinceMs: Millis | null = null;
  private rival: { readonly node: NodeId; readonly sinceMs: Millis; lastMs: Millis } | null = null;
  /** A coordinator that has told others. One that never did has nothing to lose when it meets its first other node. */
  private announced = false;

  constructor(private readonly self: NodeId, nowMs: Millis) {
    this.waitingSinceMs = nowMs;
    this.lastClaimMs = nowMs;
  }

  role(): Role {
    return this.currentRole;
  }

  /** Our own reign, or the one that we follow; null while there is none. */
  term(): Term | null {
    return this.currentTerm;
  }

  /** A node that hears a coordinator which we do not hear; for people. */
  coordinatorOfOthers(): NodeId | null {
    for (const term of this.otherTerms.values()) if (term !== null && term.node !== this.self) return term.node;
    return null;
  }

  follows(nodeId: NodeId): NodeId | null {
    return this.otherTerms.get(nodeId)?.node ?? null;
  }

  nodeConnected(aloneBefore: boolean, hasInstances: boolean, nowMs: Millis): void {
    if (!aloneBefore) return;
    if (this.currentRole === 'coordinator' && !this.announced) {
      if (hasInstances) this.announced = true;
      else this.wait(ELECTION_TIMEOUT_MS, nowMs);
    } else if (this.currentRole === 'waiting') {
      this.wait(this.fresh ? ELECTION_TIMEOUT_MS : 0, nowMs);
    }
  }

  /** Dead, gone on purpose, or another process now: what it said no longer holds. */
  nodeGone(nodeId: NodeId, nowMs: Millis): void {
    this.otherTerms.delete(nodeId);
    if (this.currentRole === 'follower' && this.currentTerm?.node === nodeId) this.wait(0, nowMs);
  }

  /** What another node's `alive` says: whom it follows, null = nobody. */
  nodeFollows(from: NodeId, term: Term | null, nowMs: Millis): void {
    if (term !== null && !isTerm(term)) return;
    this.otherTerms.set(from, term);
    if (term === null) return;
    this.see(term);
    if (this.currentRole !== 'follower' || this.currentTerm?.node !== from || term.node === from) return;
    // Our coordinator follows another one now. Late words name older terms.
    if (compareTerms(term, this.currentTerm) <= 0) return;
    if (term.node === this.self) return;
    this.wait(ADOPTION_WAIT_MS, nowMs);
    this.handedTo = term.node;
  }

  onClaim(from: NodeId, claim: CoordinatorMessage, view: ClaimView, nowMs: Millis): ClaimVerdict {
    if (claim.term.node !== from || from === this.self || !isTerm(claim.term)) return 'ignore';
    this.see(claim.term);
    switch (this.currentRole) {
      case 'coordinator':
        return this.meetRival(from, claim, view, nowMs);
      case 'follower': {
        if (this.currentTerm?.node !== from || compareTerms(claim.term, this.currentTerm) < 0) return 'ignore';
        return this.follow(claim.term, nowMs);
      }
      case 'waiting': {
        if (view.covers()) return this.follow(claim.term, nowMs);
        this.uncoveredSinceMs ??= nowMs;
        if (nowMs - this.uncoveredSinceMs < ADOPTION_WAIT_MS) return 'ignore';
        // The coordinator that we followed has decided what to keep when it handed over.
        if (this.handedTo === from) return this.follow(claim.term, nowMs);
        this.claim();
        return 'adopt';
      }
    }
  }

  /** Claims when it is time to; `living` are the nodes that are not dead, without us. */
  tick(living: readonly NodeId[], nowMs: Millis): void {
    if (this.currentRole === 'follower' && nowMs - this.lastClaimMs > COORDINATOR_TIMEOUT_MS) this.wait(0, nowMs);
    if (this.currentRole !== 'waiting') return;
    const waitedMs = nowMs - this.waitingSinceMs;
    if (living.length === 0) {
      if (waitedMs >= (this.fresh ? SOLO_WAIT_MS : 0)) this.claimAlone();
      return;
    }
    const rank = [this.self, ...living].sort(compareIds).indexOf(this.self);
    if (waitedMs < this.patienceMs + Math.min(rank, MAX_STAGGER_RANK) * CLAIM_STAGGER_MS) return;
    const heard = living.some((nodeId) => {
      const term = this.otherTerms.get(nodeId) ?? null;
      return term !== null && term.node !== this.self;
    });
    if (!heard) this.claim();
  }

  /** Somebody at this node asks for work and nobody else is there: no reason to wait. */
  claimAlone(): void {
    assert(this.currentRole === 'waiting', 'only who has no coordinator claims');
    this.reign({ counter: this.highest?.counter ?? 1, node: this.self }, false);
  }

  private claim(): void {
    const own = this.highest?.node === this.self ? this.highest : null;
    this.reign(own ?? { counter: (this.highest?.counter ?? 0) + 1, node: this.self }, true);
  }

  private reign(term: Term, announced: boolean): void {
    this.currentRole = 'coordinator';
    this.currentTerm = term;
    this.announced = announced;
    this.fresh = false;
    this.rival = null;
    this.handedTo = null;
    this.uncoveredSinceMs = null;
    this.see(term);
  }

  private meetRival(from: NodeId, claim: CoordinatorMessage, view: ClaimView, nowMs: Millis): ClaimVerdict {
    const own = this.currentTerm;
    assert(own !== null, 'a coordinator has a term');
    this.announced = true;
    const stronger = view.serving !== claim.serving ? view.serving > claim.serving : compareTerms(own, claim.term) > 0;
    if (stronger) {
      // Terms only ever grow along a handover, so the one that stays must hold the higher one.
      if (compareTerms(own, claim.term) < 0) this.reign({ counter: (this.highest ?? claim.term).counter + 1, node: this.self }, true);
      return 'adopt';
    }
    if (this.rival === null || this.rival.node !== from || nowMs - this.rival.lastMs > COORDINATOR_TIMEOUT_MS) {
      this.rival = { node: from, sinceMs: nowMs, lastMs: nowMs };
    }
    this.rival.lastMs = nowMs;
    if (compareTerms(claim.term, own) < 0) return 'ignore';
    if (!view.covers() && nowMs - this.rival.sinceMs < ADOPTION_DEADLINE_MS) return 'ignore';
    return this.follow(claim.term, nowMs);
  }

  private follow(term: Term, nowMs: Millis): ClaimVerdict {
    this.currentRole = 'follower';
    this.currentTerm = term;
    this.lastClaimMs = nowMs;
    this.fresh = false;
    this.announced = false;
    this.rival = null;
    this.handedTo = null;
    this.uncoveredSinceMs = null;
    return 'follow';
  }

  private wait(patienceMs: number, nowMs: Millis): void {
    this.currentRole = 'waiting';
    this.currentTerm = null;
    this.waitingSinceMs = nowMs;
    this.patienceMs = patienceMs;
    this.handedTo = null;
    this.uncoveredSinceMs = null;
  }

  private see(term: Term): void {
    if (this.highest === null || compareTerms(term, this.highest) > 0) this.highest = term;
  }
}
