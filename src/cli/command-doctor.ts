/** `agent doctor`: looks at everything that an agent needs on this machine, and says what is wrong, why, and what to do. */
import { readFile, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { freemem, networkInterfaces, platform } from 'node:os';
import type { ClusterStatus } from '../agent/service.js';
import { API_HOST_DEFAULT, API_PORT_DEFAULT } from '../api/server.js';
import { errorMessageOf } from '../core/errors.js';
import type { Device } from '../core/types.js';
import { listPackages } from '../engine/packages.js';
import { checkMulticast } from '../net/multicast-check.js';
import { readSecretFile } from '../net/secret.js';
import { probeDevices } from '../process/machine.js';
import { createRunnerLauncher } from '../process/runner-process.js';
import { AgentClient } from './agent-client.js';
import { clusterFindings, diskFinding, engineFindings, memoryFinding, multicastFindings, ok, portFinding, problem } from './doctor-findings.js';
import type { Finding } from './doctor-findings.js';
import { parseListen } from './listen-address.js';
import { createLog } from './log.js';
import { ensureStateDirectory, findRunningAgent } from './state-directory.js';

const NEEDS_MENDING = 1;
const MARKS: Readonly<Record<Finding['state'], string>> = { ok: '  ok ', warning: ' (!) ', problem: ' [X] ' };
const INDENT = ' '.repeat(5);

export interface DoctorOptions {
  readonly stateDir: string;
  readonly cluster: string;
  readonly secretFile?: string;
  readonly apiPort?: number;
  readonly listen?: string;
  readonly json?: boolean;
}

export async function doctorCommand(options: DoctorOptions): Promise<void> {
  // Each looks at something else; together they take as long as the slowest.
  const findings = (await Promise.all([
    directoryAndDisk(options.stateDir),
    memory(),
    engine(),
    checkMulticast(networkInterfaces()).then((results) => multicastFindings(results, platform())),
    secret(options),
    agentOrPorts(options),
  ])).flat();
  const wrong = findings.filter((finding) => finding.state === 'problem').length;
  process.stdout.write(options.json === true ? `${JSON.stringify({ healthy: wrong === 0, findings }, null, 2)}\n` : renderFindings(findings, wrong));
  if (wrong > 0) process.exitCode = NEEDS_MENDING;
}

function renderFindings(findings: readonly Finding[], wrong: number): string {
  const lines = findings.flatMap(({ check, state, text, cure }) => [`${MARKS[state]}${check}: ${text}`, ...(cure === null ? [] : [`${INDENT}-> ${cure}`])]);
  return `${lines.join('\n')}\n\n${wrong === 0 ? 'Nothing stands in the way.' : `${wrong} ${wrong === 1 ? 'thing needs' : 'things need'} mending.`}\n`;
}

async function directoryAndDisk(directory: string): Promise<readonly Finding[]> {
  try {
    await ensureStateDirectory(directory);
    const disk = await statfs(directory);
    return [ok('state directory', `${directory} can be written`), diskFinding(directory, disk.bavail * disk.bsize)];
  } catch (error) {
    const full = error instanceof Error && error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ENOSPC';
    if (full) return [diskFinding(directory, 0)];
    return [problem('state directory', errorMessageOf(error), 'make it writable for this user, or name another one with --state-dir')];
  }
}

async function memory(): Promise<readonly Finding[]> {
  // Linux counts caches that it would give back, which `freemem` does not.
  const text = platform() === 'linux' ? await readFile('/proc/meminfo', 'utf8').catch(() => '') : '';
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(text)?.[1];
  return [memoryFinding(kilobytes === undefined ? freemem() : Number(kilobytes) * 1024)];
}

/** In a child process: an engine that crashes must not take the doctor with it. Its self-check runs whenever it is loaded. */
async function engine(): Promise<readonly Finding[]> {
  const packages = listPackages();
  const log = createLog('silent');
  let devices: readonly Device[] = [];
  let failure: string | null = null;
  try {
    if (packages.length > 0) devices = await probeDevices(packages.map((installed) => installed.backend), createRunnerLauncher(log), log);
  } catch (error) {
    failure = errorMessageOf(error);
  }
  return engineFindings(packages.map((installed) => installed.name), devices, failure);
}

async function secret(options: DoctorOptions): Promise<readonly Finding[]> {
  if (options.secretFile === undefined) return [];
  try {
    await readSecretFile(options.secretFile, options.cluster);
    return [ok('secret file', `${options.secretFile} holds a secret`)];
  } catch (error) {
    return [problem('secret file', errorMessageOf(error), 'make one with "agent secret", and copy it to every machine of the cluster')];
  }
}

async function agentOrPorts(options: DoctorOptions): Promise<readonly Finding[]> {
  try {
    const running = await findRunningAgent(options.stateDir);
    if (running !== null) {
      const client = await AgentClient.open(running);
      const status = await client.get('/v1/cluster') as ClusterStatus;
      return [ok('agent', `runs (pid ${running.pid}) and answers at ${running.apiUrl}`), ...clusterFindings(status)];
    }
    const listen = parseListen(options.listen ?? null);
    const apiPort = options.apiPort ?? API_PORT_DEFAULT;
    return [
      ok('agent', 'does not run here; what others say about this machine can be seen when it does'),
      portFinding('API port', { port: apiPort, chosen: options.apiPort !== undefined, option: '--api-port' }, await listenFailure(API_HOST_DEFAULT, apiPort)),
      portFinding('peer port', { port: listen.port, chosen: listen.portExplicit, option: '--listen' }, await listenFailure(listen.host, listen.port)),
    ];
  } catch (error) {
    return [problem('agent', errorMessageOf(error), 'look at the agent\'s log, or start it again')];
  }
}

/** The error's code; null = somebody could listen there. */
function listenFailure(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
