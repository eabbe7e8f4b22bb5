import { expect, it } from 'vitest';
import type { ModelView } from '../../src/agent/service.js';
import { namedModel } from '../../src/cli/named-model.js';
import type { ModelCard } from '../../src/model/catalogue.js';
import type { KeptModel } from '../../src/ports.js';

const view = (name: string, letter: string, files: readonly string[] = []): ModelView => ({
  name, digest: letter.repeat(64), sizeBytes: 1, architecture: 'llama', layers: 1, heldBy: [], loaded: false,
  ...(files.length === 0 ? {} : { source: { repository: 'Owner/Repo-GGUF', revision: 'x', files: files.map((location) => ({ location, sizeBytes: 1 })) } }),
});
const kept = (name: string, letter: string, internet: string | null): KeptModel => ({
  name, digest: letter.repeat(64), sizeBytes: 1, layers: 1, path: null, ours: false, internet, inUse: false, partialBytes: 0, freesBytes: 0, shards: [],
});
const CARD: ModelCard = {
  name: 'repo-7b', repository: 'Owner/Repo-GGUF', quants: ['Q4_K_M', 'Q8_0'], parameters: '7B', context: 1, licence: 'MIT', restricted: false, template: '', sampling: {}, checked: [], notes: '',
};
const MODELS = [view('kjv', 'a'), view('Repo-Q8_0', 'b', ['Repo-Q8_0.gguf']), view('Repo-Q4_K_M', 'c', ['Repo-Q4_K_M.gguf'])];
const KEPT = [kept('Far', 'd', 'hf:Owner/Far'), kept('Address', 'e', 'https://host/address.gguf')];

it.each([
  ['kjv', 'a'], ['KJV.gguf', 'a'], ['aaaaaa', 'a'], ['repo-7b', 'c'], ['Repo-7B:q8_0', 'b'], ['hf:owner/repo-gguf:Q8_0', 'b'], ['hf:Owner/Repo-GGUF/Repo-Q4_K_M.gguf', 'c'],
  ['hf:Owner/Far', 'd'], ['hf:Owner/Far:safetensors', 'd'], ['https://host/address.gguf', 'e'], ['Far', 'd'],
  ['aaaa', null], ['other', null], ['hf:Owner/Repo', null], ['hf:Owner/Repo-GGUF:Q5_K_M', null], ['https://host/other.gguf', null],
])('%s is found by what it was fetched by', (name, letter) => {
  expect(namedModel(name, MODELS, KEPT, [CARD])).toBe(letter === null ? null : letter.repeat(64));
});
