/**
 * Shell completion, written from the tree of commands: commands, options, their choices, files where a file is meant, and
 * models that the running agent knows. Text in, text out; it must not run a command.
 */
import type { Argument, Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A hidden command that prints the models that the running agent knows. */
export const MODELS_COMMAND = 'complete-models';

type Value = { readonly kind: 'none' | 'files' | 'directories' | 'models' | 'unknown' } | { readonly kind: 'words'; readonly words: readonly string[] };

interface Node {
  /** `agent models pull` */
  readonly path: string;
  readonly description: string;
  readonly children: readonly Node[];
  readonly options: readonly { readonly flags: readonly string[]; readonly description: string; readonly value: Value }[];
  readonly arguments: readonly Value[];
}

export function completionScript(root: Command, shell: Shell): string {
  const tree = nodeOf(root, '');
  switch (shell) {
    case 'bash': return bash(tree);
    case 'zsh': return zsh(tree);
    case 'fish': return fish(tree);
  }
}

function nodeOf(command: Command, above: string): Node {
  const path = `${above}${command.name()}`;
  const help = command.createHelp();
  return {
    path,
    description: command.description(),
    children: help.visibleCommands(command).filter((child) => child.name() !== 'help').map((child) => nodeOf(child, `${path} `)),
    options: help.visibleOptions(command).map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
      description: option.description,
      value: valueOf(option),
    })),
    arguments: command.registeredArguments.map(argumentOf),
  };
}

function valueOf(option: Option): Value {
  if (!option.required && !option.optional) return { kind: 'none' };
  if (option.argChoices !== undefined) return { kind: 'words', words: option.argChoices };
  if (/<file>/.test(option.flags)) return { kind: 'files' };
  if (/<directory>/.test(option.flags)) return { kind: 'directories' };
  return { kind: option.long === '--model' ? 'models' : 'unknown' };
}

function argumentOf(argument: Argument): Value {
  if (argument.argChoices !== undefined) return { kind: 'words', words: argument.argChoices };
  return { kind: argument.name() === 'model' || argument.name() === 'ref' ? 'models' : 'unknown' };
}

function nodes(tree: Node): readonly Node[] {
  return [tree, ...tree.children.flatMap(nodes)];
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** What bash and zsh say differently; the way through the tree is the same. */
interface Dialect {
  /** Of the typed words: bash counts from 0, zsh from 1. */
  readonly words: string;
  readonly current: string;
  readonly firstIndex: number;
  /** Lines before anything is offered. */
  readonly begin: string;
  offer(words: readonly string[]): string;
  readonly files: string;
  readonly directories: string;
  readonly models: string;
}

/** A function `_agent`: one `case` for the way down the tree, one for the values of options, one for everything else. */
function completionFunction(tree: Node, dialect: Dialect): string {
  const all = nodes(tree);
  const offered = (value: Value): string => {
    switch (value.kind) {
      case 'words': return dialect.offer(value.words);
      case 'files': return dialect.files;
      case 'directories': return dialect.directories;
      case 'models': return dialect.models;
      case 'none': case 'unknown': return ':';
    }
  };
  const descend = all.slice(1).map((node) => `      ${quoted(node.path)}) at=${quoted(node.path)} ;;`).join('\n');
  const values = all.flatMap((node) => node.options.filter(({ value }) => value.kind !== 'none')
    .map(({ flags, value }) => `    ${flags.map((flag) => quoted(`${node.path} ${flag}`)).join('|')}) ${offered(value)}; return ;;`)).join('\n');
  const words = all.map((node) => `    ${quoted(node.path)})
      if [[ $current == -* ]]; then ${dialect.offer(node.options.flatMap(({ flags }) => flags))}
      else ${[...node.children.length > 0 ? [dialect.offer(node.children.map((child) => child.path.slice(node.path.length + 1)))] : [], ...new Set(node.arguments.map(offered))].join('; ') || ':'}; fi ;;`).join('\n');
  const word = (index: string): string => `\${${dialect.words}[${index}]}`;
  return `_agent() {
  local current=${word(dialect.current)} before=${word(`${dialect.current}-1`)} at=agent index
${dialect.begin}  for ((index = ${dialect.firstIndex}; index < ${dialect.current}; index++)); do
    case "$at ${word('index')}" in
${descend}
    esac
  done
  case "$at $before" in
${values}
  esac
  case "$at" in
${words}
  esac
}`;
}

function bash(tree: Node): string {
  const completion = completionFunction(tree, {
    words: 'COMP_WORDS', current: 'COMP_CWORD', firstIndex: 1, begin: '  COMPREPLY=()\n',
    offer: (words) => `_agent_words ${quoted(words.join(' '))}`,
    files: '_agent_files -f',
    directories: '_agent_files -d',
    models: `_agent_words "$(agent ${MODELS_COMMAND} 2>/dev/null)"; _agent_files -f`,
  });
  return `# bash completion of agent; in ~/.bashrc:  source <(agent completion bash)
_agent_words() { COMPREPLY+=($(compgen -W "$1" -- "$current")); }
_agent_files() { compopt -o filenames 2>/dev/null; local file; while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen "$1" -- "$current"); }
${completion}
complete -F _agent agent
`;
}

function zsh(tree: Node): string {
  const completion = completionFunction(tree, {
    words: 'words', current: 'CURRENT', firstIndex: 2, begin: '',
    offer: (words) => `compadd -- ${words.map(quoted).join(' ')}`,
    files: '_files',
    directories: '_files -/',
    models: `compadd -- \${(f)"$(agent ${MODELS_COMMAND} 2>/dev/null)"}; _files`,
  });
  return `#compdef agent
# zsh completion of agent; in ~/.zshrc, behind compinit:  source <(agent completion zsh)
${completion}
compdef _agent agent
`;
}

function fish(tree: Node): string {
  const lines = ['# fish completion of agent; agent completion fish > ~/.config/fish/completions/agent.fish', 'complete -c agent -f'];
  for (const node of nodes(tree)) {
    const place = node.path.split(' ').slice(1);
    const deeper = node.children.map((child) => child.path.slice(node.path.length + 1));
    const conditions = [...place.map((name) => `__fish_seen_subcommand_from ${name}`), ...deeper.length > 0 ? [`not __fish_seen_subcommand_from ${deeper.join(' ')}`] : []];
    const line = (...words: readonly string[]): void => void lines.push(['complete -c agent', ...conditions.length > 0 ? [`-n ${quoted(conditions.join('; and '))}`] : [], ...words].join(' '));
    for (const child of node.children) line(`-a ${child.path.slice(node.path.length + 1)}`, `-d ${quoted(child.description)}`);
    for (const option of node.options) {
      line(...option.flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)), ...fishValue(option.value, '-r'), `-d ${quoted(option.description)}`);
    }
    for (const value of node.arguments) if (value.kind !== 'unknown') line(...fishValue(value, ''));
  }
  return `${lines.join('\n')}\n`;
}

function fishValue(value: Value, required: string): readonly string[] {
  const need = required === '' ? [] : [required];
  switch (value.kind) {
    case 'none': return [];
    case 'unknown': return need;
    case 'words': return [...required === '' ? [] : ['-x'], `-a ${quoted(value.words.join(' '))}`];
    case 'files': return [...need, '-F'];
    case 'directories': return [...need, "-a '(__fish_complete_directories)'"];
    case 'models': return [...need, '-F', `-a '(agent ${MODELS_COMMAND} 2>/dev/null)'`];
  }
}
