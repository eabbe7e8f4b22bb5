/**
 * The tree of commands: what can be typed, and which file does it. Each command is a file of its own, loaded when used.
 *
 * Help, completion and the service's unit read this tree too. It must not run anything by itself.
 */
import { Argument, Command, Option } from 'commander';
import { nearestName } from '../core/nearest-name.js';
import { AGENT_VERSION } from '../version.js';
import { activationsOption, agentOptions, clusterName, collect, count, draftOption, keepAlive, kvTypeOption, port, positive, seed, settingsOf, temperature, typedAgentOptions } from './arguments.js';
import type { AnswerSettings } from './answer-stream.js';
import type { AgentFlags } from './arguments.js';
import { MODELS_COMMAND, SHELLS } from './completion.js';
import type { Shell } from './completion.js';
import type { DoctorOptions } from './command-doctor.js';
import type { LoadFlags } from './command-models.js';
import type { LogsOptions } from './command-logs.js';
import { addHelp } from './help.js';
import { LINE_LEVELS } from './log.js';
import { defaultStateDirectory } from './state-directory.js';

interface PlanFlags {
  readonly stateDir: string;
  readonly policy: string;
  readonly nodes?: number;
  readonly ctx?: number;
  readonly slots?: number;
  readonly config?: string;
  readonly cluster: string;
  readonly secretFile?: string;
  readonly mdns: boolean;
  readonly json?: boolean;
}

export function program(): Command {
  const stateDir = new Option('--state-dir <directory>', 'where the agent keeps its identity and shards').default(defaultStateDirectory());
  const root = new Command('agent')
    .description('Runs one large language model on the machines you already own.')
    .version(AGENT_VERSION)
    .showHelpAfterError('(add --help for the options)')
    .exitOverride();

  agentOptions(root.command('start'))
    .description('start this machine\'s agent and stay in the foreground')
    .addOption(stateDir)
    .option('--model <ref...>', 'model to serve: a GGUF file, a directory of them, or a name', collect)
    .option('--api-host <host>', 'address of the HTTP API (default: 127.0.0.1; another one needs --api-key-file)')
    .option('--api-port <port>', 'port of the HTTP API (default: 11500)', port)
    .option('--api-key-file <file>', 'file with the keys that the API accepts, one per line, of 16 characters or more')
    .option('--config <file>', 'cluster file (TOML): model, nodes and how layers are given to them')
    .option('--ckpt-dir <directory>', 'look for models here too')
    .addOption(acceptLicence)
    .addOption(new Option('--exit-with-stdin', 'end when standard input ends').hideHelp())
    .addOption(new Option('--secret-stdin', 'the first line of standard input is the secret; empty = an open cluster').hideHelp())
    .action(async (flags: AgentFlags & { config?: string; ckptDir?: string; exitWithStdin?: boolean; secretStdin?: boolean; acceptLicence?: boolean }) => (await import('./command-start.js')).startCommand({
      ...settingsOf(flags),
      ...(flags.ckptDir === undefined ? {} : { checkpointDirectory: flags.ckptDir }),
    }, { ...(flags.config === undefined ? {} : { config: flags.config }), exitWithStdin: flags.exitWithStdin === true, secretStdin: flags.secretStdin === true, acceptLicence: flags.acceptLicence === true }));

  root.command('probe')
    .description('what this machine has: cores, memory, disk, devices')
    .addOption(stateDir)
    .option('--dir <directory>', 'the disk to look at (default: the state directory\'s)')
    .option('--json', 'as one line of JSON')
    .action(async (flags: { stateDir: string; dir?: string; json?: boolean }) => (await import('./command-probe.js')).probeCommand(flags.dir ?? flags.stateDir, flags.json === true));

  root.command('secret')
    .description('make a cluster secret and print it')
    .action(async () => (await import('./command-secret.js')).secretCommand());

  agentOptions(root.command('run'))
    .description('answer a prompt; without one, read it from standard input or talk in the terminal')
    .argument('[model]', 'name or GGUF file (default: the served model, or the built-in one)')
    .argument('[prompt]', 'what to continue or answer')
    .addOption(stateDir)
    .option('--max-tokens <n>', 'longest answer in tokens', count(1))
    .option('--temperature <t>', '0 = always the likeliest token', temperature)
    .option('--seed <n>', 'same seed, same answer', seed)
    .addOption(acceptLicence)
    .option('--json', 'print {id, text, tokens, usage, timings} instead')
    .option('--trace', 'say on standard error where its time went, as agent trace does')
    .action(async (model: string | undefined, prompt: string | undefined, flags: AgentFlags & AnswerSettings & { json?: boolean; trace?: boolean; acceptLicence?: boolean }, command: Command) =>
      (await import('./command-run.js')).runCommand(model, prompt, { ...flags, typed: typedAgentOptions(command), defaults: { ...settingsOf(flags), apiPort: 0, temporary: true } }));

  agentOptions(root.command('chat'))
    .description('talk with a model in the terminal; /help there shows what can be typed')
    .argument('[model]', 'name or GGUF file (default: the served model, or the built-in one)')
    .addOption(stateDir)
    .option('--system <text>', 'what the model is told first')
    .option('--max-tokens <n>', 'longest answer in tokens', count(1))
    .option('--temperature <t>', '0 = always the likeliest token', temperature)
    .option('--seed <n>', 'same seed, same answers', seed)
    .addOption(acceptLicence)
    .option('--no-history', 'do not keep what is typed in the state directory')
    .action(async (model: string | undefined, flags: AgentFlags & AnswerSettings & { system?: string; history: boolean; acceptLicence?: boolean }, command: Command) =>
      (await import('./command-chat.js')).chatCommand(model, { ...flags, typed: typedAgentOptions(command), defaults: { ...settingsOf(flags), apiPort: 0, temporary: true } }));

  root.command('status')
    .description('the cluster: nodes, coordinator, models and their stages')
    .addOption(stateDir)
    .option('--json', 'as JSON')
    .option('--watch', 'draw it again whenever it changes, until interrupted')
    .action(async (flags: { stateDir: string; json?: boolean; watch?: boolean }) => (await import('./command-status.js')).statusCommand(flags));

  root.command('logs')
    .description('what this machine\'s agent logged; prompts and answers are never among it')
    .addOption(stateDir)
    .option('-f, --follow', 'go on with what is logged from now on, until interrupted')
    .option('-n, --lines <n>', 'how many of the kept lines, from the newest', count(0), 100)
    .addOption(new Option('--level <level>', 'this and what is worse').choices(LINE_LEVELS).default('info'))
    .option('--json', 'as JSON lines')
    .action(async (flags: LogsOptions) => (await import('./command-logs.js')).logsCommand(flags));

  root.command('doctor')
    .description('look at what an agent needs here, and say what is wrong and what to do')
    .addOption(stateDir)
    .option('--cluster <name>', 'cluster that the secret is for', clusterName, 'default')
    .option('--secret-file <file>', 'file with the cluster\'s secret, to be looked at')
    .option('--api-port <port>', 'port of the HTTP API (default: 11500)', port)
    .option('--listen <address>', 'address for other agents (default: every interface, port 11501)')
    .option('--json', 'as JSON')
    .action(async (flags: DoctorOptions) => (await import('./command-doctor.js')).doctorCommand(flags));

  root.command('plan')
    .description('show which node would run which layers, without running it')
    .argument('[model]', 'name or GGUF file (default: the served model, or the built-in one)')
    .addOption(stateDir)
    .addOption(new Option('--policy <policy>', 'how layers are shared out').choices(['auto', 'ram_balanced', 'throughput']).default('auto'))
    .option('--nodes <n>', 'use exactly this many nodes', count(1))
    .option('--ctx <tokens>', 'context of a sequence in tokens', count(1))
    .option('--slots <n>', 'sequences at once', count(1))
    .addOption(kvTypeOption()).addOption(activationsOption()).addOption(draftOption())
    .addOption(acceptLicence)
    .option('--config <file>', 'plan what this cluster file says instead')
    .option('--cluster <name>', 'with --config, while no agent runs here: cluster of the file\'s agents', clusterName, 'default')
    .option('--secret-file <file>', 'with --config, while no agent runs here: file with that cluster\'s secret')
    .option('--no-mdns', 'with --config: do not look for agents by mDNS')
    .option('--json', 'as JSON')
    .action(async (model: string | undefined, flags: PlanFlags) => {
      if (flags.config === undefined) await (await import('./command-plan.js')).planCommand(model ?? '', flags);
      else await (await import('./command-plan-file.js')).planFileCommand(flags.config, { ...flags, defaults: { ...settingsOf({ ...flags, logLevel: 'warn' }), apiPort: 0 } });
    });

  addModelCommands(root, stateDir);

  root.command('stop')
    .description('let running answers finish, then end this machine\'s agent')
    .addOption(stateDir)
    .action(async (flags: { stateDir: string }) => (await import('./command-stop.js')).stopCommand(flags));

  addTraceAndInstallation(root, stateDir);
  addHelp(root);
  return root;
}

function addTraceAndInstallation(root: Command, stateDir: Option): void {
  root.command('trace')
    .description('where the time of a request went: compute of each stage, wire and queue of its first steps')
    .argument('[request]', 'beginning of its id, as an answer\'s `id` or --list has it (default: the latest)')
    .addOption(stateDir)
    .option('--list', 'the ids that are remembered')
    .option('--json', 'as JSON')
    .action(async (request: string | undefined, flags: { stateDir: string; json?: boolean; list?: boolean }) => (await import('./command-trace.js')).traceCommand(request, flags));

  const service = root.command('service').description('the agent in the background, from login on');
  service.command('install')
    .description('write, enable and start the service')
    .argument('[options...]', 'options of agent start')
    .helpOption('-h, --help', 'display help for command')
    .allowUnknownOption()
    .action(async (typed: readonly string[]) => (await import('./command-service.js')).serviceInstallCommand(typed, program().commands.find((command) => command.name() === 'start') ?? root));
  service.command('remove')
    .description('stop and disable the service, and remove its file')
    .action(async () => (await import('./command-service.js')).serviceRemoveCommand());
  service.command('status')
    .description('whether the service is installed and runs')
    .option('--json', 'as JSON')
    .action(async (flags: { json?: boolean }) => (await import('./command-service.js')).serviceStatusCommand(flags));

  root.command('completion')
    .description('print a script with which a shell completes what is typed')
    .addArgument(new Argument('<shell>', 'whose').choices(SHELLS))
    .action(async (shell: Shell) => (await import('./command-completion.js')).completionCommand(root, shell));
  root.command(MODELS_COMMAND, { hidden: true })
    .addOption(stateDir)
    .action(async (flags: { stateDir: string }) => (await import('./command-completion.js')).completeModelsCommand(flags));
  root.command('notices')
    .description('licences of what this program is built on')
    .action(async () => (await import('./command-notices.js')).noticesCommand());
  root.command('uninstall')
    .description('end the agent and remove everything that it keeps on this machine')
    .addOption(stateDir)
    .option('--yes', 'do not ask')
    .action(async (flags: { stateDir: string; yes?: boolean }) => (await import('./command-uninstall.js')).uninstallCommand(flags));
}

const acceptLicence = new Option('--accept-licence', 'accept the licence of a model that restricts its use; remembered');

/** In Commander's words. */
function meantText(unknown: string, parent: Command): string {
  const meant = nearestName(unknown, parent.commands.map((command) => command.name()));
  return meant === null ? '' : `\n(Did you mean ${meant}?)`;
}

interface ModelsFlags {
  readonly stateDir: string;
  readonly json?: boolean;
}

function addModelCommands(root: Command, stateDir: Option): void {
  const commands = () => import('./command-models.js');
  const models = root.command('models').description('models that the cluster holds, and the upkeep of this machine\'s store');
  const add = (name: string, description: string): Command => models.command(name).description(description).addOption(stateDir).option('--json', 'as JSON');
  // Commander gives options of one name to whichever command stands before them: without a subcommand that is `list`.
  models.addCommand(new Command('list').copyInheritedSettings(models).description('models that the cluster holds (this is meant when nothing is said)').addOption(stateDir).option('--json', 'as JSON')
    .allowExcessArguments()
    .action(async (flags: ModelsFlags, list: Command) => {
      const [unknown] = list.args;
      if (unknown !== undefined) models.error(`error: unknown command '${unknown}'${meantText(unknown, models)}`, { code: 'commander.unknownCommand' });
      return (await commands()).modelsCommand(flags);
    }), { isDefault: true });
  add('info', 'a model: licence, terms, where each layer is held, and what a removal frees').argument('<model>', 'name or digest')
    .action(async (model: string, flags: ModelsFlags) => (await commands()).modelInfoCommand(model, flags));
  add('load', 'serve a model; it stays until its room is needed, and returns after a restart of the cluster').argument('<model>', 'name, reference or GGUF file')
    .addOption(acceptLicence).option('--pin', 'never unload it by itself').option('--keep-alive <time>', 'unload it after so long without a request: 5m, 1h30m, seconds, -1 (never)', keepAlive)
    .option('--nodes <n>', 'use exactly this many nodes', count(1)).option('--ctx <tokens>', 'context of a sequence in tokens', count(1)).option('--slots <n>', 'sequences at once', count(1))
    .addOption(kvTypeOption()).addOption(activationsOption()).addOption(draftOption())
    .action(async (model: string, flags: LoadFlags) => (await commands()).modelLoadCommand(model, flags));
  add('unload', 'stop serving a model').argument('<model>', 'name or digest')
    .action(async (model: string, flags: ModelsFlags) => (await commands()).modelUnloadCommand(model, flags));
  add('pin', 'serve a model and never unload it by itself').argument('<model>', 'name, reference or GGUF file').addOption(acceptLicence)
    .action(async (model: string, flags: ModelsFlags & { acceptLicence?: boolean }) => (await commands()).modelPinCommand(model, true, flags));
  add('unpin', 'let a pinned model make room for others').argument('<model>', 'name or digest')
    .action(async (model: string, flags: ModelsFlags) => (await commands()).modelPinCommand(model, false, flags));
  add('pull', 'fetch a whole model onto this machine').argument('<ref>', 'hf:owner/repo, hf:owner/repo:Q4_K_M, hf:owner/repo/file.gguf, https://…gguf or a name').addOption(acceptLicence)
    .action(async (reference: string, flags: ModelsFlags & { acceptLicence?: boolean }) => (await commands()).modelPullCommand(reference, flags));
  add('rm', 'remove what this machine keeps of a model').argument('<model>', 'name or digest')
    .action(async (model: string, flags: ModelsFlags) => (await commands()).modelRemoveCommand(model, flags));
  add('accept', 'accept the licence of a model that restricts its use').argument('<model>', 'name of the catalogue, or hf:owner/repo')
    .action(async (model: string, flags: ModelsFlags) => (await import('./licence.js')).acceptCommand(model, flags));
  add('search', 'open models by short names; every word must fit').argument('[words...]', 'parts of name, size, licence or quantisation')
    .action(async (words: string[], flags: ModelsFlags) => (await commands()).modelSearchCommand(words, flags));
  add('prune', 'remove broken-off downloads and stages that nothing uses, the longest unused first').option('--keep <GB>', 'keep this much (1e9 bytes)', positive)
    .action(async (flags: ModelsFlags & { keep?: number }) => (await commands()).modelPruneCommand(flags));
}
