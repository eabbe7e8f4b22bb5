/** `agent service install|remove|status`: the agent in the background, from login on, by the system's own service manager. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, platform } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { errorMessageOf, RingError } from '../core/errors.js';
import { systemTroubleOf } from '../core/system-trouble.js';
import { ownCommand } from './own-command.js';
import { servicePlan } from './service-unit.js';
import type { ServicePlan, UserOfMachine } from './service-unit.js';

const CALL_DEADLINE_MS = 120_000;
/** Options of `agent start` whose value is a path, which means something else where the service runs. */
const PATH_OPTIONS: ReadonlySet<string> = new Set(['--secret-file', '--api-key-file', '--config', '--ckpt-dir', '--state-dir', '--model']);

/** `typed`: options of `agent start`, looked at by `start` itself before anything is written. */
export async function serviceInstallCommand(typed: readonly string[], start: Command): Promise<void> {
  const { operands, unknown } = start.parseOptions([...typed]);
  const wrong = unknown[0] ?? operands[0];
  if (wrong !== undefined) throw new RingError('bad_config', `"agent start" takes no ${wrong}: "agent start --help" shows its options`);
  const plan = planned([...ownCommand(), 'start', ...withAbsolutePaths(typed)]);
  const before = existsSync(plan.file) ? await readFile(plan.file, 'utf8') : null;
  try {
    await mkdir(dirname(plan.file), { recursive: true }).catch((error: unknown) => {
      throw new RingError('io_failed', `the service's file ${plan.file} cannot be written (${systemTroubleOf(error)}): a service belongs to a user with a home directory of their own`, { path: plan.file }, { cause: error });
    });
    // launchd knows a service by its file from then on: the old one ends first.
    if (before !== null && plan.manager === 'launchd') await callAll(plan.stop, 'may fail');
    await writeFile(plan.file, plan.content, { mode: 0o600 });
    await callAll(plan.start, 'must work');
  } catch (error) {
    if (before === null) await rm(plan.file, { force: true });
    else await writeFile(plan.file, before, { mode: 0o600 });
    throw error;
  }
  process.stdout.write(`the service is installed and started: ${plan.file}\nnote: ${plan.hint}\n`);
  if (/[/\\]_npx[/\\]/.test(plan.content)) process.stdout.write('note: it starts the copy that npx keeps for a while; install the package (npm install -g) and repeat this\n');
}

export async function serviceRemoveCommand(): Promise<void> {
  process.stdout.write(await removeService() ? 'the service has stopped and is removed\n' : 'no service is installed\n');
}

/** False when there was none. */
export async function removeService(): Promise<boolean> {
  const plan = servicePlan(platform(), user(), []);
  if (plan === null || !existsSync(plan.file)) return false;
  // A service that the manager has forgotten is removed all the same.
  await callAll(plan.stop, 'may fail');
  await rm(plan.file, { force: true });
  await callAll(plan.forget, 'may fail');
  return true;
}

export async function serviceStatusCommand(options: { readonly json?: boolean }): Promise<void> {
  const plan = planned([]);
  const installed = existsSync(plan.file);
  const running = installed && await call(plan.isRunning) === null;
  if (options.json === true) process.stdout.write(`${JSON.stringify({ manager: plan.manager, file: plan.file, installed, running })}\n`);
  else process.stdout.write(installed ? `installed as ${plan.file}, ${running ? 'running' : 'not running: look with "agent logs"'}\n` : 'no service is installed: "agent service install" does it\n');
}

function planned(command: readonly string[]): ServicePlan {
  const plan = servicePlan(platform(), user(), command);
  if (plan === null) throw new RingError('bad_config', `there is no service for ${platform()} (only systemd's and launchd's): have "agent start" started at login by the system's own means`);
  return plan;
}

/** Not from the system's list of users, which a container may be without. */
function user(): UserOfMachine {
  const id = process.getuid?.() ?? 0;
  const { USER, LOGNAME, XDG_CONFIG_HOME } = process.env;
  return { home: homedir(), name: USER ?? LOGNAME ?? String(id), id, configHome: XDG_CONFIG_HOME };
}

function withAbsolutePaths(typed: readonly string[]): readonly string[] {
  let option = '';
  return typed.map((word) => {
    if (word.startsWith('-')) {
      const [name = '', ...value] = word.split('=');
      option = value.length > 0 ? '' : name;
      return value.length > 0 && PATH_OPTIONS.has(name) ? `${name}=${absolute(name, value.join('='))}` : word;
    }
    return PATH_OPTIONS.has(option) ? absolute(option, word) : word;
  });
}

/** A model may also be a name. */
function absolute(option: string, value: string): string {
  return option === '--model' && !existsSync(value) ? value : resolve(value);
}

async function callAll(lines: readonly (readonly string[])[], mode: 'must work' | 'may fail'): Promise<void> {
  for (const line of lines) {
    const problem = await call(line);
    if (problem !== null && mode === 'must work') {
      throw new RingError('io_failed', `"${line.join(' ')}" failed: ${problem}. No service is installed; it needs a login session with its user's service manager`, { command: line[0] ?? '' });
    }
  }
}

/** Null when it worked, else what went wrong. */
function call([program = '', ...line]: readonly string[]): Promise<string | null> {
  return new Promise((resolve_) => {
    execFile(program, line, { timeout: CALL_DEADLINE_MS }, (error, _stdout, stderr) => resolve_(error === null ? null : stderr.trim().split('\n')[0] || errorMessageOf(error)));
  });
}
