/**
 * Loads a GGUF into the engine and opens a context on it, with the parameters that exactness and memory need.
 *
 * The backend is decided here, before anything is allocated. It must not know slots, sampling or roles.
 */
import { existsSync } from 'node:fs';
import { RingError } from '../core/errors.js';
import type { ErrorCode } from '../core/errors.js';
import { engineCallTokens } from '../core/step-size.js';
import type { Backend, GgmlCacheType } from '../core/types.js';
import { LATENT_ATTENTION_KEY } from '../model/architectures.js';
import { engineDevices } from './devices.js';
import { engineLog } from './engine-log.js';
import { addressOf, FLASH_ATTENTION_ENABLED, loadLlama, LOAD_MODE_NONE, ROPE_TYPE_IMROPE, ROPE_TYPE_MROPE } from './llama.js';
import type { Llama } from './llama.js';
import { keepThreads } from './thread-pool.js';

export interface EngineModel {
  readonly llama: Llama;
  readonly model: bigint;
  readonly vocabulary: bigint;
  /** `general.architecture` */
  readonly architecture: string;
  readonly layers: number;
  readonly hiddenSize: number;
  /** Width of an input row; wider than `hiddenSize` where images feed several layers. */
  readonly inputSize: number;
  /** 4 for M-RoPE, else 1. */
  readonly positionsPerToken: number;
  /** The device list that the engine was given; C keeps its address, so it lives as long as the model. */
  readonly deviceList: BigUint64Array | null;
  /** True when weights and KV are in host memory and nothing else computes. */
  readonly onCpu: boolean;
}

export interface ContextSettings {
  readonly contextTokens: number;
  readonly slots: number;
  readonly batchTokens: number;
  /** Most threads that may compute; a small stage uses fewer. */
  readonly threads: number;
  /** Rows per call whose logits are wanted at most; bounds the logits buffer. */
  readonly maxOutputs: number;
  readonly maxOutputsPerSequence: number;
  readonly keyType: GgmlCacheType;
  readonly valueType: GgmlCacheType;
  /** Keys and values in host memory although a device computes. */
  readonly cacheOnHost?: boolean;
  /** `registerEvalCallback`'s address; null = none. */
  readonly evalCallback: bigint | null;
}

const CACHE_TYPES: Readonly<Record<GgmlCacheType, number>> = { f32: 0, f16: 1, bf16: 30, q8_0: 8, q4_0: 2 };
/** The engine rounds each sequence's cells up to this. */
const CONTEXT_MULTIPLE = 256;
const MAX_ARCHITECTURE_BYTES = 128;
/** `enum llama_pooling_type`. */
const POOLING_TYPE_NONE = 0;
/**
 * A thread needs this much weight to read to be worth it. The engine's threads wait for each other by spinning, some
 * 200 times a step: on a busy machine a needless second thread turns a step of 1 ms into 100 (measured).
 */
const MIN_WEIGHT_BYTES_PER_THREAD = 8 << 20;
/** Lines of the engine's log that a load error repeats. */
const MAX_QUOTED_LINES = 3;

export interface LoadOptions {
  readonly backend?: Backend;
  readonly vocabularyOnly: boolean;
  /** Layers, the last, that the device holds; the first stay in host memory. Absent = all. */
  readonly deviceLayers?: number;
}

/** Throws `io_failed`, `bad_gguf`, `unsupported_architecture`, `out_of_memory`, `backend_missing`. */
export function loadModel(file: string, options: LoadOptions): EngineModel {
  const llama = loadLlama(options.backend);
  if (!existsSync(file)) throw new RingError('io_failed', `model file ${file} does not exist`, { file });
  const { c } = llama;
  const params = c.llama_model_default_params();
  const placement = options.vocabularyOnly ? CPU_PLACEMENT : devicesFor(llama, options.backend);
  params.vocab_only = options.vocabularyOnly;
  if (placement.onCpu) {
    params.n_gpu_layers = 0;
    // Weights that the cpu repacks are copies: mapped as well they would be in memory twice.
    params.load_mode = LOAD_MODE_NONE;
  } else if (options.deviceLayers !== undefined) {
    // The engine counts from the end, what follows the last layer included: that is always on the device, so that the
    // graph ends there.
    params.n_gpu_layers = options.deviceLayers + 1;
  }
  if (placement.devices !== null) params.devices = addressOf(placement.devices);
  const mark = engineLog.mark();
  const model = c.llama_model_load_from_file(file, params);
  if (model === null) throw loadError(file, engineLog.complaintsSince(mark));
  const vocabulary = c.llama_model_get_vocab(model);
  const architecture = metadataText(llama, model, 'general.architecture');
  if (vocabulary === null || architecture === null) {
    c.llama_model_free(model);
    throw new RingError('bad_gguf', `${file} names no architecture; it is not a language model`, { file });
  }
  const rope = options.vocabularyOnly ? 0 : c.llama_model_rope_type(model);
  return {
    llama,
    model,
    vocabulary,
    architecture,
    layers: options.vocabularyOnly ? 0 : c.llama_model_n_layer(model),
    hiddenSize: options.vocabularyOnly ? 0 : c.llama_model_n_embd(model),
    inputSize: options.vocabularyOnly ? 0 : c.llama_model_n_embd_inp(model),
    positionsPerToken: rope === ROPE_TYPE_MROPE || rope === ROPE_TYPE_IMROPE ? 4 : 1,
    deviceList: placement.devices,
    onCpu: placement.onCpu,
  };
}

export interface EngineContext {
  readonly context: bigint;
  /** To be called before the model is freed. */
  close(): void;
}

/** Throws `out_of_memory` or `engine_failed`. */
export function openContext(engineModel: EngineModel, settings: ContextSettings): EngineContext {
  const { llama: { c }, model, onCpu } = engineModel;
  const params = c.llama_context_default_params();
  params.n_ctx = Math.ceil(settings.contextTokens / CONTEXT_MULTIPLE) * CONTEXT_MULTIPLE * settings.slots;
  const callTokens = engineCallTokens({ callTokens: settings.batchTokens, windowed: c.llama_model_n_swa(model) > 0 });
  params.n_batch = callTokens;
  params.n_ubatch = callTokens;
  params.n_seq_max = settings.slots;
  params.n_outputs_max = settings.maxOutputs;
  params.n_outputs_max_per_seq = settings.maxOutputsPerSequence;
  const threads = Math.max(1, Math.min(settings.threads, Math.floor(c.llama_model_size(model) / MIN_WEIGHT_BYTES_PER_THREAD)));
  params.n_threads = threads;
  params.n_threads_batch = threads;
  // Never `auto`: it may resolve differently from stage to stage, and a quantised V needs it.
  params.flash_attn_type = FLASH_ATTENTION_ENABLED;
  params.type_k = CACHE_TYPES[settings.keyType];
  // Latent attention: values are a view into the keys, and the engine refuses another type for them.
  const latent = metadataText(engineModel.llama, model, `${engineModel.architecture}.${LATENT_ATTENTION_KEY}`) !== null;
  params.type_v = CACHE_TYPES[latent ? settings.keyType : settings.valueType];
  params.offload_kqv = !onCpu && settings.cacheOnHost !== true;
  params.op_offload = !onCpu;
  // A KV stream per sequence: attention then never sums over other people's cells.
  params.kv_unified = false;
  // Windowed layers keep their window only; a sequence in such a model is never rolled back (stage.ts, canRollBack).
  params.swa_full = false;
  params.cb_eval = settings.evalCallback;
  // Hidden states stay apart, whatever the model says: a prompt comes in several calls, and is pooled over all of them.
  if (metadataText(engineModel.llama, model, `${engineModel.architecture}.pooling_type`) !== null) params.pooling_type = POOLING_TYPE_NONE;
  const mark = engineLog.mark();
  const context = c.llama_init_from_model(model, params);
  if (context === null) {
    const complaints = engineLog.complaintsSince(mark);
    const code: ErrorCode = OUT_OF_MEMORY.test(complaints.join('\n')) ? 'out_of_memory' : 'engine_failed';
    throw new RingError(
      code,
      `the engine cannot open a context of ${settings.contextTokens} tokens for ${settings.slots} sequences${quote(complaints)}` +
        (code === 'out_of_memory' ? '; ask for less context or fewer slots' : ''),
      { contextTokens: settings.contextTokens, slots: settings.slots },
    );
  }
  const endThreads = keepThreads(engineModel.llama, context, threads);
  return {
    context,
    close: () => {
      c.llama_free(context);
      endThreads();
    },
  };
}

interface DevicePlacement {
  /** NULL-terminated list; null = all devices, the engine's own default. */
  readonly devices: BigUint64Array | null;
  readonly onCpu: boolean;
}

const CPU_PLACEMENT: DevicePlacement = { devices: new BigUint64Array(new ArrayBuffer(8)), onCpu: true };

function devicesFor(llama: Llama, backend: Backend | undefined): DevicePlacement {
  if (backend === 'cpu') return CPU_PLACEMENT;
  const present = engineDevices(llama);
  if (backend === undefined) return { devices: null, onCpu: present.every((device) => device.backend === 'cpu') };
  // One device a stage: the graph is cut short at the hidden state, and a cut ends only one device's part of it.
  const fitting = present.filter((device) => device.backend === backend).sort((a, b) => b.memoryTotalBytes - a.memoryTotalBytes)[0];
  if (fitting === undefined) {
    throw new RingError(
      'backend_missing',
      `backend ${backend} was asked for, but the engine finds no ${backend} device here (it finds ${present.map((device) => device.name).join(', ')}); ` +
        `check the driver or plan this stage on another backend`,
      { backend },
    );
  }
  const devices = new BigUint64Array(new ArrayBuffer(16));
  devices[0] = fitting.handle;
  return { devices, onCpu: false };
}

const OUT_OF_MEMORY = /out of memory|failed to allocate|unable to allocate|cannot allocate|bad_alloc|bad allocation/i;
const UNSUPPORTED = /unknown model architecture|unknown (pre-)?tokenizer|unsupported model|unknown architecture/i;

function loadError(file: string, complaints: readonly string[]): RingError {
  const text = complaints.join('\n');
  if (OUT_OF_MEMORY.test(text)) {
    return new RingError('out_of_memory', `not enough memory to load ${file}${quote(complaints)}; place fewer layers on this node`, { file });
  }
  if (UNSUPPORTED.test(text)) {
    return new RingError('unsupported_architecture', `the engine does not know the kind of model in ${file}${quote(complaints)}; choose another model`, { file });
  }
  return new RingError('bad_gguf', `the engine cannot load ${file}${quote(complaints)}; fetch the file again or choose another model`, { file });
}

function quote(complaints: readonly string[]): string {
  const last = complaints.slice(-MAX_QUOTED_LINES);
  return last.length === 0 ? '' : ` (${last.join(' | ')})`;
}

function metadataText(llama: Llama, model: bigint, key: string): string | null {
  const buffer = new Uint8Array(new ArrayBuffer(MAX_ARCHITECTURE_BYTES));
  const length = llama.c.llama_model_meta_val_str(model, key, buffer, buffer.length);
  return length <= 0 || length >= buffer.length ? null : Buffer.from(buffer.subarray(0, length)).toString('utf8');
}
