/** Small GGUFs in memory, for whatever reads models. It must not know any test runner. */
import type { GgufValue } from '../../src/model/gguf-values.js';
import { float32, numberArray, stringArray, text, uint32 } from '../../src/model/gguf-values.js';
import type { TensorSpec } from '../../src/model/gguf-writer.js';
import { encodeGgufHeader } from '../../src/model/gguf-writer.js';

export function smallMetadata(architecture = 'llama', layers = 4): Map<string, GgufValue> {
  return new Map<string, GgufValue>([
    ['general.architecture', text(architecture)],
    [`${architecture}.block_count`, uint32(layers)],
    [`${architecture}.embedding_length`, uint32(32)],
    [`${architecture}.context_length`, uint32(128)],
    [`${architecture}.attention.head_count`, uint32(2)],
    [`${architecture}.attention.head_count_kv`, numberArray('uint32', Array.from({ length: layers }, (_, layer) => 1 + (layer % 2)))],
    [`${architecture}.feed_forward_length`, uint32(64)],
    [`${architecture}.attention.layer_norm_rms_epsilon`, float32(1e-5)],
    ['tokenizer.ggml.model', text('gpt2')],
    ['tokenizer.ggml.tokens', stringArray(['a', 'b', 'ü', '<s>'])],
  ]);
}

export function smallTensors(layers = 4, ownOutput = true): TensorSpec[] {
  const tensors: TensorSpec[] = [
    { name: 'token_embd.weight', dims: [32, 4], ggmlType: 8 },
    { name: 'output_norm.weight', dims: [32], ggmlType: 0 },
    { name: 'rope_freqs.weight', dims: [8], ggmlType: 0 },
  ];
  if (ownOutput) tensors.push({ name: 'output.weight', dims: [32, 4], ggmlType: 2 });
  for (let layer = 0; layer < layers; layer++) {
    tensors.push({ name: `blk.${layer}.attn_q.weight`, dims: [32, 32], ggmlType: 1 }, { name: `blk.${layer}.ffn_up.weight`, dims: [32, 64 + 32 * (layer % 2)], ggmlType: 8 });
  }
  return tensors;
}

/** A whole file whose tensors' bytes are recognisable. */
export function smallFile(metadata: ReadonlyMap<string, GgufValue> = smallMetadata(), tensors: readonly TensorSpec[] = smallTensors(), alignment = 32): Uint8Array {
  const encoded = encodeGgufHeader(metadata, tensors, alignment);
  const bytes = new Uint8Array(encoded.fileBytes);
  bytes.set(encoded.bytes);
  encoded.tensors.forEach((tensor, index) => {
    for (let i = 0; i < tensor.sizeBytes; i++) bytes[tensor.offset + i] = (i * 31 + index * 7 + (i >> 8)) & 0xff;
  });
  return bytes;
}
