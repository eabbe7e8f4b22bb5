/** Every command explains itself with examples that are right and fit a terminal. */
import { describe, expect, it } from 'vitest';
import { COMMAND_HELP, commandsBelow } from '../../src/cli/help.js';
import { program } from '../../src/cli/program.js';

const WIDTH = 80;
const commands = commandsBelow(program(), '');
const visible = commands.filter(([command, path]) => !path.startsWith('complete-') && command.name() !== 'help');

describe('--help', () => {
  it.each(visible.map(([command, path]) => [path === '' ? 'agent' : path, command, path] as const))('of %s has examples and fits 80 columns', (_name, command, path) => {
    expect(COMMAND_HELP[path]?.examples.length ?? 0, path).toBeGreaterThan(0);
    let text = '';
    command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
    expect(text).toContain('Examples:');
    for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(WIDTH);
    expect(command.description()).not.toBe('');
    for (const option of command.options) expect(option.description, option.flags).not.toBe('');
  });

  const examples = Object.entries(COMMAND_HELP).filter(([path]) => commands.some(([, known]) => known === path)).flatMap(([, { examples }]) => examples.map(([line]) => line)).filter((line) => line.startsWith('agent'));
  it.each(examples)('%s can be typed', (line) => {
    const words = (line.replace(/ [<>] .*$/, '').match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', '')).slice(1);
    let command = program().exitOverride();
    for (let child = command.commands.find((known) => known.name() === words[0]); child !== undefined; child = command.commands.find((known) => known.name() === words[0])) {
      command = child;
      words.shift();
    }
    const { operands, unknown } = command.parseOptions(words);
    const taken = command.registeredArguments;
    if (command.name() === 'install') return;
    expect(unknown).toEqual([]);
    expect(operands.length).toBeGreaterThanOrEqual(taken.filter(({ required }) => required).length);
    if (taken.at(-1)?.variadic !== true) expect(operands.length).toBeLessThanOrEqual(taken.length);
  });
});
