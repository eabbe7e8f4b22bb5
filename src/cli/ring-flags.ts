/** What `agent plan` and `agent models load` may say of the ring that they ask for, and the fields of the API that it becomes. */
import type { ActivationType, GgmlCacheType } from '../core/types.js';
import { modelReference } from './model-reference.js';

export interface RingFlags {
  readonly nodes?: number;
  readonly ctx?: number;
  readonly slots?: number;
  readonly kvType?: GgmlCacheType;
  readonly activations?: ActivationType;
  readonly draft?: string;
}

/** Only what was said: the rest is the agent's choice. */
export function ringFields({ nodes, ctx, slots, kvType, activations, draft }: RingFlags): object {
  return {
    ...(nodes === undefined ? {} : { nodes }),
    ...(ctx === undefined ? {} : { contextTokens: ctx }),
    ...(slots === undefined ? {} : { slots }),
    ...(kvType === undefined ? {} : { cacheType: kvType }),
    ...(activations === undefined ? {} : { activations }),
    ...(draft === undefined ? {} : { draft: modelReference(draft) }),
  };
}
