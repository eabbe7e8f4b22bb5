/**
 * One life of an agent's process in the simulation: its clock, and the door through which everything from outside comes
 * in. A process that is dead hears nothing; one that stands still hears everything later, timers first.
 */
import type { Clock } from '../../src/ports.js';
import type { EventQueue } from './event-queue.js';

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly call: () => void;
}

/** What drives a process: simulated time, and work that is carried out one piece after the other. */
export interface Scheduler {
  readonly queue: EventQueue;
  now(): number;
  /** Behind whatever is being carried out. */
  soon(run: () => void): void;
}

export class FakeProcess {
  readonly clock: Clock;
  private dead = false;
  private frozenUntilMs = 0;
  /** Simulated time less this is the process's own time. */
  private offsetMs = 0;
  private order = 0;
  private readonly backlog: (() => void)[] = [];
  private readonly timers = new Set<Timer>();

  constructor(readonly name: string, private readonly scheduler: Scheduler) {
    this.clock = {
      now: () => this.scheduler.now() - this.offsetMs,
      after: (delayMs, call) => this.after(delayMs, call),
    };
  }

  get isDead(): boolean {
    return this.dead;
  }

  get isFrozen(): boolean {
    return this.scheduler.now() < this.frozenUntilMs;
  }

  die(): void {
    this.dead = true;
    this.timers.clear();
    this.backlog.length = 0;
  }

  /** Something from outside: now, or when the process runs again. */
  enter(run: () => void): void {
    if (this.dead) return;
    if (this.isFrozen || this.backlog.length > 0) this.backlog.push(run);
    else run();
  }

  /** Stands still. `unnoticed`: its clock does too, as in the sleep of some machines. */
  freeze(forMs: number, unnoticed: boolean): void {
    if (this.dead || this.isFrozen) return;
    this.frozenUntilMs = this.scheduler.now() + forMs;
    this.scheduler.queue.at(this.frozenUntilMs, () => {
      if (unnoticed) this.jump(-forMs);
      this.thaw();
    });
  }

  /** The clock is suddenly further on; negative = it is behind by that much. */
  jump(byMs: number): void {
    this.offsetMs -= byMs;
    // Whatever is due now, or due at another time than the queue knows.
    for (const timer of [...this.timers]) this.schedule(timer);
  }

  private after(delayMs: number, call: () => void): () => void {
    this.order += 1;
    const timer: Timer = { dueMs: this.clock.now() + delayMs, order: this.order, call };
    this.timers.add(timer);
    this.schedule(timer);
    return () => this.timers.delete(timer);
  }

  private schedule(timer: Timer): void {
    this.scheduler.queue.at(Math.max(this.scheduler.now(), timer.dueMs + this.offsetMs), () => this.ring(timer));
  }

  private ring(timer: Timer): void {
    if (this.isFrozen || !this.timers.has(timer) || this.clock.now() < timer.dueMs) return;
    this.timers.delete(timer);
    timer.call();
  }

  private thaw(): void {
    if (this.dead) return;
    const nowMs = this.clock.now();
    const overdue = [...this.timers].filter(({ dueMs }) => dueMs <= nowMs).sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
    this.backlog.unshift(...overdue.map((timer) => () => this.ring(timer)));
    this.catchUp();
  }

  /** Whatever else comes in meanwhile comes after it. */
  private catchUp(): void {
    if (this.backlog.length === 0 || this.isFrozen) return;
    this.scheduler.soon(() => {
      if (this.isFrozen) return;
      this.backlog.shift()?.();
      this.catchUp();
    });
  }
}
