/**
 * How byte-level BPE tokenizers cut a text before they merge, by the engine's names (`tokenizer.ggml.pre`).
 *
 * The engine has these rules built in; a `tokenizer.json` spells them out. One that is spelled like none of these would be cut
 * otherwise, silently, so it is refused. It must not know vocabularies.
 */
import { z } from 'zod';

const step = z.looseObject({
  type: z.string(), pretokenizers: z.array(z.unknown()).max(20).optional(),
  pattern: z.looseObject({ Regex: z.string().optional(), String: z.string().optional() }).optional(), behavior: z.string().optional(), invert: z.boolean().optional(),
  individual_digits: z.boolean().optional(), add_prefix_space: z.boolean().nullish(), use_regex: z.boolean().optional(), prepend_scheme: z.string().optional(),
  replacement: z.string().optional(),
});
export type PreTokenizerStep = z.infer<typeof step>;
const MAX_DEPTH = 4;

const CONTRACTIONS = '(?i:\'s|\'t|\'re|\'ve|\'m|\'ll|\'d)';
const WORDS_AND_SPACES = (digits: string): string => `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const UPPER = '\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}';
const LOWER = '\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}';
const TEKKEN = `[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]*[${LOWER}]+|[^\\r\\n\\p{L}\\p{N}]?[${UPPER}]+[${LOWER}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const split = (regex: string): string => `split ${regex}`;
const BYTES = 'bytes';
const BYTES_AND_WORDS = 'bytes and words';

/** The steps in the order in which they are written. */
const KNOWN: readonly { readonly name: string; readonly steps: readonly string[] }[] = [
  { name: 'gpt-2', steps: [BYTES_AND_WORDS] },
  { name: 'llama-bpe', steps: [split(WORDS_AND_SPACES('\\p{N}{1,3}')), BYTES] },
  { name: 'qwen2', steps: [split(WORDS_AND_SPACES('\\p{N}')), BYTES] },
  { name: 'tekken', steps: [split(TEKKEN), BYTES] },
  { name: 'smollm', steps: ['digits', BYTES_AND_WORDS] },
];
export const KNOWN_PRE_TOKENIZERS: readonly string[] = KNOWN.map(({ name }) => name);

/** The engine's name; null for a rule that it does not have. */
export function preTokenizerName(value: unknown): string | null {
  const steps = preTokenizerSteps(value)?.map(describe).join('\n');
  return KNOWN.find((known) => known.steps.join('\n') === steps)?.name ?? null;
}

/** The steps without the sequences around them; null when it is no pre-tokenizer. */
export function preTokenizerSteps(value: unknown, depth = 0): readonly PreTokenizerStep[] | null {
  if (value === null || value === undefined) return [];
  const parsed = step.safeParse(value);
  if (!parsed.success || depth > MAX_DEPTH) return null;
  if (parsed.data.type !== 'Sequence') return [parsed.data];
  const parts = (parsed.data.pretokenizers ?? []).map((part) => preTokenizerSteps(part, depth + 1));
  return parts.every((part) => part !== null) ? parts.flat() : null;
}

function describe(one: PreTokenizerStep): string {
  if (one.type === 'ByteLevel' && one.add_prefix_space !== true) return one.use_regex === false ? BYTES : BYTES_AND_WORDS;
  if (one.type === 'Digits' && one.individual_digits === true) return 'digits';
  if (one.type === 'Split' && one.behavior === 'Isolated' && one.invert !== true && one.pattern?.Regex !== undefined) return split(one.pattern.Regex);
  return `other ${one.type}`;
}
