/** A peer whose bytes are not those that it announced: another one is asked, and the first answers for it. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRemoteWeights } from '../../src/agent/holders.js';
import { RingError } from '../../src/core/errors.js';
import type { NodeId, NodeRecord } from '../../src/core/types.js';
import { parseGgufHeader } from '../../src/model/gguf-reader.js';
import { FetchingTensorSource } from '../../src/model/remote-tensors.js';
import { planStageFile } from '../../src/model/stage-file.js';
import { writeStageFile } from '../../src/model/stage-writer.js';
import type { SizedTensorSource } from '../../src/model/tensor-source.js';
import type { Network, TensorContent } from '../../src/ports.js';
import { smallFile } from '../support/small-gguf.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const BYTES = smallFile();
const HEADER = parseGgufHeader([BYTES], BYTES.length);
const RANGE = { range: { start: 0, end: 2 }, head: true, tail: false };
const nothingHere: SizedTensorSource = { sizeOf: () => null, digest: () => Promise.reject(new Error('nothing is here')), read: () => { throw new Error('nothing is here'); } };

function holder(nodeId: NodeId): NodeRecord {
  return {
    nodeId, incarnation: 1, counter: 1, nonce: nodeId, addresses: [],
    capabilities: {
      agentVersion: '0', protocolMin: 1, protocolMax: 1, hostname: nodeId, os: 'linux', arch: 'x64', cores: 1, ramTotalBytes: 1, ramAvailableBytes: 1, ramLimitBytes: null, machineId: nodeId, diskFreeBytes: 1,
      devices: [], backends: ['cpu'], gflops: null, memoryBandwidthBytesPerSecond: null, shards: [], apiAddress: '',
      models: [{ digest: HEADER.identity.digest, sizeBytes: BYTES.length, name: 'm', architecture: 'llama', layers: 4 }],
    },
  };
}

/** The stage's file, made from these peers' weights. `lies`: what a peer makes of a tensor's bytes. */
async function make(
  peers: readonly NodeId[], lies: Readonly<Record<NodeId, (bytes: Uint8Array) => Uint8Array>>, stalls: ReadonlySet<NodeId> = new Set(),
): Promise<{ readonly file: Uint8Array; readonly asked: Readonly<Record<string, number>>; readonly accused: readonly NodeId[] }> {
  const asked: Record<string, number> = {};
  const accused: NodeId[] = [];
  const network: Pick<Network, 'nodeId' | 'peers' | 'fetchTensor'> = {
    nodeId: 'self',
    peers: () => peers,
    fetchTensor: async (from, _digest, name): Promise<TensorContent> => {
      asked[from] = (asked[from] ?? 0) + 1;
      const tensor = HEADER.byName.get(name);
      if (tensor === undefined) throw new Error(`no tensor ${name}`);
      const right = BYTES.slice(tensor.offset, tensor.offset + tensor.sizeBytes);
      const sent = lies[from]?.(right.slice()) ?? right;
      return {
        sizeBytes: right.length, digest: createHash('sha256').update(right).digest('hex'), reject: () => void accused.push(from),
        read: async function* read(offset) {
          if (stalls.has(from)) throw new RingError('timeout', 'nothing came for a while');
          for (let at = offset; at < sent.length; at += 500) yield sent.slice(at, at + 500);
        },
      };
    },
  };
  const target = join(temporaryDirectory(), 'stage.gguf');
  const remote = createRemoteWeights(network as Network, () => peers.map(holder));
  const source = new FetchingTensorSource(HEADER, nothingHere, remote, new AbortController().signal);
  await writeStageFile(planStageFile(HEADER, RANGE), source, target);
  return { file: await readFile(target), asked, accused };
}

const flipped = (bytes: Uint8Array): Uint8Array => {
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  return bytes;
};
const tooMuch = (bytes: Uint8Array): Uint8Array => Buffer.concat([bytes, Buffer.from('more')]);

describe('weights that are not what they were said to be', () => {
  it.each([['changed', flipped], ['too many', tooMuch]])('%s: another peer is asked, the first one answers for it and is asked no more', async (_, lie) => {
    const right = await make(['honest'], {});
    const { file, asked, accused } = await make(['liar', 'honest'], { liar: lie });
    expect(Buffer.compare(file, right.file)).toBe(0);
    expect(accused).toEqual(['liar']);
    expect(asked['liar']).toBe(1);
    expect(asked['honest']).toBe(right.asked['honest']);
  });

  it('from the only one that has them: refused after a bounded number of attempts, each counted', async () => {
    await expect(make(['liar'], { liar: flipped })).rejects.toMatchObject({ code: 'digest_mismatch' });
  });
});

describe('weights that do not come', () => {
  it('a peer that stalls is asked no more while another one has them', async () => {
    const right = await make(['honest'], {});
    const { file, asked, accused } = await make(['stalled', 'honest'], {}, new Set(['stalled']));
    expect(Buffer.compare(file, right.file)).toBe(0);
    expect(accused).toEqual([]);
    expect(asked['stalled']).toBe(1);
    expect(asked['honest']).toBe(right.asked['honest']);
  });
});
