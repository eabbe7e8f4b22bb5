/**
 * The tensor types of ggml that a GGUF may hold: how many elements a block has and how many bytes it takes.
 *
 * Needed to bound and place tensors without loading the engine; a test compares it with the engine's own table.
 * It must not know files or the engine.
 */

export interface GgmlType {
  readonly id: number;
  readonly name: string;
  /** Elements per block; a row is a whole number of blocks. */
  readonly blockElements: number;
  readonly blockBytes: number;
}

const TABLE: readonly (readonly [id: number, name: string, blockElements: number, blockBytes: number])[] = [
  [0, 'f32', 1, 4], [1, 'f16', 1, 2], [2, 'q4_0', 32, 18], [3, 'q4_1', 32, 20], [6, 'q5_0', 32, 22],
  [7, 'q5_1', 32, 24], [8, 'q8_0', 32, 34], [9, 'q8_1', 32, 36], [10, 'q2_K', 256, 84], [11, 'q3_K', 256, 110],
  [12, 'q4_K', 256, 144], [13, 'q5_K', 256, 176], [14, 'q6_K', 256, 210], [15, 'q8_K', 256, 292],
  [16, 'iq2_xxs', 256, 66], [17, 'iq2_xs', 256, 74], [18, 'iq3_xxs', 256, 98], [19, 'iq1_s', 256, 50],
  [20, 'iq4_nl', 32, 18], [21, 'iq3_s', 256, 110], [22, 'iq2_s', 256, 82], [23, 'iq4_xs', 256, 136], [24, 'i8', 1, 1],
  [25, 'i16', 1, 2], [26, 'i32', 1, 4], [27, 'i64', 1, 8], [28, 'f64', 1, 8], [29, 'iq1_m', 256, 56], [30, 'bf16', 1, 2],
  [34, 'tq1_0', 256, 54], [35, 'tq2_0', 256, 66], [39, 'mxfp4', 32, 17], [40, 'nvfp4', 64, 36], [41, 'q1_0', 128, 18],
];

const BY_ID: ReadonlyMap<number, GgmlType> = new Map(
  TABLE.map(([id, name, blockElements, blockBytes]) => [id, { id, name, blockElements, blockBytes }]),
);

export const GGML_F32 = 0;
export const GGML_F16 = 1;
export const GGML_Q4_0 = 2;
export const GGML_Q8_0 = 8;
export const GGML_MXFP4 = 39;
export const GGML_BF16 = 30;
export const GGML_Q1_0 = 41;

/** Types that the CPU backend keeps repacked for products: a matrix that is also looked up is then there twice. */
const REPACKED_ON_CPU: ReadonlySet<string> = new Set(['q4_0', 'q2_K', 'q4_K', 'q5_K', 'q6_K', 'iq4_nl', 'mxfp4']);

export function isRepackedOnCpu(id: number): boolean {
  return REPACKED_ON_CPU.has(BY_ID.get(id)?.name ?? '');
}

/** Null for a type that the engine does not have (or has removed). */
export function ggmlType(id: number): GgmlType | null {
  return BY_ID.get(id) ?? null;
}

export function allGgmlTypes(): readonly GgmlType[] {
  return [...BY_ID.values()];
}

/**
 * Bytes of a tensor `dims` (innermost first) of a type; null when a row is not a whole number of blocks or the
 * product leaves the exact integers.
 */
export function tensorBytes(type: GgmlType, dims: readonly number[]): number | null {
  let elements = 1;
  for (const dim of dims) {
    elements *= dim;
    if (!Number.isSafeInteger(elements)) return null;
  }
  const row = dims[0] ?? 1;
  if (row % type.blockElements !== 0) return null;
  const bytes = (elements / type.blockElements) * type.blockBytes;
  return Number.isSafeInteger(bytes) ? bytes : null;
}
