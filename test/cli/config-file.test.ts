import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadClusterFile, parseClusterFile } from '../../src/cli/config-file.js';
import { settingsOf } from '../../src/core/cluster-file.js';
import { clusterFileReference } from '../../src/core/cluster-file-fields.js';

const EXAMPLE = `model = "m.gguf"         # required
seq = 8
rng_seed = 42
reserve_ram_gb = 6.0
[placement]
policy = "ram_balanced"
[[node]]
addr = "10.0.0.1:7001"
ssh = "alias"
ckpt_dir = "/path"
device = "metal+cpu"
precision = "bf16"
kv_cache = "none"
rng_seed = 7
max_ram_gb = 44
layers = "0:12"
`;

const SMALLEST = 'model = "m"\n[[node]]\naddr = "h:1"\nckpt_dir = "/c"\n';

function read(text: string): ReturnType<typeof parseClusterFile> {
  return parseClusterFile(text, 'c.toml');
}

function complaint(text: string): string {
  try {
    read(text);
  } catch (error) {
    expect(error).toMatchObject({ code: 'bad_config' });
    return error instanceof Error ? error.message : '';
  }
  throw new Error('it was accepted');
}

describe('B1: the cluster file', () => {
  it('reads the example', () => {
    const { file, warnings } = read(EXAMPLE);
    expect(warnings).toEqual([]);
    expect(file).toMatchObject({ model: 'm.gguf', promptTokens: 8, reserveBytes: 6e9, policy: 'ram_balanced' });
    expect(file.nodes).toEqual([{
      host: '10.0.0.1', port: 7001, ssh: 'alias', checkpointDirectory: '/path', devices: ['metal', 'cpu'],
      precision: { name: 'bf16', kind: 'ggml', type: 'bf16' }, keyValueCache: 'none', seed: 7, maxRamBytes: 44e9, layers: { start: 0, end: 12 },
    }]);
  });

  it('fills in the defaults', () => {
    expect(read(SMALLEST).file).toEqual({
      model: 'm', promptTokens: 8, reserveBytes: 6e9, replanDeadlineMs: null, cacheType: null, activations: null, draft: null, policy: 'ram_balanced',
      nodes: [{
        host: 'h', port: 1, ssh: null, checkpointDirectory: '/c', devices: ['cpu'], precision: null, keyValueCache: null,
        seed: 0, maxRamBytes: null, layers: null,
      }],
    });
  });

  it('says number formats of the cache and of hidden states', () => {
    expect(read(`kv_type = "q8_0"\nactivations = "f16"\ndraft = "small"\n${SMALLEST}`).file).toMatchObject({ cacheType: 'q8_0', activations: 'f16', draft: 'small' });
    expect(complaint(`activations = "f8"\n${SMALLEST}`)).toContain('line 1: activations');
  });

  it('says how long answers wait for a ring that is planned again', () => {
    expect(read(`replan_deadline = 30\n${SMALLEST}`).file).toMatchObject({ replanDeadlineMs: 30_000 });
    expect(complaint(`replan_deadline = 0\n${SMALLEST}`)).toContain('line 1: replan_deadline must be from 1 to 86400, not 0');
  });

  it('accepts integers where a float is meant', () => {
    expect(read(`reserve_ram_gb = 5\n${SMALLEST}max_ram_gb = 1.5`).file).toMatchObject({ reserveBytes: 5e9, nodes: [{ maxRamBytes: 1.5e9 }] });
  });

  it.each([
    ['model', '[[node]]\naddr = "h:1"\nckpt_dir = "/c"', 'c.toml: model is missing'],
    ['node', 'model = "m"', 'c.toml: node is missing; a cluster has at least one [[node]]'],
    ['addr', 'model = "m"\n\n[[node]]\nckpt_dir = "/c"', 'c.toml, line 3: node 1: addr is missing'],
    ['ckpt_dir', 'model = "m"\n[[node]]\naddr = "h:1"\nckpt_dir = "/c"\n[[node]]\naddr = "h:2"', 'c.toml, line 5: node 2: ckpt_dir is missing'],
    ['a bad policy', `${SMALLEST}[placement]\npolicy = "ram-balanced"`, 'c.toml, line 6: placement.policy must be ram_balanced, throughput, manual, not "ram-balanced"; did you mean "ram_balanced"?'],
    ['a bad kv_cache', `${SMALLEST}kv_cache = "disk"`, 'c.toml, line 5: node 1: kv_cache must be none, host, device, not "disk"'],
    ['a bad precision', `${SMALLEST}precision = "int8"`, 'c.toml, line 5: node 1: precision "int8" is unknown; use f32, f16'],
    ['a wrong type', 'model = 7\n[[node]]\naddr = "h:1"\nckpt_dir = "/c"', 'c.toml, line 1: model must be text in quotes, not the integer 7'],
    ['a float for an integer', `seq = 8.0\n${SMALLEST}`, 'c.toml, line 1: seq must be an integer, not the number 8'],
    ['a negative seq', `seq = -1\n${SMALLEST}`, 'c.toml, line 1: seq must be from 1 to 1000000, not -1'],
    ['a negative seed', `${SMALLEST}rng_seed = -7`, 'c.toml, line 5: node 1: rng_seed must be from 0 to 4294967295, not -7'],
    ['a bad addr', 'model = "m"\n[[node]]\naddr = "nowhere"\nckpt_dir = "/c"', 'c.toml, line 3: node 1: addr must be "host:port" with a port from 1 to 65535, not "nowhere"'],
    ['no TOML', 'model = \n', 'c.toml, line 1, column'],
    ['a table that is none', 'placement = 3\nmodel = "m"\n[[node]]\naddr = "h:1"\nckpt_dir = "/c"', 'c.toml, line 1: placement must be a table, [placement], not the integer 3'],
  ])('names file, key and line: %s', (_name, text, message) => {
    expect(complaint(text)).toContain(message);
  });

  it('lists every problem at once', () => {
    expect(complaint('seq = 0\nmodel = ""\n[[node]]\naddr = "h"').split('\n')).toHaveLength(4);
  });

  it('reads from disk, and says when it cannot', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'config-'));
    const path = join(directory, 'cluster.toml');
    await writeFile(path, EXAMPLE);
    expect((await loadClusterFile(path)).file.model).toBe('m.gguf');
    await expect(loadClusterFile(join(directory, 'none.toml'))).rejects.toMatchObject({ code: 'bad_config', message: expect.stringMatching(/none\.toml \(there is none at this path\): name a TOML file/) as string });
    await writeFile(path, '#'.repeat((1 << 20) + 1));
    await expect(loadClusterFile(path)).rejects.toMatchObject({ code: 'bad_config' });
    await rm(directory, { recursive: true });
  });
});

describe('B2: stricter', () => {
  it('warns of unknown keys and suggests', () => {
    expect(read(`reserve_ram = 1\nmodle = "x"\nzzz = 1\n${SMALLEST}ckptdir = "/x"\n`).warnings).toEqual([
      'c.toml, line 1: reserve_ram is unknown and has no effect',
      'c.toml, line 2: modle is unknown and has no effect; did you mean "model"?',
      'c.toml, line 3: zzz is unknown and has no effect',
      'c.toml, line 8: node 1: ckptdir is unknown and has no effect; did you mean "ckpt_dir"?',
    ]);
  });

  it.each([
    ['an empty node list', 'model = "m"\nnode = []', 'c.toml, line 2: node is empty'],
    ['a duplicate addr', `${SMALLEST}[[node]]\naddr = "H:1"\nckpt_dir = "/d"`, 'c.toml, line 6: node 2: addr "H:1" is node 1\'s too'],
    ['seq = 0', `seq = 0\n${SMALLEST}`, 'line 1: seq must be from 1'],
    ['negative GB', `${SMALLEST}max_ram_gb = -0.5`, 'line 5: node 1: max_ram_gb must be from 0'],
    ['non-finite GB', `reserve_ram_gb = inf\n${SMALLEST}`, 'line 1: reserve_ram_gb must be from 0 to 1000000, not Infinity'],
    ['NaN', `reserve_ram_gb = nan\n${SMALLEST}`, 'line 1: reserve_ram_gb must be from 0'],
  ])('%s is an error', (_name, text, message) => {
    expect(complaint(text)).toContain(message);
  });
});

describe('B3: seeds', () => {
  it.each([
    ['rng_seed = 42\n', 'rng_seed = 7', 7], ['rng_seed = 42\n', 'rng_seed = 0', 0], ['rng_seed = 42\n', '', 42], ['', '', 0],
  ])('%j and %j give %i', (global, own, seed) => {
    expect(read(`${global}${SMALLEST}${own}`).file.nodes[0]?.seed).toBe(seed);
  });
});

describe('B4 and B13: devices and layers in the file', () => {
  it('a bad device string is an error, never a silent cpu', () => {
    expect(complaint(`${SMALLEST}device = "tpu"`)).toContain('c.toml, line 5: node 1: device is wrong: device "tpu" is unknown; use cpu, metal');
    expect(complaint(`${SMALLEST}device = 3`)).toBe('c.toml, line 5: node 1: device must be text in quotes, not the integer 3');
  });

  it('tolerates white space in layers, and refuses what is no range', () => {
    expect(read(`${SMALLEST}layers = " 3 : 12 "`).file.nodes[0]?.layers).toEqual({ start: 3, end: 12 });
    expect(complaint(`${SMALLEST}layers = "12:3"`)).toContain('node 1: layers "12:3" is empty');
    expect(complaint(`${SMALLEST}layers = "1-3"`)).toContain('must be "first:end"');
  });

  it('gives placement what the node asks for', () => {
    const { file } = read(EXAMPLE);
    expect(file.nodes.map((node) => settingsOf(file, node))).toEqual([
      {
        reserveBytes: 6e9, devices: ['metal', 'cpu'], maxRamBytes: 44e9, layers: { start: 0, end: 12 }, precision: 'bf16', keyValueCache: 'none', seed: 7,
      },
    ]);
  });
});

describe('B16: ssh hosts', () => {
  it('that begin with - are refused', () => {
    expect(complaint(`${SMALLEST}ssh = "-oProxyCommand=x"`)).toContain('node 1: ssh must not begin with "-"');
  });
});

describe('lines', () => {
  it('are found past multi-line strings and in inline tables', () => {
    expect(complaint(`model = """\nseq = 1\n[[node]]\n"""\nseq = 0\n[[node]]\naddr = "h:1"\nckpt_dir = "/c"`)).toBe('c.toml, line 5: seq must be from 1 to 1000000, not 0');
    expect(complaint('model = "m"\nplacement = { policy = "x" }\n[[node]]\naddr = "h:1"\nckpt_dir = "/c"')).toContain('line 2: placement.policy must be');
    expect(complaint('model = "m"\nplacement.policy = "x"\n[[node]]\naddr = "h:1"\nckpt_dir = "/c"')).toContain('line 2: placement.policy must be');
  });
});

describe('the reference', () => {
  it('is a file that loads without a warning, and has every default', () => {
    const reference = clusterFileReference().join('\n');
    expect(read(reference).warnings).toEqual([]);
    expect(reference).toContain('reserve_ram_gb = 6.0  # left free on every node beyond its stage (1 GB = 1e9 bytes) (default 6)');
  });
});
