import { describe, expect, it } from 'vitest';
import type { ModelView } from '../../src/agent/service.js';
import { renderModelInfo, sizeText } from '../../src/cli/render-store.js';
import type { KeptModel } from '../../src/ports.js';

const model: ModelView = { name: 'small', digest: 'ab'.repeat(32), sizeBytes: 4_897_248, architecture: 'llama', layers: 5, heldBy: [], loaded: true  };
const shard = { range: { start: 0, end: 5 }, head: true, tail: true, bytes: 4_900_000, complete: true, lastUsed: 0, inUse: true };
const kept: KeptModel = { name: 'small', digest: model.digest, sizeBytes: model.sizeBytes, layers: 5, path: null, ours: false, internet: 'hf:o/r/small.gguf', inUse: true, partialBytes: 0, freesBytes: 4_900_000, shards: [shard] };

describe('what is known of a model', () => {
  it('says who holds which layers and what a removal frees', () => {
    const holders = [{ hostname: 'mac\u001b[2J', whole: false, shards: [{ modelDigest: model.digest, range: { start: 1, end: 2 }, head: false, tail: false }] }];
    expect(renderModelInfo(model, holders, kept)).toBe([
      'small: llama, 5 layers, 4.9 MB, being served',
      `digest ${model.digest}`,
      'internet hf:o/r/small.gguf',
      '',
      'Held by',
      '  mac [2J: 1',
      '',
      'On this machine',
      '  layers 0-4 with the embedding and the output, 4.9 MB, in use',
      'It is being served: it cannot be removed before "agent models unload".',
    ].join('\n'));
    expect(renderModelInfo(model, [], { ...kept, inUse: false, path: '/nas/small.gguf', shards: [{ ...shard, complete: false, inUse: false }] })).toMatch(
      /No node holds any of it[^]*\/nas\/small\.gguf \(used in place\)[^]*half fetched\n"agent models rm small" frees 4\.9 MB\./);
    expect(renderModelInfo(model, [], null)).toMatch(/Nothing of it is on this machine/);
  });

  it('rounds sizes to the unit they end up in', () => {
    expect([0, 999, 1000, 999_949, 999_950, 2.5e9].map(sizeText)).toEqual(['0 B', '999 B', '1.0 kB', '999.9 kB', '1.0 MB', '2.5 GB']);
  });
});
