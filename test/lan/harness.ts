/**
 * A LAN on one machine: hosts are network namespaces (with a hostname of their own) joined by a bridge in one more
 * namespace, so that tests run real processes over real sockets, pull cables and split networks.
 *
 * Needs root and iproute2; `lanAvailable` says why there is none. Everything is reaped by `destroy`, when the test
 * process exits, and, should it have crashed, by the next `createLan` on this machine. It must not know agents.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isGone, ownerLives, uniqueName } from '../support/owner.js';
import { clearStaleProcesses, killQuietly, runToEnd, TestChild, waitUntil } from '../support/processes.js';
import type { ChildOptions, Finished } from '../support/processes.js';
import type { HttpTarget } from '../support/http.js';

const NAME_PREFIX = 'ringlan-';
const NAMESPACE_DIRECTORY = '/run/netns';
const SUBNET = '10.88.0';
const MAX_HOSTS = 64;
const IP_DEADLINE_MS = 10_000;
const REAP_DEADLINE_MS = 5_000;
const FORWARDER_DEADLINE_MS = 10_000;
const DEFAULT_RUN_DEADLINE_MS = 30_000;
/** All ports start here; a partition makes one more bridge for each group. */
const WHOLE_BRIDGE = 'br0';

/** Joins a unix socket (argv 1) to a port (argv 2) of the loopback it runs on; hangs up on one side when the other does. */
const FORWARDER_PROGRAM = `
const net = require('node:net');
net.createServer({ allowHalfOpen: true }, (near) => {
  const far = net.connect({ host: '127.0.0.1', port: Number(process.argv[2]), allowHalfOpen: true });
  for (const [one, other] of [[near, far], [far, near]]) {
    one.pipe(other);
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}).listen(process.argv[1], () => console.log('listening'));
`;

/** Joins a port (argv 2) of every address of this host to a unix socket (argv 1) that another namespace listens on. */
const ENTRANCE_PROGRAM = `
const net = require('node:net');
net.createServer({ allowHalfOpen: true }, (near) => {
  const far = net.connect({ path: process.argv[1], allowHalfOpen: true });
  for (const [one, other] of [[near, far], [far, near]]) {
    one.pipe(other);
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}).listen(Number(process.argv[2]), '0.0.0.0', () => console.log('listening'));
`;

export interface LanOptions {
  /** Hosts are numbered 1..hosts and have the addresses 10.88.0.1 .. */
  readonly hosts: number;
  /** Of each host's link, as tc writes it, e.g. `1gbit`. Absent = as fast as the machine. */
  readonly rate?: string;
  /** False leaves out the multicast route, so that mDNS finds nobody. Default true. */
  readonly multicast?: boolean;
}

export type LanAvailability = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Whether this machine can have a LAN; the reason goes into the skipped test's title. */
export function lanAvailable(): LanAvailability {
  if (process.platform !== 'linux') return { ok: false, reason: 'network namespaces need Linux' };
  if (process.getuid?.() !== 0) return { ok: false, reason: 'network namespaces need root' };
  const name = `${NAME_PREFIX}${uniqueName()}-probe`;
  try {
    execFileSync('ip', ['netns', 'add', name], { stdio: 'pipe', timeout: IP_DEADLINE_MS });
    execFileSync('ip', ['netns', 'del', name], { stdio: 'pipe', timeout: IP_DEADLINE_MS });
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return { ok: false, reason: missing ? 'iproute2 is not installed' : `this system allows no network namespace: ${String(error)}` };
  }
  return { ok: true };
}

export class LanHost {
  readonly address: string;
  readonly hostname: string;
  private readonly children = new Set<TestChild>();
  private readonly forwarders = new Map<number, Promise<HttpTarget>>();

  constructor(readonly index: number, readonly namespace: string, private readonly directory: string) {
    this.address = `${SUBNET}.${index}`;
    this.hostname = `host${index}`;
  }

  /** Starts a process on this host. */
  spawn(command: string, args: readonly string[], options: ChildOptions = {}): TestChild {
    const child = new TestChild('ip', this.wrap(command, args), options);
    this.children.add(child);
    return child;
  }

  /** Runs a process on this host to its end. */
  run(command: string, args: readonly string[], options: ChildOptions & { readonly timeoutMs?: number } = {}): Promise<Finished> {
    return runToEnd('ip', this.wrap(command, args), { ...options, timeoutMs: options.timeoutMs ?? DEFAULT_RUN_DEADLINE_MS });
  }

  /** A way to a port on this host's loopback, for `callHttp`. */
  http(port: number): Promise<HttpTarget> {
    let target = this.forwarders.get(port);
    if (target === undefined) {
      target = this.forward(port);
      this.forwarders.set(port, target);
    }
    return target;
  }

  /** Lets the LAN reach a server of the test process (on a unix socket) at this host's address and port. */
  async expose(socketPath: string, port: number): Promise<void> {
    const child = this.spawn(process.execPath, ['-e', ENTRANCE_PROGRAM, socketPath, String(port)]);
    await waitUntil(() => child.stdout.includes('listening') || !child.running, {
      timeoutMs: FORWARDER_DEADLINE_MS, what: `the entrance of ${this.hostname}`, detail: () => child.describe(),
    });
    if (!child.running) throw new Error(`the entrance of ${this.hostname} ended:\n${child.describe()}`);
  }

  async reap(): Promise<void> {
    for (const pid of await namespacePids(this.namespace)) killQuietly(pid);
    await Promise.all([...this.children].map((child) => child.reap()));
    this.children.clear();
    await waitUntil(async () => (await namespacePids(this.namespace)).length === 0, {
      timeoutMs: REAP_DEADLINE_MS, what: `the end of every process on ${this.hostname}`,
    });
  }

  private wrap(command: string, args: readonly string[]): readonly string[] {
    // Each step replaces the one before, so the child's process id is the command's own.
    const program = `hostname ${this.hostname} && exec "$@"`;
    return ['netns', 'exec', this.namespace, 'unshare', '--uts', 'sh', '-c', program, 'sh', command, ...args];
  }

  private async forward(port: number): Promise<HttpTarget> {
    const socketPath = join(this.directory, `${this.index}-${port}.sock`);
    const child = this.spawn(process.execPath, ['-e', FORWARDER_PROGRAM, socketPath, String(port)]);
    await waitUntil(() => child.stdout.includes('listening') || !child.running, {
      timeoutMs: FORWARDER_DEADLINE_MS, what: `the forwarder of ${this.hostname}`, detail: () => child.describe(),
    });
    if (!child.running) throw new Error(`the forwarder of ${this.hostname} ended:\n${child.describe()}`);
    return { port, socketPath };
  }
}

export class Lan {
  private bridges: string[] = [WHOLE_BRIDGE];
  private destroyed = false;

  constructor(
    private readonly name: string,
    private readonly directory: string,
    private readonly hosts: readonly LanHost[],
  ) {
    living.add(this);
  }

  host(index: number): LanHost {
    const host = this.hosts[index - 1];
    if (host === undefined) throw new Error(`no host ${index} on this LAN: they are numbered 1 to ${this.hosts.length}`);
    return host;
  }

  /** Pulls a host's cable: its interface loses the carrier. */
  async linkDown(index: number): Promise<void> {
    await this.switch('link', 'set', portOf(this.host(index)), 'down');
  }

  async linkUp(index: number): Promise<void> {
    await this.switch('link', 'set', portOf(this.host(index)), 'up');
  }

  /**
   * Splits the LAN, e.g. `[[1], [2, 3]]`: frames pass within a group only, in silence, with every link up. A host that
   * no group names is alone.
   */
  async partition(groups: readonly (readonly number[])[]): Promise<void> {
    const named = groups.flat();
    if (new Set(named).size !== named.length) throw new Error('a host can be in one group only');
    const alone = this.hosts.filter((host) => !named.includes(host.index)).map((host) => [host.index]);
    const parts = [...groups, ...alone].filter((group) => group.length > 0);
    for (const [position, group] of parts.entries()) {
      const bridge = `br${position + 1}`;
      if (!this.bridges.includes(bridge)) await this.addBridge(bridge);
      for (const index of group) await this.switch('link', 'set', portOf(this.host(index)), 'master', bridge);
    }
  }

  /** Joins every host again and plugs every cable. */
  async heal(): Promise<void> {
    for (const host of this.hosts) await this.switch('link', 'set', portOf(host), 'master', WHOLE_BRIDGE, 'up');
    for (const bridge of this.bridges.filter((bridge) => bridge !== WHOLE_BRIDGE)) await this.switch('link', 'del', bridge);
    this.bridges = [WHOLE_BRIDGE];
  }

  /** Ends every process on every host, then removes the hosts. May be called again. */
  async destroy(): Promise<void> {
    if (this.destroyed) return;
    this.destroyed = true;
    try {
      const results = await Promise.allSettled(this.hosts.map((host) => host.reap()));
      const failure = results.find((result) => result.status === 'rejected');
      if (failure !== undefined) throw failure.reason;
    } finally {
      this.destroyNow();
    }
  }

  /** The same without waiting, for the end of the test process. */
  destroyNow(): void {
    this.destroyed = true;
    living.delete(this);
    removeNamespaces((namespace) => namespace.startsWith(`${this.name}-`));
    rmSync(this.directory, { recursive: true, force: true });
  }

  private async addBridge(bridge: string): Promise<void> {
    await this.switch('link', 'add', bridge, 'type', 'bridge', 'mcast_snooping', '0');
    await this.switch('link', 'set', bridge, 'up');
    this.bridges.push(bridge);
  }

  private switch(...args: readonly string[]): Promise<void> {
    return ip('-n', switchOf(this.name), ...args);
  }
}

const living = new Set<Lan>();
process.once('exit', () => {
  for (const lan of living) lan.destroyNow();
});

/** Makes a LAN; the caller destroys it. */
export async function createLan(options: LanOptions): Promise<Lan> {
  if (!Number.isInteger(options.hosts) || options.hosts < 1 || options.hosts > MAX_HOSTS) {
    throw new Error(`a LAN has 1 to ${MAX_HOSTS} hosts, not ${options.hosts}`);
  }
  clearStaleProcesses();
  removeNamespaces(isStale);
  for (const entry of readdirSync(tmpdir()).filter(isStale)) rmSync(join(tmpdir(), entry), { recursive: true, force: true });

  const name = `${NAME_PREFIX}${uniqueName()}`;
  const directory = mkdtempSync(join(tmpdir(), `${name}-`));
  const hosts = Array.from({ length: options.hosts }, (_, offset) => new LanHost(offset + 1, `${name}-${offset + 1}`, directory));
  const lan = new Lan(name, directory, hosts);
  try {
    const hub = switchOf(name);
    await ip('netns', 'add', hub);
    await ip('-n', hub, 'link', 'set', 'lo', 'up');
    await ip('-n', hub, 'link', 'add', WHOLE_BRIDGE, 'type', 'bridge', 'mcast_snooping', '0');
    await ip('-n', hub, 'link', 'set', WHOLE_BRIDGE, 'up');
    for (const host of hosts) await plugIn(host, hub, options);
  } catch (error) {
    lan.destroyNow();
    throw error;
  }
  return lan;
}

async function plugIn(host: LanHost, hub: string, options: LanOptions): Promise<void> {
  const { namespace } = host;
  await ip('netns', 'add', namespace);
  await ip('-n', namespace, 'link', 'set', 'lo', 'up');
  await ip('-n', hub, 'link', 'add', portOf(host), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
  await ip('-n', hub, 'link', 'set', portOf(host), 'master', WHOLE_BRIDGE, 'up');
  await ip('-n', namespace, 'addr', 'add', `${host.address}/24`, 'dev', 'eth0');
  await ip('-n', namespace, 'link', 'set', 'eth0', 'up');
  if (options.multicast ?? true) await ip('-n', namespace, 'route', 'add', '224.0.0.0/4', 'dev', 'eth0');
  if (options.rate !== undefined) {
    await ip('netns', 'exec', namespace, 'tc', 'qdisc', 'add', 'dev', 'eth0', 'root', 'tbf', 'rate', options.rate, 'burst', '256kb', 'latency', '50ms');
  }
}

/** Whether a namespace or directory is of a LAN whose test process is dead. */
function isStale(name: string): boolean {
  return name.startsWith(NAME_PREFIX) && !ownerLives(name.slice(NAME_PREFIX.length));
}

function switchOf(lanName: string): string {
  return `${lanName}-switch`;
}

function portOf(host: LanHost): string {
  return `port${host.index}`;
}

const execute = promisify(execFile);

async function ip(...args: readonly string[]): Promise<void> {
  await execute('ip', [...args], { timeout: IP_DEADLINE_MS });
}

async function namespacePids(namespace: string): Promise<readonly number[]> {
  const { stdout } = await execute('ip', ['netns', 'pids', namespace], { timeout: IP_DEADLINE_MS });
  return numbersIn(stdout);
}

function numbersIn(text: string): readonly number[] {
  return text.split('\n').filter((line) => /^\d+$/.test(line)).map(Number);
}

/** Namespaces by name, for tests of this file too. */
export function namespaceNames(): readonly string[] {
  try {
    return readdirSync(NAMESPACE_DIRECTORY);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** Kills what runs in the namespaces and removes them; works in an exit handler. */
function removeNamespaces(takes: (namespace: string) => boolean): void {
  for (const namespace of namespaceNames().filter(takes)) {
    try {
      const pids = execFileSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8', timeout: IP_DEADLINE_MS, stdio: 'pipe' });
      for (const pid of numbersIn(pids)) killQuietly(pid);
      execFileSync('ip', ['netns', 'del', namespace], { timeout: IP_DEADLINE_MS, stdio: 'pipe' });
    } catch (error) {
      // Another test process may be clearing the same stale name; anything else is worth a failure.
      if (namespaceNames().includes(namespace)) throw error;
    }
  }
}

