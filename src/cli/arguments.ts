/**
 * What may be typed for an option's value, and the options that several commands share. It must not know what a command does.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDevices } from '../core/backends.js';
import { ACTIVATION_TYPES, CACHE_TYPES } from '../core/formats.js';
import { KEEP_ALIVE_FORMS, parseKeepAlive } from '../core/keep-alive.js';
import type { ActivationType, DeviceKind, GgmlCacheType } from '../core/types.js';
import type { StartSettings } from './compose.js';
import { LOG_LEVELS } from './log.js';
import { modelReference } from './model-reference.js';

export function count(minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < minimum) throw new InvalidArgumentError(`give a whole number of at least ${minimum}.`);
    return value;
  };
}

export function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535) throw new InvalidArgumentError('give a port between 0 and 65535 (0 = any free one).');
  return value;
}

export function positive(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('give a number above 0.');
  return value;
}

export function devices(text: string): readonly DeviceKind[] {
  const parsed = parseDevices(text);
  if (parsed.kind === 'bad') throw new InvalidArgumentError(`${parsed.message}.`);
  return parsed.devices;
}

export function temperature(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0 || value > 2) throw new InvalidArgumentError('give a number between 0 and 2.');
  return value;
}

export function seed(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) throw new InvalidArgumentError('give a whole number between 0 and 4294967295.');
  return value;
}

/** Milliseconds; null = for ever. */
export function keepAlive(text: string): number | null {
  const ms = parseKeepAlive(text);
  if (ms === undefined) throw new InvalidArgumentError(`give ${KEEP_ALIVE_FORMS}.`);
  return ms;
}

export function clusterName(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('give a name.');
  return text;
}

export const collect = (value: string, previous: readonly string[] | undefined): string[] => [...previous ?? [], value];

export const kvTypeOption = (): Option => new Option('--kv-type <type>', 'of cached keys and values: q8_0 and q4_0 take less memory, f16 is faster with long contexts on some machines (default: the planner\'s choice)')
  .choices(CACHE_TYPES);

export const activationsOption = (): Option => new Option('--activations <type>', 'of hidden states from machine to machine: f16 and q8_0 are half and a quarter of the bytes, and answers then depend on the split (default: f32)')
  .choices(ACTIVATION_TYPES);

export const draftOption = (): Option => new Option('--draft <model>', 'a small model of the same vocabulary that guesses what the served one says next: answers are the same, and sooner where it guesses well (default: none)');

/** Options of `start` that `run` needs too, for the agent that it starts when none is running. */
export function agentOptions(command: Command): Command {
  return command
    .option('--cluster <name>', 'cluster to join', clusterName, 'default')
    .option('--secret-file <file>', 'file with the cluster\'s secret (agent secret makes one); without it anyone on the LAN may join')
    .option('--peer <address...>', 'address of another agent, where multicast does not reach (host:port or multiaddr)', collect)
    .option('--listen <address>', 'address for other agents: host:port, host or port (default: every interface, port 11501)')
    .option('--no-mdns', 'do not look for agents by mDNS')
    .option('--threads <n>', 'threads for a stage (default: one for each physical core, slow ones left out where there are fast ones)', count(1))
    .option('--max-ram <GB>', 'memory that stages may take on this node, in GB (1e9 bytes)', positive)
    .option('--device <device>', 'where stages compute: cpu, metal, cuda, vulkan, or a list such as vulkan+cpu, where the cpu takes what the device has no room for (default: the best that is there)', devices)
    .option('--max-device-ram <GB>', 'device memory that stages may take on this node, in GB (1e9 bytes)', positive)
    .option('--max-disk <GB>', 'disk that fetched stages may take on this node, in GB (1e9 bytes); the longest unused ones make room', positive)
    .option('--allow-sleep', 'let this machine go to sleep while it serves (default: it is kept awake where the system allows)')
    .option('--replan-deadline <seconds>', 'how long an answer waits while its ring is planned again, before it ends with an error (default: 120)', positive)
    .option('--keep-alive <time>', 'how long a model stays that a request loaded: 5m, 1h30m, seconds, 0 (unloaded at once), -1 (for ever) (default: 5m)', keepAlive)
    .option('--download-limit <MB/s>', 'most that this machine reads of models from the internet, in MB (1e6 bytes) per second; what other nodes give is not counted', positive)
    .option('--ctx <tokens>', 'context of a sequence in tokens (default: the planner\'s choice)', count(1))
    .option('--slots <n>', 'sequences at once (default: the planner\'s choice)', count(1))
    .addOption(kvTypeOption())
    .addOption(activationsOption())
    .addOption(draftOption())
    .addOption(new Option('--log-level <level>', 'what to log').choices(LOG_LEVELS).default('info'));
}

/** Which of them were typed: a command that finds an agent running has no use for them. */
export function typedAgentOptions(command: Command): readonly string[] {
  const names = new Set(agentOptions(new Command()).options.map((option) => option.attributeName()));
  return command.options
    .filter((option) => names.has(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli')
    .map((option) => option.long ?? option.flags);
}

export interface AgentFlags {
  readonly cluster: string;
  readonly secretFile?: string;
  readonly peer?: readonly string[];
  readonly listen?: string;
  readonly mdns: boolean;
  readonly threads?: number;
  readonly maxRam?: number;
  readonly maxDisk?: number;
  readonly keepAlive?: number | null;
  readonly downloadLimit?: number;
  readonly allowSleep?: boolean;
  readonly replanDeadline?: number;
  readonly device?: readonly DeviceKind[];
  readonly maxDeviceRam?: number;
  readonly ctx?: number;
  readonly slots?: number;
  readonly kvType?: GgmlCacheType;
  readonly activations?: ActivationType;
  readonly draft?: string;
  readonly logLevel: StartSettings['logLevel'];
  readonly stateDir: string;
  readonly model?: readonly string[];
  readonly apiHost?: string;
  readonly apiPort?: number;
  readonly apiKeyFile?: string;
}

export function settingsOf(flags: AgentFlags): StartSettings {
  return {
    stateDirectory: flags.stateDir,
    clusterName: flags.cluster,
    secretFile: flags.secretFile ?? null,
    peers: flags.peer ?? [],
    listen: flags.listen ?? null,
    mdns: flags.mdns,
    threads: flags.threads ?? null,
    ...(flags.allowSleep === true ? { allowSleep: true } : {}),
    ...(flags.replanDeadline === undefined ? {} : { replanDeadlineMs: flags.replanDeadline * 1000 }),
    ...(flags.maxDisk === undefined ? {} : { maxDiskBytes: Math.trunc(flags.maxDisk * 1e9) }),
    ...(flags.keepAlive === undefined ? {} : { keepAliveMs: flags.keepAlive }),
    ...(flags.downloadLimit === undefined ? {} : { downloadBytesPerSecond: flags.downloadLimit * 1e6 }),
    maxRamBytes: flags.maxRam === undefined ? null : Math.trunc(flags.maxRam * 1e9),
    devices: flags.device ?? [],
    maxDeviceRamBytes: flags.maxDeviceRam === undefined ? null : Math.trunc(flags.maxDeviceRam * 1e9),
    contextTokens: flags.ctx ?? null,
    slots: flags.slots ?? null,
    ...(flags.kvType === undefined ? {} : { cacheType: flags.kvType }),
    ...(flags.activations === undefined ? {} : { activations: flags.activations }),
    ...(flags.draft === undefined ? {} : { draft: modelReference(flags.draft) }),
    models: flags.model ?? [],
    apiHost: flags.apiHost ?? null,
    apiPort: flags.apiPort ?? null,
    apiKeyFile: flags.apiKeyFile ?? null,
    logLevel: flags.logLevel,
  };
}
