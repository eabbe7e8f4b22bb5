import { describe, expect, it } from 'vitest';
import { readScriptOptions } from '../scripts/script-options.js';

const OPTIONS = { seed: { type: 'string' }, core: { type: 'boolean', default: false } } as const;
const read = (...args: string[]): ReturnType<typeof readScriptOptions> => readScriptOptions(args, '\nnpm run it -- [--seed N]\n', OPTIONS);

describe('options of a script', () => {
  it('are read', () => {
    expect(read('--seed', '7')).toMatchObject({ kind: 'values', values: { seed: '7', core: false } });
  });

  it('are shown with --help, whatever stands beside it', () => {
    expect(read('--help')).toEqual({ kind: 'help', text: 'npm run it -- [--seed N]\n' });
    expect(read('--nonsense', '-h')).toMatchObject({ kind: 'help' });
  });

  it.each([[['--nonsense'], '--nonsense'], [['stray'], 'stray'], [['--seed'], '--seed'], [['--core=1'], '--core'], [['--seed', '-4'], '--seed']])('that make no sense are one line: %j', (args, named) => {
    const result = read(...args);
    expect(result).toMatchObject({ kind: 'bad', text: expect.stringContaining(named) });
    expect(result.kind === 'bad' && result.text.trim().includes('\n')).toBe(false);
  });
});
