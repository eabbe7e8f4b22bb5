/** Readers of files that people, downloads and crashes leave: models, templates, cluster files, the state directory. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyPair, privateKeyToProtobuf } from '@libp2p/crypto/keys';
import { readApiKeys } from '../../src/api/api-keys.js';
import { parseClusterFile } from '../../src/cli/config-file.js';
import { findRunningAgent } from '../../src/cli/state-directory.js';
import { parseListen } from '../../src/cli/listen-address.js';
import { chatTemplate } from '../../src/model/chat-template.js';
import { HeaderCache } from '../../src/model/header-cache.js';
import { parseGgufFile } from '../../src/model/gguf-parser.js';
import { parseGgufHeader } from '../../src/model/gguf-reader.js';
import { text } from '../../src/model/gguf-values.js';
import { encodeGgufHeader } from '../../src/model/gguf-writer.js';
import { keptShards } from '../../src/model/holdings.js';
import { parseInternetReference } from '../../src/model/internet-reference.js';
import { modelShape } from '../../src/model/model-shape.js';
import { StageJournal } from '../../src/model/stage-journal.js';
import { openIdentity } from '../../src/net/identity.js';
import { parsePeerAddress } from '../../src/net/addresses.js';
import { RememberedPeers } from '../../src/net/remembered-peers.js';
import { DeviceSpeeds } from '../../src/process/device-speeds.js';
import { SILENT } from '../support/silent-log.js';
import { smallFile, smallMetadata, smallTensors } from '../support/small-gguf.js';
import type { Clock, RunnerLauncher } from '../../src/ports.js';
import type { FuzzTarget } from './fuzz.js';

const still: Clock = { now: () => 0, after: () => () => undefined };
const noRunners: RunnerLauncher = { launch: () => { throw new Error('nothing may be started'); } };
const utf8 = (content: string): Uint8Array => new TextEncoder().encode(content);
const asText = (input: Uint8Array): string => new TextDecoder().decode(input);
/** What the header says of the file's length is checked against this. */
const PRETENDED_FILE_BYTES = 1024 * 1024;
/** Slow because of the disk. */
const DISK_SHARE = 20;

const TEMPLATES = [
  "{{ bos_token }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + message.content | trim + eos_token }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
  "{%- set ns = namespace(n=0) -%}{%- for m in messages -%}{%- set ns.n = ns.n + 1 -%}{%- if m.role == 'system' -%}{{ raise_exception('no ' ~ m.role) }}{%- elif loop.first and m.content is defined -%}{{ m.content[0:3] | upper }}{%- else -%}{{ m | tojson(indent=2) }}{%- endif -%}{%- endfor -%}{{ ns.n }}",
  "{% macro part(x, y=1) %}{{ x ~ y }}{% endmacro %}{{ part(messages[0].content) }}{{ [1, 2, 3] | join(', ') }}{{ {'a': 1}.items() | list | length }}",
];

const CLUSTER_FILES = [
  `model = "m.gguf"
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
max_ram_gb = 44
layers = "0:12"
[[node]]
addr = "[fe80::1]:7002"
ckpt_dir = '/other'
`,
  'model = "m"\n[[node]]\naddr = "h:1"\nckpt_dir = "/c"\n',
];

export interface FileTargets {
  readonly targets: readonly FuzzTarget[];
  /** Removes what was written. */
  close(): Promise<void>;
}

export async function fileTargets(): Promise<FileTargets> {
  const directory = await mkdtemp(join(tmpdir(), 'ring-fuzz-'));
  /** A reader of one file of a directory. */
  const onDisk = (name: string, file: string, seeds: readonly (string | Uint8Array)[], read: (directory: string, path: string) => Promise<unknown>): FuzzTarget => ({
    name, json: file.endsWith('.json'), seeds: seeds.map((seed) => (typeof seed === 'string' ? utf8(seed) : seed)), share: DISK_SHARE,
    async run(input) {
      const place = join(directory, name.replaceAll(' ', '-'));
      await mkdir(join(place, file, '..'), { recursive: true });
      await writeFile(join(place, file), input, { mode: 0o600 });
      await read(place, join(place, file));
    },
  });
  const digest = 'ab'.repeat(32);
  const small = encodeGgufHeader(smallMetadata(), smallTensors(), 32).bytes;
  const targets: FuzzTarget[] = [
    {
      name: 'GGUF headers', seeds: [small, encodeGgufHeader(smallMetadata('qwen2', 2), smallTensors(2, false), 32).bytes],
      run(input) {
        parseGgufFile(input, PRETENDED_FILE_BYTES, 'fuzz');
        modelShape(parseGgufHeader([input], PRETENDED_FILE_BYTES), 'fuzz');
      },
    },
    { name: 'GGUF files', seeds: [smallFile()], share: 300, run: (input) => modelShape(parseGgufHeader([input], input.length), 'fuzz') },
    {
      name: 'chat templates', seeds: TEMPLATES.map(utf8), share: 300,
      run(input) {
        const header = parseGgufHeader([encodeGgufHeader(new Map([...smallMetadata(), ['tokenizer.chat_template', text(asText(input))]]), smallTensors(), 32).bytes], PRETENDED_FILE_BYTES);
        chatTemplate(header).render({ messages: [{ role: 'system', content: 'be short' }, { role: 'user', content: [{ type: 'text', text: 'Hello' }] }] });
      },
    },
    { name: 'cluster files', seeds: CLUSTER_FILES.map(utf8), share: 500, run: (input) => parseClusterFile(asText(input), 'cluster.toml') },
    { name: 'peer addresses', seeds: ['/ip4/10.0.0.1/tcp/11501', '[fe80::1]:11501', 'host:1', `/dns4/a/tcp/1/p2p/12D3KooWPmdszbJYwqtPLTDD4gZJ2mKr2jtBWrJnMvybH8oEq2ab`].map(utf8), run: (input) => parsePeerAddress(asText(input)) },
    { name: 'listen addresses', seeds: ['127.0.0.1:0', '11501', '[::]:1'].map(utf8), run: (input) => parseListen(asText(input)) },
    { name: 'internet references', seeds: ['hf:owner/repo:Q4_K_M', 'hf:owner/repo/dir/file.gguf', 'https://host/a.gguf'].map(utf8), run: (input) => parseInternetReference(asText(input)) },
    onDisk('remembered peers', 'peers.json', [JSON.stringify({ peers: [{ nodeId: 'a', addresses: ['/ip4/10.0.0.1/tcp/1'], lastSeen: 1e12 }] })], (place) => RememberedPeers.load({ stateDir: place, clock: still, log: SILENT, wallClock: () => 1e12 })),
    onDisk('incarnations', 'node.json', ['{"incarnation": 7}', '{"incarnation": 9007199254740990}'], async (place) => {
      const identity = await openIdentity(place, SILENT);
      await identity.release();
      if (!Number.isSafeInteger(identity.incarnation)) throw new Error(`an incarnation of ${identity.incarnation}`);
    }),
    onDisk('identities', 'identity.key', [privateKeyToProtobuf(await generateKeyPair('Ed25519'))], async (place) => (await openIdentity(place, SILENT)).release()),
    onDisk('running agents', 'agent.json', [JSON.stringify({ pid: 4, apiUrl: 'http://127.0.0.1:1', apiKeyFile: null })], (place) => findRunningAgent(place)),
    onDisk('locks', 'lock', [JSON.stringify({ pid: 4_194_000, started: 'x' })], (place) => findRunningAgent(place)),
    onDisk('API keys', 'keys', ['# mine\nthe-key-of-the-first-person\n'], (_, path) => readApiKeys(path)),
    onDisk('measured speeds', 'speeds.json', [JSON.stringify({ version: 1, entries: [{ key: 'k', gflops: 1, memoryBandwidthBytesPerSecond: 2 }] })], (place, file) => DeviceSpeeds.open({ file, directory: place, engineVersion: '1', threads: 1 }, noRunners, SILENT)),
    onDisk('stage journals', 'j', [`${JSON.stringify({ kind: 'layout', fingerprint: 'f' })}\n${JSON.stringify({ kind: 'offset', key: 'a', bytes: 5 })}\n${JSON.stringify({ kind: 'done', key: 'b', digest })}\n`], async (_, path) => {
      await StageJournal.finished(path, 'f');
      await (await StageJournal.open(path, 'f')).close();
    }),
    onDisk('cached headers', `${digest}.header`, [`{"name":"a","sizeBytes":5,"lengths":[3]}\nabc`], (place) => new HeaderCache(place).load(digest)),
    {
      name: 'names of kept shards', seeds: ['0-5-head.gguf', '5-8-tail.f16.gguf.partial', '0-4.gguf.rows'].map(utf8), share: DISK_SHARE,
      async run(input) {
        const place = join(directory, 'shards', digest);
        await rm(place, { recursive: true, force: true });
        await mkdir(place, { recursive: true });
        const name = asText(input).replaceAll(/[/\0]/g, '').slice(0, 80);
        if (name !== '' && name !== '.' && name !== '..') await writeFile(join(place, name), 'x');
        await keptShards(join(directory, 'shards'));
      },
    },
  ];
  return { targets, close: () => rm(directory, { recursive: true, force: true }) };
}
