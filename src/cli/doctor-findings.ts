/**
 * What `agent doctor` makes of what it measured: for each check what is true, and when that is wrong, why and what to do.
 * Pure: facts in, findings out. It must not know how facts are obtained.
 */
import type { ClusterStatus } from '../agent/service.js';
import type { Device } from '../core/types.js';
import type { MulticastResult } from '../net/multicast-check.js';
import { bytesText, clean } from './render.js';

/** `problem`: the agent will not do what it is for. `warning`: it may not. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly text: string;
  /** Null = nothing to do. */
  readonly cure: string | null;
}

/** Below this a stage's weights will hardly fit, and a model's surely not. */
const DISK_LOW_BYTES = 2e9;
/** Below this not even the agent's own files are safe. */
const DISK_FULL_BYTES = 1e8;
const MEMORY_LOW_BYTES = 5e8;

export function ok(check: string, text: string): Finding {
  return { check, state: 'ok', text, cure: null };
}

export function problem(check: string, text: string, cure: string): Finding {
  return { check, state: 'problem', text, cure };
}

export function warning(check: string, text: string, cure: string): Finding {
  return { check, state: 'warning', text, cure };
}

export function multicastFindings(results: readonly MulticastResult[], platform: string): readonly Finding[] {
  const check = 'multicast';
  if (results.length === 0) {
    return [problem(check, 'this machine has no network interface with an IPv4 address, so no multicast route: agents cannot find each other', 'connect it to the network, or look with "ip address"; for a single machine this is no trouble')];
  }
  const works = results.filter((result) => result.problem === null);
  const cure = platform === 'darwin'
    ? 'allow the terminal under System Settings > Privacy & Security > Local Network; or give other agents with --peer host:port'
    : 'let UDP to 224.0.0.251 through the firewall, add a route ("ip route add 224.0.0.0/4 dev INTERFACE"), or give other agents with --peer host:port';
  if (works.length === 0) {
    return results.map((result) => problem(check, `on ${result.interface} (${result.address}) multicast does not work: ${result.problem ?? ''}`, cure));
  }
  return [
    ok(check, `works on ${works.map((result) => `${result.interface} (${result.address})`).join(', ')}`),
    ...results.filter((result) => result.problem !== null)
      .map((result) => warning(check, `on ${result.interface} (${result.address}) multicast does not work: ${result.problem ?? ''}`, `${cure}; if no other agent is behind this interface, nothing is to be done`)),
  ];
}

/** `chosen`: by hand; then the agent takes no other. */
export function portFinding(check: 'API port' | 'peer port', { port, chosen, option }: { readonly port: number; readonly chosen: boolean; readonly option: string }, failure: string | null): Finding {
  if (failure === null) return ok(check, `${port} is free`);
  if (failure === 'EADDRINUSE' && !chosen) return warning(check, `${port} is taken by another program: the agent will take the next free one`, `nothing, or choose one with ${option}`);
  if (failure === 'EADDRINUSE') return problem(check, `${port} is taken by another program`, `end that program ("ss -ltnp" shows it), or choose another port with ${option}`);
  if (failure === 'EACCES') return problem(check, `this user may not listen on ${port}`, `choose a port above 1023 with ${option}`);
  return problem(check, `nothing can listen on ${port}: ${failure}`, `choose another address or port with ${option}`);
}

export function diskFinding(directory: string, freeBytes: number): Finding {
  const text = `${bytesText(freeBytes)} free at ${directory}`;
  if (freeBytes < DISK_FULL_BYTES) return problem('disk', `the disk is full: ${text}`, 'make room, or name a state directory on another disk with --state-dir');
  if (freeBytes < DISK_LOW_BYTES) return warning('disk', `little room for weights: ${text}`, 'make room, or name a state directory on another disk with --state-dir');
  return ok('disk', text);
}

export function memoryFinding(availableBytes: number): Finding {
  const text = `${bytesText(availableBytes)} available`;
  return availableBytes < MEMORY_LOW_BYTES ? warning('memory', `hardly any layer fits: ${text}`, 'end programs that take much memory') : ok('memory', text);
}

/** `failure`: why the engine did not say which devices there are. */
export function engineFindings(packages: readonly string[], devices: readonly Device[], failure: string | null): readonly Finding[] {
  if (packages.length === 0) {
    return [problem('engine', 'no backend: no engine package is installed for this platform, so this machine cannot compute', 'install ring-agent again with optional dependencies ("npm install -g ring-agent --include=optional")')];
  }
  if (failure !== null) return [problem('engine', `no backend: the engine does not start: ${failure}`, 'install ring-agent again; if it stays so, report it with this text')];
  if (devices.length === 0) return [problem('engine', 'no backend: the engine starts and finds no device, not even the cpu', 'install ring-agent again; if it stays so, report it with this text')];
  return [ok('engine', `starts and is the pinned build; ${devices.map((device) => `${device.backend}: ${device.description}`).join(', ')}`)];
}

/** What the running agent says about the others. */
export function clusterFindings(status: ClusterStatus): readonly Finding[] {
  const alive = status.nodes.filter((node) => node.state === 'alive').length;
  const findings: Finding[] = [];
  if (status.coordinator === null) findings.push(warning('cluster', 'the agent has found no coordinator yet', 'wait some seconds after a start; if it stays so, look at the agent\'s log'));
  else findings.push(ok('cluster', `"${status.cluster}", ${alive} ${alive === 1 ? 'node' : 'nodes'}, has a coordinator`));
  for (const node of status.nodes) {
    // Words of other machines: they must not move this terminal's cursor.
    const name = clean(node.capabilities?.hostname ?? node.addresses[0] ?? node.nodeId);
    if (node.problem !== null) findings.push(problem('other nodes', `${name} cannot take part: ${clean(node.problem)}`, cureOf(node.problem, node.state)));
    else if (node.state === 'suspect') findings.push(warning('other nodes', `${name} does not answer at the moment`, 'look whether it is on and connected'));
  }
  for (const instance of status.instances) {
    if (instance.state === 'failed') findings.push(problem('models', `${clean(instance.model)} cannot be served: ${clean(instance.reason)}`, 'see "agent plan" for what would fit'));
  }
  if (!status.secured) findings.push(warning('secret', 'the cluster is open: any agent on this network may join it', 'make a secret with "agent secret" and give it to every agent with --secret-file'));
  return findings;
}

function cureOf(text: string, state: string): string {
  if (state === 'cloned') return 'give one of the two its own state directory (--state-dir)';
  if (/version/i.test(text)) return 'install the same version of ring-agent on both ("agent --version")';
  if (/secret/i.test(text)) return 'start all agents of the cluster with the same --secret-file';
  return 'compare --cluster, --secret-file and "agent --version" on both machines';
}
