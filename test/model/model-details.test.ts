import { expect, it } from 'vitest';
import { parseGgufHeader, readGgufHeader } from '../../src/model/gguf-reader.js';
import { bool, text, uint32 } from '../../src/model/gguf-values.js';
import { modelDetails } from '../../src/model/model-details.js';
import { smallFile, smallMetadata } from '../support/small-gguf.js';

it('says what the built-in model is', async () => {
  const details = modelDetails(await readGgufHeader('models/kjv-q8_0.gguf'));
  expect(details).toMatchObject({ architecture: 'llama', layers: 5, hiddenSize: 256, vocabularySize: 2048, trainedContext: 512, weights: 'q8_0', pooling: null, causal: true });
  expect(details.parameters).toBeGreaterThan(4e6);
  expect(details.chatTemplate).toContain('messages');
  expect(details.facts).toMatchObject({ 'general.architecture': 'llama', 'llama.block_count': 5 });
  expect(Object.keys(details.facts)).not.toContain('tokenizer.ggml.tokens');
});

it('knows how a model is made to be embedded with, and one that reads in both directions', () => {
  const metadata = smallMetadata();
  metadata.set('llama.pooling_type', uint32(3));
  metadata.set('llama.attention.causal', bool(false));
  metadata.set('long', text('x'.repeat(5000)));
  const details = modelDetails(parseGgufHeader([smallFile(metadata)], 1e9));
  expect(details).toMatchObject({ pooling: 'last', causal: false });
  expect(details.facts).not.toHaveProperty('long');
});
