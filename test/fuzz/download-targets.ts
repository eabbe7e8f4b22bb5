/** Readers of what models are made of elsewhere, and of what clients ask answers to look like: checkpoints, schemas. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { schemaGrammar } from '../../src/core/grammar/json-grammar.js';
import { checkpointConfig } from '../../src/model/checkpoint/config.js';
import { directoryFiles } from '../../src/model/checkpoint/checkpoint-files.js';
import { readSafetensorsFile } from '../../src/model/checkpoint/safetensors.js';
import { parseSentencePiece } from '../../src/model/checkpoint/sentencepiece.js';
import { parseTokenizerJson } from '../../src/model/checkpoint/tokenizer-json.js';
import { decodeDesired, encodeDesired } from '../../src/wire/plan-codec.js';
import { byteLevelTokenizer, characterTokenizer, unigramTokenizer } from '../support/tokenizer-files.js';
import type { FuzzTarget } from './fuzz.js';

const DISK_SHARE = 60;
const utf8 = (content: string): Uint8Array => new TextEncoder().encode(content);

const CONFIG = {
  architectures: ['LlamaForCausalLM'], model_type: 'llama', hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 300,
  max_position_embeddings: 512, rms_norm_eps: 1e-5, rope_theta: 10_000, tie_word_embeddings: true, torch_dtype: 'bfloat16', bos_token_id: 1, eos_token_id: [2, 3],
  rope_scaling: { rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 256 },
};
const SCHEMAS: readonly object[] = [
  {
    type: 'object', additionalProperties: false, required: ['name', 'age'], $defs: { tag: { enum: ['a', 'b', 3, null] } },
    properties: { name: { type: 'string', minLength: 1, maxLength: 9 }, age: { type: 'integer', minimum: 0, maximum: 120 }, tags: { type: 'array', items: { $ref: '#/$defs/tag' }, minItems: 1, maxItems: 3 }, when: { type: 'string', format: 'date' } },
  },
  { anyOf: [{ type: 'string', pattern: '^[a-z]{2,5}(-[0-9]+)?$' }, { type: 'number', exclusiveMinimum: -1.5, maximum: 1e3 }, { const: { a: [1, 2] } }, { type: ['boolean', 'null'] }] },
];

/** The JSON of an input, or undefined: what is no JSON never gets so far. */
function jsonOf(input: Uint8Array): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(input));
    return value;
  } catch {
    return undefined;
  }
}

function safetensors(header: object, bytes: number): Uint8Array {
  const text = utf8(JSON.stringify(header));
  const file = new Uint8Array(8 + text.length + bytes);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  return file;
}

export async function downloadTargets(): Promise<{ readonly targets: readonly FuzzTarget[]; close(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'ring-fuzz-'));
  const ofJson = (name: string, seeds: readonly unknown[], share: number, read: (value: unknown) => unknown): FuzzTarget => ({
    name, json: true, share, seeds: seeds.map((seed) => utf8(typeof seed === 'string' ? seed : JSON.stringify(seed))),
    run(input) {
      const value = jsonOf(input);
      if (value !== undefined) read(value);
    },
  });
  const pieces = characterTokenizer({ prefix: true });
  const targets: FuzzTarget[] = [
    {
      name: 'safetensors files', share: DISK_SHARE,
      seeds: [safetensors({ __metadata__: { format: 'pt' }, a: { dtype: 'BF16', shape: [2, 3], data_offsets: [0, 12] }, b: { dtype: 'F32', shape: [4], data_offsets: [12, 28] } }, 28)],
      async run(input) {
        await writeFile(join(directory, 'a.safetensors'), input);
        await readSafetensorsFile(directoryFiles(directory), 'a.safetensors');
      },
    },
    ofJson('checkpoint configurations', [CONFIG], 500, (value) => checkpointConfig(value, 'config.json')),
    ofJson('tokenizers', [byteLevelTokenizer('llama-bpe').json, pieces.json, unigramTokenizer().json], 100, (value) => parseTokenizerJson(value, 'tokenizer.json')),
    { name: 'SentencePiece models', share: 500, seeds: [pieces.model, unigramTokenizer().model], run: (input) => parseSentencePiece(input, 'tokenizer.model') },
    ofJson('JSON schemas', SCHEMAS, 500, schemaGrammar),
    {
      name: 'what is served again', seeds: [encodeDesired({ version: 1, instances: [], removed: ['i'] })],
      run: (input) => decodeDesired(encodeDesired(decodeDesired(input))),
    },
  ];
  return { targets, close: () => rm(directory, { recursive: true, force: true }) };
}
