/** The kept log: bounded whatever is written, read in order, followed over the turn of a file, and never in an agent's way. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { keptLines, LOG_FILES, LogFile, newLines } from '../../src/cli/log-file.js';
import { createLog } from '../../src/cli/log.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const line = (number: number): string => `${JSON.stringify({ level: 30, msg: `line ${number}` })}\n`;

describe('the kept log', () => {
  it('keeps the newest lines in a bounded number of private files of bounded size', () => {
    const directory = temporaryDirectory('log');
    const log = new LogFile(directory, 300);
    for (let number = 0; number < 100; number += 1) log.write(line(number));
    const files = readdirSync(join(directory, 'logs'));
    expect(files).toHaveLength(LOG_FILES);
    for (const file of files) {
      const { size, mode } = statSync(join(directory, 'logs', file));
      expect(size).toBeLessThanOrEqual(300);
      expect(mode & 0o077).toBe(0);
    }
    const { lines } = keptLines(directory);
    expect(lines.at(-1)).toBe(line(99).trim());
    const numbers = lines.map((text) => Number(/line (\d+)/.exec(text)?.[1]));
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => 100 - numbers.length + index));
  });

  it('goes on where an earlier agent stopped', () => {
    const directory = temporaryDirectory('log');
    new LogFile(directory).write(line(1));
    new LogFile(directory).write(line(2));
    expect(keptLines(directory).lines).toEqual([line(1).trim(), line(2).trim()]);
  });

  it('is followed from where it was read, over the turn of a file and from before the first line', async () => {
    const directory = temporaryDirectory('log');
    const end = new AbortController();
    const followed: string[] = [];
    const following = (async () => {
      for await (const text of newLines(directory, 0, end.signal)) {
        followed.push(text);
        if (followed.length === 8) end.abort();
      }
    })();
    const log = new LogFile(directory, 200);
    for (let number = 0; number < 8; number += 1) {
      log.write(line(number));
      await vi.waitFor(() => expect(followed).toHaveLength(number + 1), { timeout: 20_000 });
    }
    await following;
    expect(followed).toEqual(Array.from({ length: 8 }, (_, number) => line(number).trim()));
  });

  it('says once that it cannot be kept, and never throws', () => {
    const directory = temporaryDirectory('log');
    writeFileSync(join(directory, 'logs'), 'a file where the directory would be');
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      const log = new LogFile(directory);
      log.write(line(1));
      log.write(line(2));
      expect(said).toHaveBeenCalledTimes(1);
    } finally {
      said.mockRestore();
    }
  });
});

describe('what is kept', () => {
  it('is everything from info on whatever standard error shows, with what was said before there was a place', () => {
    const directory = temporaryDirectory('log');
    const log = createLog('error');
    log.info('early');
    log.keepIn(directory);
    log.child({ part: 'net' }).warn('late', { error: new Error('of this kind') });
    log.debug('small talk');
    expect(readFileSync(join(directory, 'logs', 'agent.log'), 'utf8').trim().split('\n').map((text) => JSON.parse(text) as unknown)).toMatchObject([
      { level: 30, msg: 'early' },
      { level: 40, msg: 'late', part: 'net', error: 'internal: of this kind' },
    ]);
  });

  it('is nothing when silence is asked for, and torn lines of a crash do not hinder reading', () => {
    const directory = temporaryDirectory('log');
    const log = createLog('silent');
    log.keepIn(directory);
    log.error('unheard');
    expect(keptLines(directory).lines).toEqual([]);
    mkdirSync(join(directory, 'logs'), { recursive: true });
    appendFileSync(join(directory, 'logs', 'agent.log'), '{"level":30,"ms');
    expect(keptLines(directory).lines).toEqual(['{"level":30,"ms']);
  });
});
