import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { renderCards } from '../../src/cli/render-store.js';
import { catalogueReference, readCatalogue, searchCards } from '../../src/model/catalogue.js';
import { parseInternetReference } from '../../src/model/internet-reference.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import { smallFile, temporaryDirectory } from '../support/gguf.js';
import { HubServer } from '../support/hub-server.js';

const hub = await HubServer.start();
afterAll(() => hub.stop());

async function userCards(cards: unknown): Promise<string> {
  const state = await temporaryDirectory();
  await mkdir(join(state, 'catalogue'));
  await writeFile(join(state, 'catalogue', 'mine.json'), JSON.stringify(cards));
  return state;
}

const card = { name: 'mine', repository: 'tiny/Mine-GGUF', quants: ['Q8_0', 'Q4_0'], parameters: '1M', context: 128, licence: 'MIT' };

describe('the catalogue', () => {
  it('has cards that are all well-formed references', async () => {
    const cards = await readCatalogue(await temporaryDirectory());
    expect(cards.length).toBeGreaterThan(30);
    expect(new Set(cards.map(({ name }) => name)).size).toBe(cards.length);
    for (const { name, quants } of cards) {
      for (const quant of quants) expect(parseInternetReference(catalogueReference(cards, `${name}:${quant}`) ?? '')).toMatchObject({ kind: 'hub', quant });
    }
    for (const line of renderCards(cards).split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it('is searched by words, and a name without quantisation means the first', async () => {
    const cards = await readCatalogue(await temporaryDirectory());
    expect(searchCards(cards, ['QWEN3', '8b', 'apache']).map(({ name }) => name)).toContain('qwen3-8b');
    expect(searchCards(cards, ['no-such-model'])).toEqual([]);
    expect(catalogueReference(cards, 'qwen3-8b')).toBe('hf:Qwen/Qwen3-8B-GGUF:Q4_K_M');
    expect(catalogueReference(cards, 'nothing')).toBeNull();
    expect(() => catalogueReference(cards, 'qwen3-8b:q1')).toThrow(/comes as Q4_K_M, Q8_0/);
  });

  it('takes a user\'s cards, which replace those of the same name, and says which file is none', async () => {
    const cards = await readCatalogue(await userCards([card, { ...card, name: 'qwen3-8b' }]));
    expect(catalogueReference(cards, 'mine:q4_0')).toBe('hf:tiny/Mine-GGUF:Q4_0');
    expect(catalogueReference(cards, 'qwen3-8b')).toBe('hf:tiny/Mine-GGUF:Q8_0');
    await expect(readCatalogue(await userCards([{ ...card, repository: 'nonsense' }]))).rejects.toMatchObject({ code: 'bad_config', message: expect.stringMatching(/mine\.json is no catalogue/) as unknown });
  });

  it('names models like any other reference', async () => {
    hub.add('tiny/Mine-GGUF', 'Mine-Q8_0.gguf', smallFile());
    const library = await openModelLibrary({ stateDirectory: await userCards([card]), modelPaths: [], builtIn: false, log: null, hub: { endpoint: hub.url, token: null, stallMs: 1000, backoffMs: 5 } });
    expect(await library.resolve('mine')).toMatchObject({ name: 'Mine-Q8_0', layers: 4 });
    expect(await library.resolve('other')).toBeNull();
    expect(await library.upkeep(() => []).pull('mine', new AbortController().signal)).toMatchObject({ model: 'Mine-Q8_0' });
  });
});
