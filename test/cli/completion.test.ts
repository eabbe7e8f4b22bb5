/** Completion as a shell does it: the script in a real bash; the others' scripts know the same words. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { completionScript, SHELLS } from '../../src/cli/completion.js';
import { commandsBelow } from '../../src/cli/help.js';
import { program } from '../../src/cli/program.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('in bash', () => {
  const directory = temporaryDirectory('completion');
  beforeAll(() => {
    // In the place of an agent that knows two models.
    mkdirSync(join(directory, 'bin'));
    writeFileSync(join(directory, 'bin', 'agent'), '#!/bin/sh\n[ "$1" = complete-models ] && printf "kjv-q8_0\\nqwen3-4b\\n"\n');
    chmodSync(join(directory, 'bin', 'agent'), 0o755);
    writeFileSync(join(directory, 'script'), completionScript(program(), 'bash'));
    mkdirSync(join(directory, 'files', 'some folder'), { recursive: true });
    writeFileSync(join(directory, 'files', 'ring.secret'), '');
  });

  /** What Tab offers behind these words; the last one is half typed. */
  function offered(...words: readonly string[]): string[] {
    const output = execFileSync('bash', ['--norc', '-uc', 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _agent; printf "%s\\n" ${COMPREPLY[@]+"${COMPREPLY[@]}"}', join(directory, 'script'), ...words], {
      cwd: join(directory, 'files'), encoding: 'utf8', env: { PATH: [join(directory, 'bin'), process.env['PATH']].join(delimiter) },
    });
    return output.split('\n').filter((word) => word !== '');
  }

  it('completes commands, and commands of commands', () => {
    expect(offered('agent', 'st')).toEqual(['start', 'status', 'stop']);
    expect(offered('agent', 'models', 'pu')).toEqual(['pull']);
    expect(offered('agent', 'service', '')).toEqual(['install', 'remove', 'status']);
    expect(offered('agent', 'complete')).toEqual([]);
  });

  it('completes the options of the command at hand, and their choices', () => {
    expect(offered('agent', 'start', '--secret-')).toEqual(['--secret-file']);
    expect(offered('agent', 'status', '--')).toEqual(expect.arrayContaining(['--json', '--watch', '--state-dir']));
    expect(offered('agent', 'status', '--secret-')).toEqual([]);
    expect(offered('agent', 'plan', '--policy', 'r')).toEqual(['ram_balanced']);
    expect(offered('agent', 'completion', '')).toEqual([...SHELLS]);
    expect(offered('agent', 'start', '--exit-')).toEqual([]);
  });

  it('completes files and directories where they are meant, and models that the agent knows', () => {
    expect(offered('agent', 'start', '--secret-file', 'r')).toEqual(['ring.secret']);
    expect(offered('agent', 'start', '--state-dir', '')).toEqual(['some folder']);
    expect(offered('agent', 'run', 'q')).toEqual(['qwen3-4b']);
    expect(offered('agent', 'models', 'rm', '')).toEqual(expect.arrayContaining(['kjv-q8_0', 'qwen3-4b']));
    expect(offered('agent', 'start', '--threads', '')).toEqual([]);
  });
});

describe.each(SHELLS)('the script for %s', (shell) => {
  it('knows every command that is shown', () => {
    const script = completionScript(program(), shell);
    for (const [command, path] of commandsBelow(program(), '')) if (path !== '' && !path.startsWith('complete-')) expect(script, path).toContain(command.name());
    expect(script).not.toContain('exit-with-stdin');
  });
});
