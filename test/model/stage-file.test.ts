import { createHash } from 'node:crypto';
import { chmod, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorCodeOf } from '../../src/core/errors.js';
import { parseGgufHeader, readGgufHeader } from '../../src/model/gguf-reader.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import { arrayNumbers, metadataArray, metadataNumber, metadataText, numberArray, text, uint32 } from '../../src/model/gguf-values.js';
import { modelShape } from '../../src/model/model-shape.js';
import { planStageFile, TINY_VOCABULARY } from '../../src/model/stage-file.js';
import type { TensorSource } from '../../src/model/stage-writer.js';
import { embeddingFileOf, isStageComplete, writeHeaderOnly, writeStageFile } from '../../src/model/stage-writer.js';
import { DigestCache, modelTensorSource } from '../../src/model/tensor-source.js';
import { smallFile, smallMetadata, smallTensors } from '../support/small-gguf.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const HEAD = { range: { start: 0, end: 2 }, head: true, tail: false };
const MIDDLE = { range: { start: 1, end: 3 }, head: false, tail: false };
const TAIL = { range: { start: 2, end: 4 }, head: false, tail: true };
const WHOLE = { range: { start: 0, end: 4 }, head: true, tail: true };

async function smallModel(bytes = smallFile()): Promise<{ directory: string; header: GgufHeader; bytes: Uint8Array; source: TensorSource }> {
  const directory = temporaryDirectory();
  const path = join(directory, 'small.gguf');
  await writeFile(path, bytes);
  const header = await readGgufHeader(path);
  return { directory, header, bytes, source: modelTensorSource(header, new DigestCache(null)) };
}

function tensorBytesOf(header: GgufHeader, bytes: Uint8Array, name: string): Uint8Array {
  const tensor = header.byName.get(name);
  if (tensor === undefined) throw new Error(`no tensor ${name}`);
  return bytes.subarray(tensor.offset, tensor.offset + tensor.sizeBytes);
}

/** A source that counts, and can break off or lie. */
class TestSource implements TensorSource {
  readBytes = 0;
  readonly starts: string[] = [];
  breakAfterBytes = Infinity;
  damage: string | null = null;

  constructor(private readonly header: GgufHeader, private readonly bytes: Uint8Array, private readonly chunk = 300) {}

  async *read(name: string, offset: number): AsyncGenerator<Uint8Array> {
    this.starts.push(`${name}@${offset}`);
    const all = tensorBytesOf(this.header, this.bytes, name);
    for (let at = offset; at < all.length; at += this.chunk) {
      if (this.readBytes >= this.breakAfterBytes) throw new Error('the cable was pulled');
      const piece = all.slice(at, Math.min(at + this.chunk, all.length));
      if (this.damage === name) piece[0] = (piece[0] ?? 0) ^ 1;
      this.readBytes += piece.length;
      yield piece;
    }
  }

  digest(name: string): Promise<string> {
    return Promise.resolve(createHash('sha256').update(tensorBytesOf(this.header, this.bytes, name)).digest('hex'));
  }
}

describe('planning a stage', () => {
  it('renumbers layers and cuts per-layer metadata', async () => {
    const { header } = await smallModel();
    const stage = parseGgufHeader([planStageFile(header, MIDDLE).headerBytes], 1e9);
    expect(metadataNumber(stage.metadata, 'llama.block_count')).toBe(2);
    expect(arrayNumbers(metadataArray(stage.metadata, 'llama.attention.head_count_kv') ?? numberArray('uint32', []))).toEqual([2, 1]);
    expect(stage.byName.get('blk.0.ffn_up.weight')?.dims).toEqual([32, 96]);
    expect(stage.byName.has('blk.2.attn_q.weight')).toBe(false);
  });

  it('gives a vocabulary to the tail only', async () => {
    const { header } = await smallModel();
    for (const spec of [HEAD, MIDDLE]) {
      const stage = parseGgufHeader([planStageFile(header, spec).headerBytes], 1e9);
      expect(metadataText(stage.metadata, 'tokenizer.ggml.model')).toBe('no_vocab');
      expect(metadataNumber(stage.metadata, 'llama.vocab_size')).toBe(TINY_VOCABULARY);
      expect(stage.metadata.has('tokenizer.ggml.tokens')).toBe(false);
      expect(stage.byName.get('token_embd.weight')?.dims).toEqual([32, TINY_VOCABULARY]);
      expect(stage.byName.has('output.weight')).toBe(false);
    }
    const tail = planStageFile(header, TAIL);
    const stage = parseGgufHeader([tail.headerBytes], 1e9);
    expect(metadataArray(stage.metadata, 'tokenizer.ggml.tokens')?.length).toBe(4);
    expect(tail.tensors.find((tensor) => tensor.targetName === 'output.weight')?.sourceTensor).toBe('output.weight');
    expect(tail.holes.map((hole) => hole.targetName)).toEqual(['token_embd.weight']);
  });

  it('sends global tensors to every stage and the final norm to the tail', async () => {
    const { header } = await smallModel();
    for (const spec of [HEAD, MIDDLE, TAIL]) {
      const layout = planStageFile(header, spec);
      expect(layout.tensors.map((tensor) => tensor.sourceTensor)).toContain('rope_freqs.weight');
      expect(layout.tensors.some((tensor) => tensor.sourceTensor === 'output_norm.weight')).toBe(spec === TAIL);
    }
  });

  it('keeps output.weight for architectures that insist on it, with a hole for the embedding', async () => {
    const { header } = await smallModel(smallFile(smallMetadata('gpt-oss')));
    const tail = planStageFile(header, TAIL);
    expect(tail.holes.map((hole) => hole.targetName)).toEqual(['token_embd.weight']);
    expect(tail.tensors.some((tensor) => tensor.targetName === 'output.weight')).toBe(true);
    expect(planStageFile(header, HEAD).holes.map((hole) => hole.targetName)).toEqual(['token_embd.weight', 'output.weight', 'output_norm.weight']);
  });

  it('makes the embedding the output matrix of a model without one', async () => {
    const { header } = await smallModel(smallFile(smallMetadata(), smallTensors(4, false)));
    expect(planStageFile(header, TAIL).tensors.find((tensor) => tensor.targetName === 'output.weight')?.sourceTensor).toBe('token_embd.weight');
  });

  it('keeps the two tied where the loader knows no output matrix', async () => {
    const { header } = await smallModel(smallFile(smallMetadata('gemma2'), smallTensors(4, false)));
    const tail = planStageFile(header, TAIL);
    expect(tail.tensors.find((tensor) => tensor.targetName === 'token_embd.weight')?.sourceTensor).toBe('token_embd.weight');
    expect(tail.holes).toEqual([]);
  });

  it('counts leading dense layers from the stage on', async () => {
    const metadata = smallMetadata('deepseek2', 4);
    metadata.set('deepseek2.leading_dense_block_count', uint32(3));
    metadata.set('deepseek2.attention.q_lora_rank', uint32(8));
    const { header } = await smallModel(smallFile(metadata));
    const dense = (spec: typeof HEAD): number | null =>
      metadataNumber(parseGgufHeader([planStageFile(header, spec).headerBytes], 1e9).metadata, 'deepseek2.leading_dense_block_count');
    expect([HEAD, MIDDLE, TAIL].map(dense)).toEqual([2, 2, 1]);
  });

  it('refuses cuts off the period, guarded layer counts and unsplittable architectures', async () => {
    const refusal = async (architecture: string, layers: number, spec: typeof HEAD): Promise<string> => {
      const metadata = smallMetadata(architecture, layers);
      metadata.set(`${architecture}.attention.sliding_window`, uint32(8));
      const { header } = await smallModel(smallFile(metadata, smallTensors(layers)));
      try {
        planStageFile(header, spec);
      } catch (error) {
        return `${errorCodeOf(error)}: ${error instanceof Error ? error.message : ''}`;
      }
      return 'none';
    };
    expect(await refusal('gpt-oss', 4, { ...HEAD, range: { start: 0, end: 1 } })).toMatch(/^unsplittable_model: .*multiples of 2/);
    expect(await refusal('gpt-oss', 4, HEAD)).toBe('none');
    expect(await refusal('gemma3', 34, { ...HEAD, range: { start: 0, end: 10 } })).toMatch(/multiples of 6/);
    expect(await refusal('gemma3', 34, { ...HEAD, range: { start: 0, end: 12 } })).toBe('none');
    expect(await refusal('gemma2', 46, { ...HEAD, range: { start: 0, end: 20 } })).toMatch(/46 layers/);
    expect(await refusal('deepseek2', 61, { ...HEAD, range: { start: 0, end: 27 } })).toMatch(/lite/);
    expect(await refusal('mamba', 4, HEAD)).toMatch(/runs whole/);
    expect(await refusal('nobody', 4, HEAD)).toMatch(/does not know/);
  });

  it('agrees with the shape that placement sees', async () => {
    const { header } = await smallModel();
    const shape = modelShape(header, 'small');
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    const layers = (spec: typeof HEAD): number => sum(shape.layerBytes.slice(spec.range.start, spec.range.end));
    const loaded = (spec: typeof HEAD): number => sum(planStageFile(header, spec).tensors.map((tensor) => tensor.sizeBytes));
    const global = header.byName.get('rope_freqs.weight')?.sizeBytes ?? 0;
    expect(loaded(HEAD)).toBe(layers(HEAD) + global);
    const hole = planStageFile(header, TAIL).holes.reduce((total, entry) => total + entry.sizeBytes, 0);
    expect(loaded(TAIL) + hole).toBe(layers(TAIL) + shape.tailBytes);
    expect(shape.keyElementsPerToken).toEqual([16, 32, 16, 32]);
    expect(shape.unsplittableReason).toBeNull();
  });
});

describe('writing a stage', () => {
  it('holds the bytes of its layers and nothing else', async () => {
    const { directory, header, bytes, source } = await smallModel();
    const target = join(directory, '0-2-head.gguf');
    const layout = planStageFile(header, HEAD);
    const progress: number[] = [];
    const result = await writeStageFile(layout, source, target, { onProgress: ({ doneBytes, totalBytes }) => progress.push(doneBytes / totalBytes) });
    const stage = await readGgufHeader(target);
    const written = await readFile(target);
    for (const tensor of layout.tensors) {
      expect(Buffer.compare(tensorBytesOf(stage, written, tensor.targetName), tensorBytesOf(header, bytes, tensor.sourceTensor))).toBe(0);
    }
    for (const hole of layout.holes) expect(tensorBytesOf(stage, written, hole.targetName).every((byte) => byte === 0)).toBe(true);
    expect(Buffer.compare(await readFile(embeddingFileOf(target)), tensorBytesOf(header, bytes, 'token_embd.weight'))).toBe(0);
    expect(result.readBytes).toBe([...layout.tensors, { sizeBytes: layout.embedding?.sizeBytes ?? 0 }].reduce((total, tensor) => total + tensor.sizeBytes, 0));
    expect(progress.every((value, index) => value >= (progress[index - 1] ?? 0) && value <= 1)).toBe(true);
    expect((await readdir(directory)).sort()).toEqual(['0-2-head.gguf', '0-2-head.gguf.embd', 'small.gguf']);
  });

  it('B17: moves nothing when the file is there', async () => {
    const { directory, header, bytes } = await smallModel();
    const target = join(directory, 'stage.gguf');
    const layout = planStageFile(header, TAIL);
    await writeStageFile(layout, new TestSource(header, bytes), target);
    const again = new TestSource(header, bytes);
    expect((await writeStageFile(layout, again, target)).readBytes).toBe(0);
    expect(again.starts).toEqual([]);
  });

  it('copies a whole sharded or single model as one file', async () => {
    const { directory, header, bytes } = await smallModel();
    const target = join(directory, 'whole.gguf');
    await writeStageFile(planStageFile(header, WHOLE), new TestSource(header, bytes), target);
    const copy = await readGgufHeader(target);
    expect(copy.tensors.map((tensor) => [tensor.name, tensor.dims])).toEqual(header.tensors.map((tensor) => [tensor.name, tensor.dims]));
    expect(metadataArray(copy.metadata, 'tokenizer.ggml.tokens')?.length).toBe(4);
  });

  it('goes on where it was interrupted, wherever that was', async () => {
    const { directory, header, bytes } = await smallModel();
    const layout = planStageFile(header, HEAD);
    const total = [...layout.tensors, { sizeBytes: layout.embedding?.sizeBytes ?? 0 }].reduce((sum, tensor) => sum + tensor.sizeBytes, 0);
    const complete = join(directory, 'complete.gguf');
    await writeStageFile(layout, new TestSource(header, bytes), complete);
    for (let cut = 1; cut < total; cut += 977) {
      const target = join(directory, `cut-${cut}.gguf`);
      const first = new TestSource(header, bytes);
      first.breakAfterBytes = cut;
      await expect(writeStageFile(layout, first, target)).rejects.toThrow(/cable/);
      expect(await isStageComplete(layout, target)).toBe(false);
      expect(await readdir(directory)).not.toContain(`cut-${cut}.gguf`);
      const second = new TestSource(header, bytes);
      await writeStageFile(layout, second, target);
      expect(Buffer.compare(await readFile(target), await readFile(complete))).toBe(0);
      const finished = first.starts.slice(0, -1).map((start) => start.split('@')[0]);
      expect(second.starts.some((start) => finished.includes(start.split('@')[0]))).toBe(false);
    }
  });

  it('continues inside a tensor whose source ended early', async () => {
    const { directory, header, bytes } = await smallModel();
    const target = join(directory, 'short.gguf');
    const layout = planStageFile(header, TAIL);
    const short = new TestSource(header, bytes);
    const read = short.read.bind(short);
    short.read = async function* (name, offset) {
      let given = 0;
      for await (const chunk of read(name, offset)) {
        if (given >= 900) return;
        given += chunk.length;
        yield chunk;
      }
    };
    await expect(writeStageFile(layout, short, target)).rejects.toMatchObject({ code: 'io_failed' });
    const second = new TestSource(header, bytes);
    await writeStageFile(layout, second, target);
    expect(second.starts[0]).toMatch(/@900$/);
  });

  it('B17: never keeps a damaged tensor', async () => {
    const { directory, header, bytes } = await smallModel();
    const target = join(directory, 'damaged.gguf');
    const layout = planStageFile(header, TAIL);
    const lying = new TestSource(header, bytes);
    lying.damage = 'blk.3.ffn_up.weight';
    await expect(writeStageFile(layout, lying, target)).rejects.toMatchObject({ code: 'digest_mismatch' });
    expect(await isStageComplete(layout, target)).toBe(false);
    const honest = new TestSource(header, bytes);
    await writeStageFile(layout, honest, target);
    expect(honest.starts).toEqual(['blk.3.ffn_up.weight@0']);
  });

  it('starts anew when what was begun is another layout', async () => {
    const { directory, header, bytes } = await smallModel();
    const target = join(directory, 'changed.gguf');
    const broken = new TestSource(header, bytes);
    broken.breakAfterBytes = 3000;
    await expect(writeStageFile(planStageFile(header, TAIL), broken, target)).rejects.toThrow();
    await writeStageFile(planStageFile(header, MIDDLE), new TestSource(header, bytes), target);
    expect(await isStageComplete(planStageFile(header, MIDDLE), target)).toBe(true);
  });

  it('survives a torn journal', async () => {
    const { directory, header, bytes } = await smallModel();
    const target = join(directory, 'torn.gguf');
    const layout = planStageFile(header, TAIL);
    const broken = new TestSource(header, bytes);
    broken.breakAfterBytes = 9000;
    await expect(writeStageFile(layout, broken, target)).rejects.toThrow();
    const journal = await readFile(`${target}.journal`, 'utf8');
    await writeFile(`${target}.journal`, journal.slice(0, -20));
    await writeStageFile(layout, new TestSource(header, bytes), target);
    expect(await isStageComplete(layout, target)).toBe(true);
  });

  it('can be cancelled', async () => {
    const { directory, header, bytes } = await smallModel();
    const abort = new AbortController();
    const writing = writeStageFile(planStageFile(header, TAIL), new TestSource(header, bytes), join(directory, 'c.gguf'), {
      signal: abort.signal, onProgress: () => abort.abort(),
    });
    await expect(writing).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('names path and bytes when the directory is not writable', async () => {
    const { directory, header, bytes } = await smallModel();
    if (process.getuid?.() === 0) {
      // Root may write anywhere: a file in the way of the directory is refused for everybody.
      await writeFile(join(directory, 'file'), '');
      await expect(writeStageFile(planStageFile(header, TAIL), new TestSource(header, bytes), join(directory, 'file', 's.gguf'))).rejects.toMatchObject({ code: 'io_failed' });
      return;
    }
    await chmod(directory, 0o500);
    await expect(writeStageFile(planStageFile(header, TAIL), new TestSource(header, bytes), join(directory, 's.gguf'))).rejects.toMatchObject({ code: 'permission_denied' });
    await chmod(directory, 0o700);
  });

  it('refuses a name that looks like a shard', async () => {
    const { directory, header, bytes } = await smallModel();
    await expect(writeStageFile(planStageFile(header, TAIL), new TestSource(header, bytes), join(directory, 's-00001-of-00002.gguf')))
      .rejects.toMatchObject({ code: 'bad_config' });
  });

  it('writes a header-only file with the tokenizer and no tensor', async () => {
    const { directory, header } = await smallModel(smallFile(new Map([...smallMetadata(), ['tokenizer.chat_template', text('{{ x }}')]])));
    const target = join(directory, 'vocabulary.gguf');
    await writeHeaderOnly(header, target);
    const read = await readGgufHeader(target);
    expect(read.tensors).toEqual([]);
    expect(metadataText(read.metadata, 'tokenizer.chat_template')).toBe('{{ x }}');
    expect((await stat(target)).size).toBeLessThan(2000);
  });
});
