import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { renderCard, renderCards } from '../../src/cli/render-store.js';
import { cardOf, catalogueReference, licenceAddress, readCatalogue, searchCards } from '../../src/model/catalogue.js';
import { parseInternetReference } from '../../src/model/internet-reference.js';
import { acceptLicence, licenceToAccept } from '../../src/model/licences.js';
import type { DiskModelLibrary } from '../../src/model/model-library.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import { smallFile } from '../support/small-gguf.js';
import { HubServer } from '../support/hub-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const hub = await HubServer.start();
afterAll(() => hub.stop());

async function userCards(cards: unknown): Promise<string> {
  const state = temporaryDirectory();
  await mkdir(join(state, 'catalogue'));
  await writeFile(join(state, 'catalogue', 'mine.json'), JSON.stringify(cards));
  return state;
}

const card = { name: 'mine', repository: 'tiny/Mine-GGUF', quants: ['Q8_0', 'Q4_0'], parameters: '1M', context: 128, licence: 'MIT' };

describe('the catalogue', () => {
  it('has cards that are all well-formed references', async () => {
    const cards = await readCatalogue(temporaryDirectory());
    expect(cards.length).toBeGreaterThanOrEqual(60);
    expect(new Set(cards.map(({ name }) => name)).size).toBe(cards.length);
    for (const { name, quants } of cards) {
      for (const quant of quants) expect(parseInternetReference(catalogueReference(cards, `${name}:${quant}`) ?? '')).toMatchObject({ kind: 'hub', quant });
    }
    expect(renderCards(cards)).toMatch(/^Model +Size +Context +Licence +Quant\n/);
    for (const line of [renderCards(cards), ...cards.map(renderCard)].join('\n').split('\n').filter((text) => !text.includes('https://'))) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it('says of every restricted model where its terms are, and of each card what of it was checked', async () => {
    for (const card of await readCatalogue(temporaryDirectory())) {
      expect(card.checked, card.name).toContain('repository');
      expect(card.restricted, card.name).toBe(card.licenceUrl !== undefined);
      expect(['Apache-2.0', 'MIT'].includes(card.licence), card.name).toBe(!card.restricted);
      expect(licenceAddress(card)).toMatch(/^https:\/\//);
    }
  });

  it('finds the card of a name or a reference', async () => {
    const cards = await readCatalogue(temporaryDirectory());
    for (const text of ['gemma-3-1b-it', 'Gemma-3-1B-it:q8_0', 'hf:ggml-org/gemma-3-1b-it-GGUF', 'hf:GGML-org/gemma-3-1b-it-gguf:Q8_0', 'hf:ggml-org/gemma-3-1b-it-GGUF@main/some.gguf']) expect(cardOf(cards, text)?.name, text).toBe('gemma-3-1b-it');
    for (const text of ['gemma', 'hf:ggml-org/gemma', '/models/gemma-3-1b-it.gguf', 'https://host/gemma-3-1b-it.gguf', '']) expect(cardOf(cards, text), text).toBeNull();
  });

  it('is searched by words, and a name without quantisation means the first', async () => {
    const cards = await readCatalogue(temporaryDirectory());
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

describe('a licence that restricts use', () => {
  const restricted = { ...card, restricted: true, licence: 'Own Terms', licenceUrl: 'https://example.org/terms' };
  const library = async (state: string): Promise<DiskModelLibrary> =>
    openModelLibrary({ stateDirectory: state, modelPaths: [], builtIn: false, log: null, hub: { endpoint: hub.url, token: null, stallMs: 1000, backoffMs: 5 } });
  const signal = new AbortController().signal;

  it('stands before every download, by name and by reference, until it is accepted once for all on its terms', async () => {
    hub.add('tiny/Mine-GGUF', 'Mine-Q8_0.gguf', smallFile());
    const state = await userCards([restricted, { ...restricted, name: 'other', repository: 'tiny/Other-GGUF' }]);
    const before = hub.requests;
    const refused = { code: 'licence_required', message: expect.stringMatching(/mine comes on terms that restrict its use, the Own Terms: read them at https:\/\/example\.org\/terms.*agent models accept mine/) as unknown };
    for (const reference of ['mine', 'mine:q4_0', 'hf:tiny/Mine-GGUF', 'hf:Tiny/mine-gguf:Q8_0']) await expect((await library(state)).resolve(reference), reference).rejects.toMatchObject(refused);
    await expect((await library(state)).upkeep(() => []).pull('mine', signal)).rejects.toMatchObject(refused);
    expect(hub.requests).toBe(before);

    const other = await licenceToAccept(state, 'other');
    if (other === null) throw new Error('nothing to accept');
    await acceptLicence(state, other, new Date(0));
    expect(await (await library(state)).upkeep(() => []).pull('mine', signal)).toMatchObject({ model: 'Mine-Q8_0' });
    expect(JSON.parse(await readFile(join(state, 'licences.json'), 'utf8'))).toEqual([{ licence: 'Own Terms', model: 'other', at: '1970-01-01T00:00:00.000Z' }]);
  });

  it('does not stand before a model that is here already, or one that is free', async () => {
    const state = await userCards([{ ...restricted, name: 'small' }, { ...card, name: 'free' }]);
    await mkdir(join(state, 'models'));
    await writeFile(join(state, 'models', 'small.gguf'), smallFile());
    expect(await (await library(state)).resolve('small')).toMatchObject({ name: 'small' });
    expect(await licenceToAccept(state, 'free')).toBeNull();
  });

  it('is asked for again when what was remembered is damaged, with the file\'s name', async () => {
    const state = await userCards([restricted]);
    await writeFile(join(state, 'licences.json'), '{');
    await expect(licenceToAccept(state, 'mine')).rejects.toMatchObject({ code: 'bad_config', message: expect.stringMatching(/licences\.json is damaged/) as unknown });
  });
});
