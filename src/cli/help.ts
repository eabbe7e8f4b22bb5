/**
 * What `--help` says below the options: what is worth knowing of a command, and examples of it. A test types every example
 * against the tree of commands.
 */
import type { Command } from 'commander';

export interface CommandHelp {
  /** Paragraphs, in lines of at most 78 characters. */
  readonly more?: string;
  /** What is typed, and what it does. */
  readonly examples: readonly (readonly [line: string, what: string])[];
}

const FILES = `Files (of this user; RING_AGENT_STATE or --state-dir names another place):
  Linux     ~/.local/state/ring-agent
  macOS     ~/Library/Application Support/ring-agent
  Windows   %LOCALAPPDATA%\\ring-agent`;

/** By the words behind `agent`; empty = `agent` itself. */
export const COMMAND_HELP: Readonly<Record<string, CommandHelp>> = {
  '': {
    more: `Start an agent on each machine; they find each other, share the model's layers
out, and each of them answers the OpenAI API at http://127.0.0.1:11500/v1.

${FILES}

Exit codes: 0 done, 1 failed, 2 wrong usage.`,
    examples: [
      ['agent start', 'on each machine'],
      ['agent chat', 'on any of them'],
      ['agent doctor', 'when they do not find each other'],
    ],
  },
  start: {
    more: `Stays in the foreground; Ctrl-C lets running answers finish, a second one ends
at once. In a terminal the log is text; where standard error is no terminal, it
is one JSON object a line. What is kept of it is shown by agent logs.`,
    examples: [
      ['agent start', 'zero configuration'],
      ['agent start --model ~/models/llama-3.2-3b-q4_k_m.gguf', 'the others fetch their layers from here'],
      ['agent start --secret-file ring.secret', 'in a cluster that is closed to others'],
      ['agent start --peer 192.168.1.20:11501', 'where multicast does not reach'],
      ['agent start --config cluster.toml', 'what runs where is written down in a file'],
    ],
  },
  probe: { examples: [['agent probe', 'cores, memory, disk and devices of this machine'], ['agent probe --json --dir /data', 'for programs, and of another disk']] },
  secret: { examples: [['agent secret > ring.secret', 'then copy the file to every machine']] },
  run: {
    more: `Without a running agent one is started for as long as the answer takes, with the
options that agent start has too. With a terminal and no prompt it is agent
chat.`,
    examples: [
      ['agent run "" "In the beginning"', 'the served model goes on with it'],
      ['agent run qwen3-4b "Hello"', 'a model of the catalogue (agent models search)'],
      ['agent run kjv-q8_0 --seed 7 --json < prompt.txt', 'for programs: text, tokens, usage and timings'],
    ],
  },
  chat: {
    more: `Ctrl-C stops an answer and keeps the conversation, Ctrl-D leaves, """ begins and
ends a text of several lines, the arrow keys call earlier lines back.

Without a running agent one is started for as long as you talk, with the options
that agent start has too.`,
    examples: [['agent chat', 'with the served model'], ['agent chat qwen3-4b --system "Answer in one sentence."', 'with another one, told how to answer']],
  },
  status: { examples: [['agent status', 'nodes, coordinator, and who runs which layers'], ['agent status --watch', 'drawn again whenever it changes'], ['agent status --json --watch', 'one line a change, for programs']] },
  logs: {
    more: `The log is kept in the state directory, in three files of at most 4 MiB. Prompts
and answers are never in it.`,
    examples: [['agent logs -f', 'the last 100 lines, and on'], ['agent logs --level warn -n 20', 'what went wrong lately'], ['agent logs --json -f', 'for programs']],
  },
  trace: {
    more: `The node where a ring begins remembers the first steps of its last requests:
what each stage computed, what links and pipes took, and how long a step waited
for others. Every node asks it. No text and no token.`,
    examples: [['agent trace', 'of the last request'], ['agent trace chatcmpl-0123', 'of the answer with this id'], ['agent trace --list', 'which requests are remembered'], ['agent trace --json', 'for programs']],
  },
  doctor: { examples: [['agent doctor', 'what is wrong here, and what to do'], ['agent doctor --secret-file ring.secret --json', 'with the secret looked at, for programs']] },
  plan: {
    more: `Every node computes the same plan. Nothing is loaded or moved.`,
    examples: [
      ['agent plan', 'of the served model'],
      ['agent plan hf:Qwen/Qwen3-4B-GGUF:Q8_0 --nodes 2', 'of a model on the internet, on two nodes'],
      ['agent plan --config cluster.toml', 'what a cluster file would come to'],
    ],
  },
  models: { examples: [['agent models', 'what the cluster holds'], ['agent models search qwen 4b', 'what the catalogue has']] },
  'models list': { examples: [['agent models list --json', 'for programs']] },
  'models info': { examples: [['agent models info kjv-q8_0', 'where each layer is, and what a removal frees']] },
  'models accept': { examples: [['agent models accept gemma3-4b', 'remembered for this machine']] },
  'models load': { examples: [['agent models load qwen3-4b --ctx 8192', 'with a context of its own'], ['agent models load qwen3-4b --pin', 'and never unload it by itself']] },
  'models unload': { examples: [['agent models unload qwen3-4b', 'its memory is free again']] },
  'models pin': { examples: [['agent models pin qwen3-4b', 'it stays, whatever else is asked for']] },
  'models unpin': { examples: [['agent models unpin qwen3-4b', 'it may make room for others']] },
  'models pull': { examples: [['agent models pull hf:Qwen/Qwen3-4B-GGUF:Q8_0', 'the whole file onto this machine']] },
  'models rm': { examples: [['agent models rm qwen3-4b', 'this machine\'s part only']] },
  'models search': { examples: [['agent models search apache', 'by licence'], ['agent models search qwen 4b', 'every word must fit']] },
  'models prune': { examples: [['agent models prune --keep 20', 'down to 20 GB']] },
  stop: { examples: [['agent stop', 'running answers may finish'], ['agent stop --state-dir /srv/agent', 'the agent of another state directory']] },
  service: {
    more: `A systemd unit of this user on Linux, a launchd agent on macOS.`,
    examples: [['agent service install', 'from login on, in the background'], ['agent service status', 'is it there, does it run'], ['agent service remove', 'leaves nothing of it']],
  },
  'service install': {
    more: `Takes the options of agent start; paths are made absolute. Again with other
options replaces it. Environment variables such as HF_TOKEN are not taken over:
systemctl --user edit ring-agent.`,
    examples: [['agent service install', 'zero configuration'], ['agent service install --secret-file ring.secret --model llama.gguf', 'as agent start would be typed']],
  },
  'service remove': { examples: [['agent service remove', 'stops it, and leaves nothing of it']] },
  'service status': { examples: [['agent service status --json', 'for programs']] },
  completion: {
    examples: [
      ['source <(agent completion bash)', 'in ~/.bashrc'],
      ['source <(agent completion zsh)', 'in ~/.zshrc, behind compinit'],
      ['agent completion fish > ~/.config/fish/completions/agent.fish', 'once'],
    ],
  },
  notices: { examples: [['agent notices', 'whose work is in this program, and under which licences']] },
  uninstall: {
    more: `The service, the state directory (identity, log, fetched models) and what the
single executable has unpacked. The program itself is left to who installed it.`,
    examples: [['agent uninstall', 'asks before it does it'], ['agent uninstall --yes', 'does not ask']],
  },
};

/** To every command below `root`, itself included. */
export function addHelp(root: Command): void {
  for (const [command, path] of commandsBelow(root, '')) {
    const help = COMMAND_HELP[path];
    if (help !== undefined) command.addHelpText('after', `\n${helpText(help)}`);
  }
}

/** Hidden ones too. */
export function commandsBelow(command: Command, path: string): readonly (readonly [Command, string])[] {
  return [[command, path], ...command.commands.flatMap((child) => commandsBelow(child, path === '' ? child.name() : `${path} ${child.name()}`))];
}

function helpText({ more, examples }: CommandHelp): string {
  const lines = examples.map(([line, what]) => `  ${line}\n      ${what}`);
  return `${more === undefined ? '' : `${more}\n\n`}Examples:\n${lines.join('\n')}`;
}
