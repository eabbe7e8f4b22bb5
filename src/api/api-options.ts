/**
 * What the routes need beside the agent itself: policy, identity of answers, deadlines. Filled by server.ts and tests.
 */
import type { HttpBindings } from '@hono/node-server';
import type { Log } from '../ports.js';
import type { HostPolicy } from './guards.js';

export interface ApiOptions {
  readonly agentVersion: string;
  readonly hosts: HostPolicy;
  /** Empty = no key is asked for. */
  readonly apiKeys: readonly string[];
  readonly log: Log;
  /** Unix seconds at the start of the agent. */
  readonly startedAt: number;
  /** Unix seconds. */
  now(): number;
  /** A u32, for requests that bring no seed. */
  randomSeed(): number;
  /** Unique part of an answer's id. */
  newId(): string;
  /** Aborted when the agent stops: every answer in progress ends. */
  readonly shutdown: AbortSignal;
  readonly heartbeatMs: number;
  readonly stallMs: number;
}

/** Hono's environment. The bindings are absent when a test calls the app without a server. */
export interface ApiEnv {
  Bindings: Partial<HttpBindings>;
}
