import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PINNED_LIFE } from '../../src/core/instance-life.js';
import type { DesiredState } from '../../src/core/types.js';
import { DesiredFile } from '../../src/net/desired-file.js';
import type { Log } from '../../src/ports.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function desired(...models: readonly string[]): DesiredState {
  return {
    version: 7, removed: ['old'],
    instances: models.map((model) => ({
      instanceId: `${model}-1`, state: 'planning', reason: '', serial: 4, plan: null,
      request: { model, policy: 'auto', nodes: 2, contextTokens: null, slots: null, life: PINNED_LIFE },
    })),
  };
}

function quiet(said: string[] = []): Log {
  const log: Log = { debug: () => undefined, info: () => undefined, warn: (text) => void said.push(text), error: () => undefined, child: () => log };
  return log;
}

describe('what is to be served after a restart', () => {
  it('is there again, the newest, for the cluster that it is of', async () => {
    const state = temporaryDirectory();
    const first = await DesiredFile.open(state, 'home', quiet());
    expect(first.remembered).toBeNull();
    for (const models of [['a'], ['a', 'b'], ['b'], ['b', 'c']]) first.file.keep(desired(...models));
    await first.file.settled();
    const { remembered } = await DesiredFile.open(state, 'home', quiet());
    expect(remembered).toEqual({ ...desired('b', 'c'), version: 0 });
    expect((await DesiredFile.open(state, 'office', quiet())).remembered).toBeNull();
    expect(await readdir(state)).toHaveLength(1);
  });

  it('is none, with a word in the log, when the file is damaged in any place', async () => {
    const state = temporaryDirectory();
    const { file } = await DesiredFile.open(state, 'home', quiet());
    file.keep(desired('a'));
    await file.settled();
    const [name = ''] = await readdir(state);
    const bytes = await readFile(join(state, name));
    const said: string[] = [];
    let refused = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const damaged = Uint8Array.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 0x80;
      await writeFile(join(state, name), damaged);
      if ((await DesiredFile.open(state, 'home', quiet(said))).remembered === null) refused += 1;
    }
    expect(refused).toBeGreaterThan(0);
    expect(said).toHaveLength(refused);
  });

  it('costs nothing but a warning when it cannot be kept', async () => {
    const said: string[] = [];
    const { file } = await DesiredFile.open(join(temporaryDirectory(), 'gone'), 'home', quiet(said));
    file.keep(desired('a'));
    file.keep(desired('b'));
    await file.settled();
    expect(said).toHaveLength(1);
  });
});
