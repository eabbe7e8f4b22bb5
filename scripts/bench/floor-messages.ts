/** What the bench and its floor process say to each other, checked on arrival. */
import { z } from 'zod';

export const floorCommand = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('open'),
    modelFile: z.string(),
    threads: z.number(),
    contextTokens: z.number(),
    slots: z.number(),
    keyType: z.enum(['f32', 'f16', 'bf16', 'q8_0', 'q4_0']),
    valueType: z.enum(['f32', 'f16', 'bf16', 'q8_0', 'q4_0']),
    keyValueCache: z.enum(['none', 'host', 'device']).exactOptional(),
  }),
  /** A prompt in slot 0, then greedy steps. `decodeTokens` counts the first token, which the prompt's last step draws. */
  z.object({ kind: z.literal('sequence'), prompt: z.array(z.number()), decodeTokens: z.number() }),
  /** Greedy steps of a batch with one sequence in each of these slots. */
  z.object({ kind: z.literal('batch'), slots: z.array(z.number()), steps: z.number() }),
  z.object({ kind: z.literal('memory') }),
]);
export type FloorCommand = z.infer<typeof floorCommand>;

export const floorReply = z.discriminatedUnion('kind', [
  /** Memory above what the process held before the model was loaded. */
  z.object({ kind: z.literal('opened'), residentBytes: z.number(), vocabularySize: z.number() }),
  z.object({ kind: z.literal('sequence'), firstTokenMs: z.number(), decodeMs: z.number(), tokens: z.array(z.number()) }),
  z.object({ kind: z.literal('batch'), ms: z.number(), engineCalls: z.number() }),
  /** As in `opened`, now. */
  z.object({ kind: z.literal('memory'), residentBytes: z.number() }),
  z.object({ kind: z.literal('failed'), message: z.string() }),
]);
export type FloorReply = z.infer<typeof floorReply>;
