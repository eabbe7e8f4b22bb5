/**
 * The composition root: makes an agent out of the real network, engine, disk, clock and API.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { Agent } from '../agent/agent.js';
import { API_HOST_DEFAULT, API_PORT_DEFAULT, readApiAccess, startApiServer } from '../api/server.js';
import { ENGINE_PACKAGE_VERSION, listPackages } from '../engine/packages.js';
import type { ClusterFile } from '../core/cluster-file.js';
import { RingError } from '../core/errors.js';
import { hubOptions } from '../model/hub-client.js';
import { hubToken } from '../model/hub-token.js';
import type { HubOptions } from '../model/hub-client.js';
import { RateLimit } from '../model/rate-limit.js';
import { BUILT_IN_NAME } from '../model/model-store.js';
import { openModelLibrary } from '../model/model-library.js';
import { DesiredFile } from '../net/desired-file.js';
import { openIdentity } from '../net/identity.js';
import { createNetwork } from '../net/network.js';
import { parseSecret, readSecretText } from '../net/secret.js';
import type { ActivationType, DeviceKind, GgmlCacheType } from '../core/types.js';
import type { PeerEvents } from '../ports.js';
import { computeCores } from '../process/compute-cores.js';
import { createMachine } from '../process/machine.js';
import { createRunnerLauncher } from '../process/runner-process.js';
import { ProcessSleepGuard } from '../process/sleep-guard.js';
import { AGENT_VERSION, PROTOCOL_MAX, PROTOCOL_MIN } from '../version.js';
import { systemClock } from './clock.js';
import { fileStart, serveFile } from './cluster-run.js';
import type { AgentLog, LogLevel } from './log.js';
import { parseListen } from './listen-address.js';
import { modelReference } from './model-reference.js';
import { startRemoteAgents } from './remote-agents.js';
import type { RemoteAgents } from './remote-agents.js';
import { ensureStateDirectory, removeRunningAgent, writeRunningAgent } from './state-directory.js';
import type { RunningAgent } from './state-directory.js';

/** A second of a small ring. */
const REHEARSAL_STEPS = 1_000;

/** Parsed flags of `agent start`. Null = not given. */
export interface StartSettings {
  readonly stateDirectory: string;
  readonly clusterName: string;
  readonly secretFile: string | null;
  readonly peers: readonly string[];
  readonly listen: string | null;
  readonly mdns: boolean;
  readonly threads: number | null;
  readonly maxRamBytes: number | null;
  /** Absent = as much as the disk has. */
  readonly maxDiskBytes?: number;
  /** From the internet, all transfers together. Absent = as fast as they come. */
  readonly downloadBytesPerSecond?: number;
  /** How long a model stays that a request loaded; null = for ever, absent = the usual time. */
  readonly keepAliveMs?: number | null;
  /** The machine may sleep while it serves. Absent = it is kept awake. */
  readonly allowSleep?: boolean;
  /** How long an answer waits while its ring is planned again. Absent = the cluster file's, or the usual time. */
  readonly replanDeadlineMs?: number;
  /** Preference list; empty = the best device that is there. */
  readonly devices: readonly DeviceKind[];
  readonly maxDeviceRamBytes: number | null;
  readonly contextTokens: number | null;
  readonly slots: number | null;
  readonly activations?: ActivationType;
  readonly cacheType?: GgmlCacheType;
  readonly draft?: string;
  readonly models: readonly string[];
  readonly apiHost: string | null;
  readonly apiPort: number | null;
  readonly apiKeyFile: string | null;
  readonly logLevel: LogLevel;
  /** Started by a command for its own length. Absent = false. */
  readonly temporary?: boolean;
  /** `--config`; absent = zero configuration. */
  readonly clusterFile?: StartedFile;
  /** `--ckpt-dir`: models are looked for here too, should it be there. */
  readonly checkpointDirectory?: string;
  /** The cluster's secret itself; goes before `secretFile`. */
  readonly secretText?: string;
}

/** A cluster file and what this start is to do with it. */
export interface StartedFile {
  readonly file: ClusterFile;
  readonly path: string;
  /** False: only the plan is wanted. */
  readonly serve: boolean;
}

export interface StartedAgent {
  readonly agent: Agent;
  readonly running: RunningAgent;
  /** Things that whoever started the agent should read. */
  readonly notices: readonly string[];
  /** Idempotent. A second call with `atOnce` cuts a drain short. */
  stop(atOnce?: boolean): Promise<void>;
}

/** Starts everything, or nothing: whatever was opened before a failure is closed again. */
export async function startAgent(settings: StartSettings, log: AgentLog): Promise<StartedAgent> {
  const undo: (() => Promise<void>)[] = [];
  try {
    return await start(settings, log, undo);
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error;
  }
}

async function start(settings: StartSettings, log: AgentLog, undo: (() => Promise<void>)[]): Promise<StartedAgent> {
  const { stateDirectory } = settings;
  // Everything that a person may have mistyped is looked at before anything is opened.
  const apiHost = settings.apiHost ?? API_HOST_DEFAULT;
  await readApiAccess(apiHost, settings.apiKeyFile);
  const fromFile = settings.clusterFile === undefined ? null : await fileStart(settings.clusterFile.file, settings.clusterFile.path);
  const listen = parseListen(settings.listen ?? fromFile?.listen ?? null);
  if (settings.models.includes('')) throw new RingError('bad_config', '--model is empty: name a file, a directory or a model');
  const models = settings.models.map(modelReference);
  const modelPaths = [...models.filter((model) => isAbsolute(model)), ...fromFile?.modelPaths ?? []];
  const { downloadBytesPerSecond } = settings;
  const hub: HubOptions = { ...hubOptions(process.env), token: await hubToken(process.env), ...(downloadBytesPerSecond === undefined ? {} : { limit: new RateLimit(downloadBytesPerSecond) }) };
  await ensureStateDirectory(stateDirectory);
  const secretText = settings.secretText ?? (settings.secretFile === null ? null : await readSecretText(settings.secretFile));
  const secret = secretText === null ? null : await parseSecret(secretText, settings.clusterName);
  const identity = await openIdentity(stateDirectory, log);
  undo.push(() => identity.release());
  // Not before: until now the directory might have been another agent's.
  log.keepIn(stateDirectory);

  const library = await openModelLibrary({ stateDirectory, modelPaths, directories: settings.checkpointDirectory === undefined ? [] : [settings.checkpointDirectory], hub, quotaBytes: settings.maxDiskBytes ?? null, log });
  const launcher = createRunnerLauncher(log);
  const threads = settings.threads ?? await computeCores();
  // Looking for devices takes a child process some tenths of a second; the network comes up meanwhile.
  const machineFound = createMachine({
    agentVersion: AGENT_VERSION,
    protocolMin: PROTOCOL_MIN,
    protocolMax: PROTOCOL_MAX,
    ramLimitBytes: settings.maxRamBytes,
    packages: listPackages().map((installed) => installed.backend),
    stateDirectory,
    engineVersion: ENGINE_PACKAGE_VERSION,
    threads,
    devicePreference: settings.devices,
    deviceLimitBytes: settings.maxDeviceRamBytes,
  }, launcher, log);
  machineFound.catch(() => undefined);

  // The network needs someone to tell, and the agent needs the network: what comes in between waits.
  let agent: Agent | null = null;
  const early: ((events: PeerEvents) => void)[] = [];
  const tell = (call: (events: PeerEvents) => void): void => {
    if (agent === null) early.push(call);
    else call(agent.peerEvents);
  };
  const network = await createNetwork({
    identity,
    stateDir: stateDirectory,
    clusterName: settings.clusterName,
    secret,
    listen,
    peers: [...settings.peers, ...fromFile?.peers ?? []],
    noMdns: !settings.mdns,
    agentVersion: AGENT_VERSION,
    protocolMin: PROTOCOL_MIN,
    protocolMax: PROTOCOL_MAX,
  }, {
    connected: (nodeId, address) => tell((events) => events.connected(nodeId, address)),
    disconnected: (nodeId, reason) => tell((events) => events.disconnected(nodeId, reason)),
    message: (from, message) => tell((events) => events.message(from, message)),
    ringLink: (from, edge, link) => tell((events) => events.ringLink(from, edge, link)),
    offence: (nodeId, reason, count) => tell((events) => events.offence?.(nodeId, reason, count)),
  }, library, log, systemClock);
  undo.push(() => network.stop());
  const machine = await machineFound;
  // Who is here for one question neither brings back what was served before, nor changes what will be.
  const kept = settings.temporary === true ? null : await DesiredFile.open(stateDirectory, settings.clusterName, log);
  undo.push(async () => kept?.file.settled());

  agent = new Agent({
    clusterName: settings.clusterName,
    secured: secret !== null,
    incarnation: identity.incarnation,
    nonce: identity.nonce,
    threads,
    contextTokens: settings.contextTokens,
    slots: settings.slots,
    ...(settings.activations === undefined ? {} : { activations: settings.activations }),
    ...(settings.cacheType === undefined ? {} : { cacheType: settings.cacheType }),
    ...(settings.draft === undefined ? {} : { draft: settings.draft }),
    serve: models.filter((model) => !isDirectory(model)),
    defaultModel: BUILT_IN_NAME,
    temporary: settings.temporary ?? false,
    rehearsalSteps: REHEARSAL_STEPS,
    ...(settings.keepAliveMs === undefined ? {} : { keepAliveMs: settings.keepAliveMs }),
    ...(kept === null || kept.remembered === null ? {} : { remembered: kept.remembered }),
    ...replanDeadlineOf(settings),
  }, { clock: systemClock, log, library, launcher, machine, ...(settings.allowSleep === true ? {} : { sleepGuard: new ProcessSleepGuard(log) }), randomId: () => randomUUID(), keep: (desired) => kept?.file.keep(desired) }, network);
  const started = agent;
  undo.push(() => started.stop(true));
  for (const call of early.splice(0)) call(started.peerEvents);

  const api = await startApiServer({
    service: started,
    agentVersion: AGENT_VERSION,
    log,
    host: apiHost,
    port: settings.apiPort ?? API_PORT_DEFAULT,
    portExplicit: settings.apiPort !== null,
    apiKeyFile: settings.apiKeyFile,
    defaultSeed: () => started.defaultSeed(),
  });
  undo.push(() => api.close(0));
  await started.start(api.address);
  const running: RunningAgent = { pid: process.pid, apiUrl: loopbackUrl(api.address), apiKeyFile: settings.apiKeyFile === null ? null : resolve(settings.apiKeyFile) };
  await writeRunningAgent(stateDirectory, running);
  undo.push(() => removeRunningAgent(stateDirectory));
  let remotes: RemoteAgents | null = null;
  if (settings.clusterFile !== undefined) {
    remotes = await startRemoteAgents({ file: settings.clusterFile.file, clusterName: settings.clusterName, secretText, own: fromFile?.own ?? null, mdns: settings.mdns, log });
  }
  const fileLife = new AbortController();
  if (settings.clusterFile?.serve === true && fromFile !== null) {
    void serveFile(settings.clusterFile.file, fromFile, { agent: started, clock: systemClock, log, signal: fileLife.signal, deadlineMs: null });
  }

  let stopping: Promise<void> | null = null;
  const stop = async (atOnce: boolean): Promise<void> => {
    fileLife.abort(new RingError('cancelled', 'the agent stops'));
    await started.stop(atOnce);
    await kept?.file.settled();
    await remotes?.stop();
    await api.close(atOnce ? 0 : undefined);
    // Last: until then `agent status` and a second `agent stop` find an agent that lets its answers finish.
    await removeRunningAgent(stateDirectory);
    await identity.release();
  };
  return {
    agent: started,
    running,
    notices: api.notice === null ? [] : [api.notice],
    stop: (atOnce = false) => (stopping ??= stop(atOnce)),
  };
}

/** What is typed goes before what is written. */
function replanDeadlineOf(settings: StartSettings): { readonly replanDeadlineMs?: number } {
  const replanDeadlineMs = settings.replanDeadlineMs ?? settings.clusterFile?.file.replanDeadlineMs ?? null;
  return replanDeadlineMs === null ? {} : { replanDeadlineMs };
}

function isDirectory(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** Where this machine's own commands reach an API that listens on every address. */
function loopbackUrl(address: string): string {
  const url = new URL(address);
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return url.toString().replace(/\/$/, '');
}
