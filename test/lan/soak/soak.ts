/**
 * A soak: four hosts, constant requests, and every few seconds something breaks. Nothing may be lost but what died with
 * the agent that a client was connected to, no token may be another than the undisturbed one, and what the agents take
 * (processes, descriptors, memory) must come back to what it was.
 *
 * `runSoak` is called by `npm run soak` and, shorter, by the tests. Choices are seeded; what time makes of them is not.
 */
import { Random } from '../../sim/random.js';
import { waitUntil } from '../../support/processes.js';
import { askUndisturbed, Clients } from './clients.js';
import type { Outcomes } from './clients.js';
import { takeCensus } from './census.js';
import type { Census } from './census.js';
import { Faults } from './faults.js';
import { HOST_NUMBERS, SoakHosts } from './hosts.js';
import { pause } from './pause.js';

const CLIENTS = 4;
const MAX_CENSUSES = 24;
const MIN_CENSUS_INTERVAL_MS = 3_000;
/** An agent, its stage's runner, its vocabulary's. */
const MAX_PROCESSES = 3;
/** A released runner waits some seconds for a plan that wants it. */
const RUNNERS_END_MS = 25_000;
const POLL_MS = 250;
/** More descriptors than an idle agent of this cluster had at the start: connections come and go. */
const DESCRIPTORS_SLACK = 12;
/** Above the watched agent's memory when it had seen everything once. */
const MEMORY_SLACK_MEGABYTES = 64;
/** An agent that has just started may take so much in all. */
const MAX_RESIDENT_MEGABYTES = 400;

export interface SoakOptions {
  /** Of faults; setting up and the last checks come on top. */
  readonly seconds: number;
  readonly seed: number;
  /** A line for every fault. */
  say(line: string): void;
}

export interface SoakReport {
  readonly seed: number;
  readonly outcomes: Outcomes;
  readonly faults: ReadonlyMap<string, number>;
  /** The first before anything broke, the last when all was repaired. */
  readonly censuses: readonly Census[];
  /** The host whose agent was never ended. */
  readonly steady: number;
  /** Everything that must not be; empty = the soak holds. */
  readonly problems: readonly string[];
  readonly logs: string;
}

export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const random = new Random(options.seed);
  const hosts = await SoakHosts.start();
  try {
    const steady = hosts.all[options.seed % HOST_NUMBERS.length];
    if (steady === undefined) throw new Error('no host to watch');
    const questions = await askUndisturbed(hosts, random);
    const startMs = performance.now();
    const untilMs = startMs + options.seconds * 1000;
    const censuses: Census[] = [takeCensus(hosts)];
    const faults = new Faults(hosts, random, steady, (line) => options.say(`${((performance.now() - startMs) / 1000).toFixed(1).padStart(6)} s  ${line}`));
    const clients = new Clients(hosts, new Random(options.seed + 1), questions, faults.momentsMs);
    await Promise.all([
      ...Array.from({ length: CLIENTS }, () => clients.run(untilMs)),
      faults.run(untilMs),
      watch(hosts, censuses, untilMs, Math.max(MIN_CENSUS_INTERVAL_MS, (options.seconds * 1000) / MAX_CENSUSES)),
    ]);
    const problems = [...clients.outcomes.lost.map((text) => `lost: ${text}`), ...clients.outcomes.wrong.map((text) => `wrong: ${text}`), ...faults.problems];
    problems.push(...await whatIsLeft(hosts, censuses, steady.number));
    return { seed: options.seed, outcomes: clients.outcomes, faults: faults.counts, censuses, steady: steady.number, problems, logs: problems.length === 0 ? '' : hosts.output() };
  } finally {
    await hosts.lan.destroy();
  }
}

async function watch(hosts: SoakHosts, censuses: Census[], untilMs: number, intervalMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    await pause(Math.min(intervalMs, Math.max(0, untilMs - performance.now())));
    censuses.push(takeCensus(hosts));
  }
}

/** What has not come back to what it was, once all is repaired. Adds the last census. */
async function whatIsLeft(hosts: SoakHosts, censuses: Census[], steady: number): Promise<string[]> {
  const problems: string[] = [];
  const note = (error: unknown): void => void problems.push(error instanceof Error ? error.message : String(error));
  await Promise.all(hosts.all.filter(({ agent }) => agent === null).map((host) => host.start())).catch(note);
  await hosts.settled().catch(note);
  let last = takeCensus(hosts);
  await waitUntil(() => {
    last = takeCensus(hosts);
    return last.hosts.every(({ processes }) => processes <= MAX_PROCESSES);
  }, { timeoutMs: RUNNERS_END_MS, pollMs: POLL_MS, what: `at most ${MAX_PROCESSES} processes a host` }).catch(note);
  const before = censuses[0]?.hosts ?? [];
  const descriptorsBefore = Math.max(...before.map(({ descriptors }) => descriptors));
  for (const { host, descriptors, residentMegabytes } of last.hosts) {
    if (descriptors > descriptorsBefore + DESCRIPTORS_SLACK) problems.push(`host ${host}: ${descriptors} descriptors are open; at the start there were at most ${descriptorsBefore}`);
    if (residentMegabytes > MAX_RESIDENT_MEGABYTES) problems.push(`host ${host}: the agent holds ${residentMegabytes.toFixed(0)} MB`);
  }
  const watched = [...censuses, last].flatMap((census) => census.hosts.filter(({ host }) => host === steady)).map(({ residentMegabytes }) => residentMegabytes);
  const settledMegabytes = Math.max(...watched.slice(0, Math.max(2, Math.ceil(watched.length / 4))));
  const lastMegabytes = watched.at(-1) ?? 0;
  if (lastMegabytes > settledMegabytes + MEMORY_SLACK_MEGABYTES) problems.push(`host ${steady}: the agent's memory grew from ${settledMegabytes.toFixed(0)} to ${lastMegabytes.toFixed(0)} MB`);
  censuses.push(last);
  return problems;
}
