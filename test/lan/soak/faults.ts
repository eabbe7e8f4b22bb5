/**
 * What breaks in a soak, and when: a seeded choice every few seconds, each with its repair. At most two hosts are in
 * trouble at a time, and of faults of the network one. It must not know clients.
 */
import type { Random } from '../../sim/random.js';
import { pause } from './pause.js';
import type { SoakHost, SoakHosts } from './hosts.js';

const MAX_TROUBLED = 2;
/** Between two faults. */
const MIN_GAP_MS = 1_500;
const MAX_GAP_MS = 5_000;
/** A host stays switched off, cut off or stopped for so long. */
const MIN_TROUBLE_MS = 500;
const MAX_TROUBLE_MS = 4_000;
const OTHER_PORTS = [11_601, 11_900] as const;

interface FaultKind {
  readonly name: string;
  /** Of all draws. */
  readonly weight: number;
  readonly network?: boolean;
  /** Ends the agent's process: not for the host whose memory is watched from beginning to end. */
  readonly deadly?: boolean;
  /** Resolves when everything is repaired. */
  run(victim: SoakHost, scene: Scene): Promise<void>;
}

interface Scene {
  readonly hosts: SoakHosts;
  readonly random: Random;
  readonly troubleMs: number;
}

const KINDS: readonly FaultKind[] = [
  { name: 'kill -9', weight: 3, deadly: true, run: (victim, scene) => endAndStart(victim, scene, 'kill -9') },
  { name: 'kill -9 of the agent alone', weight: 2, deadly: true, run: (victim, scene) => endAndStart(victim, scene, 'kill -9 of the agent alone') },
  { name: 'agent stop', weight: 2, deadly: true, run: (victim, scene) => endAndStart(victim, scene, 'stop') },
  {
    name: 'kill -9 of runners', weight: 3,
    run: async (victim) => victim.agent?.signalRunners('SIGKILL'),
  },
  {
    name: 'SIGSTOP of the agent', weight: 2,
    run: async (victim, { troubleMs }) => {
      victim.agent?.freeze();
      await pause(troubleMs);
      victim.agent?.thaw();
    },
  },
  {
    name: 'SIGSTOP of runners', weight: 2,
    run: async (victim, { troubleMs }) => {
      victim.agent?.signalRunners('SIGSTOP');
      await pause(troubleMs);
      victim.agent?.signalRunners('SIGCONT');
    },
  },
  {
    name: 'link down', weight: 3, network: true,
    run: async (victim, { hosts, troubleMs }) => {
      await hosts.lan.linkDown(victim.number);
      await pause(troubleMs);
      await hosts.lan.heal();
    },
  },
  {
    name: 'partition', weight: 2, network: true,
    run: async (victim, { hosts, random, troubleMs }) => {
      const friend = random.pick(hosts.all.filter((host) => host !== victim));
      const side = [victim.number, friend?.number ?? victim.number];
      await hosts.lan.partition([side, hosts.all.map(({ number }) => number).filter((number) => !side.includes(number))]);
      await pause(troubleMs);
      await hosts.lan.heal();
    },
  },
];

async function endAndStart(victim: SoakHost, { random, troubleMs }: Scene, how: Parameters<SoakHost['end']>[0]): Promise<void> {
  await victim.end(how);
  await pause(troubleMs);
  const elsewhere = random.chance(0.3) ? ['--listen', String(random.between(...OTHER_PORTS))] : [];
  await victim.start(elsewhere);
}

/** Draws faults until it is told to stop. */
export class Faults {
  readonly counts = new Map<string, number>(KINDS.map(({ name }) => [name, 0]));
  /** When each fault began. */
  readonly momentsMs: number[] = [];
  /** What went wrong with breaking and repairing themselves. */
  readonly problems: string[] = [];
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly hosts: SoakHosts, private readonly random: Random, private readonly steady: SoakHost, private readonly say: (line: string) => void) {}

  /** Resolves when nothing is broken any more. */
  async run(untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      await pause(this.random.between(MIN_GAP_MS, MAX_GAP_MS));
      if (performance.now() < untilMs) this.draw();
    }
    await Promise.all(this.underWay);
  }

  private draw(): void {
    const troubled = this.hosts.all.filter((host) => host.trouble !== null);
    const victim = this.random.pick(this.hosts.all.filter((host) => host.trouble === null && host.agent !== null));
    if (victim === null || troubled.length >= MAX_TROUBLED) return;
    const networkBusy = troubled.some((host) => KINDS.some((kind) => kind.network === true && kind.name === host.trouble));
    const kind = this.pick(KINDS.filter((candidate) => !(candidate.network === true && networkBusy) && !(candidate.deadly === true && victim === this.steady)));
    const scene = { hosts: this.hosts, random: this.random, troubleMs: this.random.between(MIN_TROUBLE_MS, MAX_TROUBLE_MS) };
    this.counts.set(kind.name, (this.counts.get(kind.name) ?? 0) + 1);
    this.momentsMs.push(performance.now());
    this.say(`${kind.name} of host ${victim.number}, ${scene.troubleMs} ms`);
    victim.trouble = kind.name;
    const run = kind.run(victim, scene)
      .catch((error: unknown) => void this.problems.push(`${kind.name} of host ${victim.number}: ${error instanceof Error ? error.message : String(error)}`))
      .finally(() => {
        victim.trouble = null;
        this.underWay.delete(run);
      });
    this.underWay.add(run);
  }

  private pick(kinds: readonly FaultKind[]): FaultKind {
    const lots = kinds.flatMap((kind) => new Array<FaultKind>(kind.weight).fill(kind));
    const kind = this.random.pick(lots);
    if (kind === null) throw new Error('no fault is possible');
    return kind;
  }
}
