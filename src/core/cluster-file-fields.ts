/**
 * The cluster file's schema as data: every key with its type, default and meaning, for reading, messages and the manual.
 */
import { ACTIVATION_TYPES, CACHE_TYPES } from './formats.js';
import { editDistance } from './nearest-name.js';

export interface Field {
  readonly key: string;
  readonly type: 'text' | 'integer' | 'number' | 'table' | 'tables';
  readonly required?: boolean;
  /** Integers are bigint, as they are read. Absent = the key has no value unless written. */
  readonly default?: string | bigint | number;
  /** Inclusive. */
  readonly range?: readonly [low: number, high: number];
  /** The only allowed texts. */
  readonly values?: readonly string[];
  readonly example: string;
  readonly meaning: string;
}

const MAX_SEED = 2 ** 32 - 1;
/** 1,000 TB: beyond it a number is a mistake. */
const MAX_GB = 1e6;
const MAX_SEQ = 1_000_000;
const MAX_DEADLINE_SECONDS = 86_400;

export const clusterFields: readonly Field[] = [
  { key: 'model', type: 'text', required: true, example: '"models/llama.gguf"', meaning: 'a GGUF file or a checkpoint directory (seen from where the agent starts, from this file, or from the ckpt_dir of this machine), a reference to the internet (hf:owner/repo:Q8_0, or the https address of a GGUF), or a name that the cluster or the catalogue knows' },
  { key: 'seq', type: 'integer', default: 8n, range: [1, MAX_SEQ], example: '8', meaning: 'prompt length that stages are sized for, in tokens; one above the usual context makes room for itself and an answer' },
  { key: 'rng_seed', type: 'integer', range: [0, MAX_SEED], example: '42', meaning: 'seed of sampling; a node may have its own; 0 when neither is given' },
  { key: 'reserve_ram_gb', type: 'number', default: 6, range: [0, MAX_GB], example: '6.0', meaning: 'left free on every node beyond its stage (1 GB = 1e9 bytes)' },
  { key: 'replan_deadline', type: 'number', range: [1, MAX_DEADLINE_SECONDS], example: '120', meaning: 'seconds that an answer waits while its ring is planned again; absent = 120' },
  { key: 'kv_type', type: 'text', values: CACHE_TYPES, example: '"q8_0"', meaning: 'of cached keys and values; absent = the planner\'s choice' },
  { key: 'activations', type: 'text', values: ACTIVATION_TYPES, example: '"f16"', meaning: 'of hidden states from node to node: f16 and q8_0 are half and a quarter of the bytes, and answers then depend on the split; absent = f32' },
  { key: 'draft', type: 'text', example: '"models/small.gguf"', meaning: 'a small model of the same vocabulary, named as `model` is, that guesses what the model says next; answers stay the same; absent = none' },
  { key: 'placement', type: 'table', example: '', meaning: 'how layers are given to nodes' },
  { key: 'node', type: 'tables', required: true, example: '', meaning: 'one for each node, in pipeline order' },
];

export const placementFields: readonly Field[] = [
  {
    key: 'policy', type: 'text', default: 'ram_balanced', values: ['ram_balanced', 'throughput', 'manual'], example: '"ram_balanced"',
    meaning: 'by memory, by measured speed, or as `layers` of the nodes says',
  },
];

export const nodeFields: readonly Field[] = [
  { key: 'addr', type: 'text', required: true, example: '"192.168.1.20:11501"', meaning: 'host and port of the agent, each its own; an IPv6 address stands in brackets' },
  { key: 'ssh', type: 'text', example: '"studio"', meaning: 'ssh host to start the agent on, ended with the agent that read the file; absent = this machine, or an agent that runs already' },
  { key: 'ckpt_dir', type: 'text', required: true, example: '"/var/lib/models"', meaning: 'directory on that node in which models are looked for' },
  { key: 'device', type: 'text', default: 'cpu', example: '"metal+cpu"', meaning: 'cpu, metal, cuda, vulkan, gpu …; "a+b" is a list by preference, "+cpu" lets what does not fit spill to host memory' },
  { key: 'precision', type: 'text', example: '"bf16"', meaning: 'f32, f16, bf16, mixed, fp8, fp8e5m2, mxfp8, nvfp4, mxfp4, or any fNeXmY; absent = as the checkpoint stores them' },
  { key: 'kv_cache', type: 'text', values: ['none', 'host', 'device'], example: '"device"', meaning: 'none computes every step again from the start (slow), host and device say whose memory holds it; absent = device (host on cpu)' },
  { key: 'rng_seed', type: 'integer', range: [0, MAX_SEED], example: '7', meaning: "this node's own seed" },
  { key: 'max_ram_gb', type: 'number', range: [0, MAX_GB], example: '44', meaning: 'most memory to use, before the reserve; absent = what is free' },
  { key: 'layers', type: 'text', example: '"0:12"', meaning: 'layers [first, end) of this node: all of them under policy manual, a pin under others' },
];

/** The reference as an example file: every key with its meaning and default. */
export function clusterFileReference(): readonly string[] {
  const lines = (fields: readonly Field[]): readonly string[] => fields.filter((field) => field.example !== '').map((field) => {
    const state = field.required === true ? 'required' : field.default === undefined ? 'optional' : `default ${String(field.default)}`;
    return `${field.key} = ${field.example}  # ${field.meaning} (${state})`;
  });
  return [...lines(clusterFields), '', '[placement]', ...lines(placementFields), '', '[[node]]', ...lines(nodeFields)];
}

/** Letters that a guess may differ in. */
const MAX_TYPO_DISTANCE = 2;

/** The known word that was probably meant; null when none is near. Ties go to the first. */
export function suggestionFor(word: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = MAX_TYPO_DISTANCE + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase().replaceAll('-', '_'), candidate);
    if (distance < bestDistance && distance < candidate.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}
