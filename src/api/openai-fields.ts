/**
 * Which request fields may be passed over in silence, and which must not.
 *
 * A field that would change the answer and that we do not honour is refused by name, never ignored: a client that asks
 * for two answers or for JSON must not believe that it got them. Fields that cannot change the answer pass. Fields of
 * other servers pass at the value that means "off". Everything unknown is refused, as it may change the answer.
 */
import { nearestName } from '../core/nearest-name.js';
import { ApiError } from './api-error.js';

/** Cannot change the answer: for the provider's accounts, caches and routing. */
const HARMLESS: ReadonlySet<string> = new Set([
  'user', 'store', 'metadata', 'service_tier', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention',
  'prediction', 'cache_prompt',
]);

interface RefusedField {
  /** Values that ask for what we do anyway. */
  readonly neutral: (value: unknown) => boolean;
  readonly advice: string;
}

const only = (...values: readonly unknown[]) => (value: unknown): boolean => values.includes(value);
const never = (): boolean => false;
const emptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const textOnly = (value: unknown): boolean => Array.isArray(value) && value.every((item) => item === 'text');
const plainText = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'text';

const TOOLS = 'tools are called in chats, by tools and tool_choice';
const SAMPLER = 'this sampler is not supported';

/** Fields of OpenAI's, llama-server's and vLLM's requests that we know and do not honour. */
const REFUSED: ReadonlyMap<string, RefusedField> = new Map<string, RefusedField>([
  ['best_of', { neutral: only(1), advice: 'all n answers are sent' }],
  ['top_logprobs', { neutral: only(0), advice: 'use logprobs' }],
  ['n_probs', { neutral: only(0), advice: 'use logprobs' }],
  ['echo', { neutral: only(false), advice: 'the prompt is not repeated in the answer' }],
  ['suffix', { neutral: only(''), advice: 'filling in the middle is not supported' }],
  ['tools', { neutral: emptyList, advice: TOOLS }],
  ['parallel_tool_calls', { neutral: only(true, false), advice: TOOLS }],
  ['tool_choice', { neutral: only('none', 'auto'), advice: TOOLS }],
  ['functions', { neutral: emptyList, advice: TOOLS }],
  ['function_call', { neutral: only('none', 'auto'), advice: TOOLS }],
  ['response_format', { neutral: plainText, advice: 'use json_schema or grammar' }],
  ['modalities', { neutral: textOnly, advice: 'only text is answered' }],
  ['audio', { neutral: never, advice: 'only text is answered' }],
  ['verbosity', { neutral: only('medium'), advice: 'say it in the prompt' }],
  ['web_search_options', { neutral: never, advice: 'the agent does not use the internet' }],
  ['chat_template', { neutral: never, advice: 'the template of the model file is used' }],
  ['add_generation_prompt', { neutral: only(true), advice: 'the answer is always a new message' }],
  ['continue_final_message', { neutral: only(false), advice: 'the answer is always a new message' }],
  ['mirostat', { neutral: only(0), advice: SAMPLER }],
  ['typical_p', { neutral: only(1), advice: SAMPLER }],
  ['xtc_probability', { neutral: only(0), advice: SAMPLER }],
  ['dry_multiplier', { neutral: only(0), advice: SAMPLER }],
  ['dynatemp_range', { neutral: only(0), advice: SAMPLER }],
  ['samplers', { neutral: never, advice: 'the order of samplers is fixed' }],
  ['repeat_last_n', { neutral: only(-1), advice: 'repeat_penalty looks at all of the prompt and answer' }],
  ['min_keep', { neutral: only(0), advice: SAMPLER }],
  ['min_tokens', { neutral: only(0), advice: 'use ignore_eos with max_tokens' }],
  ['use_beam_search', { neutral: only(false), advice: SAMPLER }],
  ['length_penalty', { neutral: only(1), advice: SAMPLER }],
  ['stop_token_ids', { neutral: emptyList, advice: 'use stop' }],
  ['include_stop_str_in_output', { neutral: only(false), advice: 'the answer ends before the stop string' }],
  ['skip_special_tokens', { neutral: only(true), advice: 'special tokens are not shown' }],
  ['lora', { neutral: emptyList, advice: 'adapters are not supported' }],
  ['id_slot', { neutral: only(-1), advice: 'the agent chooses the slot' }],
]);

/** Other servers' names of fields that we have. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['n_predict', 'max_tokens'], ['max_new_tokens', 'max_tokens'], ['num_predict', 'max_tokens'],
  ['stop_sequences', 'stop'], ['system', 'messages'],
]);

/**
 * The request without the fields that pass unseen; `null` means absent, as OpenAI has it. Throws a 400 naming the first
 * field that we do not honour. `known` are the fields that the endpoint's schema reads.
 */
export function dropNeutralFields(body: unknown, known: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ApiError({ status: 400, code: 'invalid_type', message: 'The body must be a JSON object.' });
  }
  const kept: [string, unknown][] = [];
  for (const [name, value] of Object.entries(body)) {
    if (known.has(name)) {
      if (value !== null) kept.push([name, value]);
      continue;
    }
    if (HARMLESS.has(name)) continue;
    const refused = REFUSED.get(name);
    if (refused === undefined) throw unknownField(name, known);
    if (value === null || refused.neutral(value)) continue;
    throw new ApiError({
      status: 400,
      code: 'unsupported_parameter',
      param: name,
      message: `'${name}' is not supported with this value: ${refused.advice}. Leave it out.`,
    });
  }
  return Object.fromEntries(kept);
}

/** Longest unknown name that is repeated in a message. */
const NAME_SHOWN_MAX = 64;

/** For strict objects of our own: an unknown field is refused with the nearest known one. */
export function unknownField(name: string, known: ReadonlySet<string>): ApiError {
  const shown = name.slice(0, NAME_SHOWN_MAX);
  const nearest = OTHER_NAMES.get(name) ?? nearestName(shown, known);
  return new ApiError({
    status: 400,
    code: 'unknown_parameter',
    param: shown,
    message: `Unknown field '${shown}': it might change the answer, so it is not ignored.`
      + (nearest !== null && known.has(nearest) ? ` Did you mean '${nearest}'?` : ' Leave it out.'),
  });
}
