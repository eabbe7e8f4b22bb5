/**
 * Checks on what a stage is given, before the engine sees it: the engine ends the process on what it dislikes.
 *
 * What slots can take is checked in slot-table.ts. It must not know the engine.
 */
import { RingError } from '../core/errors.js';
import type { StageInput, StageOptions } from '../ports.js';

/** libllama's own limit on sequences. */
const MAX_SLOTS = 256;
/** KV cells of a stage: the engine counts them in 32 bits. */
const MAX_CELLS = 2 ** 31 - 1;

/** Throws `bad_config` for options that no stage can have. */
export function checkOptions(options: StageOptions): void {
  const wrong = (what: string): RingError => new RingError('bad_config', `a stage cannot be opened: ${what}`);
  const { slots, contextTokens, batchTokens, threads, role, embedding } = options;
  for (const [name, value] of Object.entries({ slots, contextTokens, batchTokens, threads })) {
    if (!Number.isInteger(value) || value < 1) throw wrong(`${name} is ${value}, which is no positive whole number`);
  }
  const { deviceLayers = 0 } = options;
  if (!Number.isInteger(deviceLayers) || deviceLayers < 0) throw wrong(`deviceLayers is ${deviceLayers}, which is no whole number of layers`);
  if (contextTokens * slots > MAX_CELLS) throw wrong(`${slots} slots of ${contextTokens} tokens are more cells than the engine can count`);
  if (slots > MAX_SLOTS) throw wrong(`${slots} slots are more than the ${MAX_SLOTS} that the engine has`);
  if ((role === 'head') !== (embedding !== null)) throw wrong(`role ${role} ${role === 'head' ? 'needs' : 'has no use for'} a token embedding`);
}

export interface InputRules {
  /** Token ids rather than hidden states enter here. */
  readonly takesTokens: boolean;
  readonly hiddenSize: number;
  /** Token ids are below this. */
  readonly tokenLimit: number;
  /** Tokens that a step of fewer slices may draw. */
  readonly maxSampledRows: number;
}

/** First payload row of each slice, then the total. Throws `bad_frame` or `bad_request`; nothing has been computed then. */
export function payloadRows({ slices, tokens, hidden }: StageInput, { takesTokens, hiddenSize, tokenLimit, maxSampledRows }: InputRules): readonly number[] {
  const starts: number[] = [];
  let rows = 0;
  let sampledRows = 0;
  for (const slice of slices) {
    if (slice.sample) sampledRows += 1 + (slice.draft?.length ?? 0);
    starts.push(rows);
    rows += slice.tokens;
  }
  starts.push(rows);
  if (sampledRows > Math.max(maxSampledRows, slices.length)) throw new RingError('bad_frame', `a step draws ${sampledRows} tokens where ${maxSampledRows} are the most`);
  const payload = takesTokens ? tokens : hidden;
  const wanted = takesTokens ? rows : rows * hiddenSize;
  if (payload === null || payload.length !== wanted) {
    throw new RingError('bad_frame', `a step of ${rows} tokens needs ${wanted} ${takesTokens ? 'token ids' : 'hidden values'}, got ${payload?.length ?? 'none'}`);
  }
  if (tokens !== null && takesTokens) {
    const wrong = tokens.find((token) => token < 0 || token >= tokenLimit);
    if (wrong !== undefined) throw new RingError('bad_request', `token ${wrong} is outside the vocabulary of ${tokenLimit}`, { token: wrong });
  }
  return starts;
}
