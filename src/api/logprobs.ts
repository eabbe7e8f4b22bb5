/** Probabilities of an answer's tokens in the shapes that clients expect. Shapes only. */
import type { TextProbability } from '../agent/service.js';

const decoder = new TextDecoder();

interface TokenShape {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

/** Part of a character is shown as a replacement character; `bytes` are the whole truth. */
function shapeOf({ bytes, logprob }: { readonly bytes: Uint8Array; readonly logprob: number }): TokenShape {
  return { token: decoder.decode(bytes), logprob, bytes: [...bytes] };
}

/** As in OpenAI's chats, and in Ollama's answers. */
export function tokenLogprobs(probabilities: readonly TextProbability[]): readonly object[] {
  return probabilities.map(({ alternatives, ...token }) => ({ ...shapeOf(token), top_logprobs: alternatives.map(shapeOf) }));
}

/** As in OpenAI's text completions. `offset`: characters of the answer before these tokens. */
export function textLogprobs(probabilities: readonly TextProbability[], offset: number): object {
  let next = offset;
  return {
    tokens: probabilities.map(({ bytes }) => decoder.decode(bytes)),
    token_logprobs: probabilities.map(({ logprob }) => logprob),
    top_logprobs: probabilities.map(({ alternatives }) => Object.fromEntries(alternatives.map((one) => [decoder.decode(one.bytes), one.logprob]))),
    text_offset: probabilities.map(({ bytes }) => {
      const at = next;
      next += decoder.decode(bytes).length;
      return at;
    }),
  };
}
