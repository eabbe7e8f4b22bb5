/** Names of number formats that people, plans and frames use, as lists. What they mean is in core/types.ts. */
import type { PackedStates } from './step-types.js';
import type { ActivationType, GgmlCacheType } from './types.js';

export const CACHE_TYPES = ['f16', 'q8_0', 'q4_0', 'bf16', 'f32'] as const satisfies readonly GgmlCacheType[];
export const ACTIVATION_TYPES = ['f32', 'f16', 'q8_0'] as const satisfies readonly ActivationType[];
/** Without f32, which is said by saying nothing. */
export const PACKED_TYPES = ['f16', 'q8_0'] as const satisfies readonly PackedStates['type'][];
