/**
 * A grammar that an answer must follow, with libllama's grammar sampler: which tokens may come next, and the state that
 * each token moves on.
 *
 * The state is a function of the grammar and the tokens so far, so a replay makes it anew by accepting them again. The
 * engine ends the process when it is given a token that the grammar does not allow, so each one is asked about first.
 * It must not know sequences or draws.
 */
import { RingError } from '../core/errors.js';
import { MAX_GRAMMAR_CHARACTERS } from '../core/step-types.js';
import type { Grammar } from '../core/step-types.js';
import { Candidates } from './candidates.js';
import type { Llama } from './llama.js';

const ROOT = 'root';
/** `enum llama_token_attr`: unknown, unused, control. They are no text, but the engine's grammar reads their names as text. */
const NO_TEXT = 1 | 2 | 8;
const MAX_PIECE_BYTES = 1 << 16;

/** What grammars need of a vocabulary; made when the first one is used. */
export class GrammarVocabulary {
  readonly candidates: Candidates;
  private hidden: readonly { readonly token: number; readonly text: string }[] | null = null;
  private invalid: readonly number[] = [];
  private readonly ends = new Set<number>();
  private readonly buffer = new Uint8Array(new ArrayBuffer(MAX_PIECE_BYTES));

  constructor(readonly llama: Llama, readonly pointer: bigint, readonly size: number) {
    this.candidates = new Candidates(llama, size);
  }

  /** Tokens that no answer under this grammar has: such as are no text (unless the grammar names them), and bytes that no UTF-8 has. */
  forbidden(grammarText: string): ReadonlySet<number> {
    const hidden = this.hidden ?? this.lookThrough();
    const named = ({ token, text }: { readonly token: number; readonly text: string }): boolean =>
      (text !== '' && grammarText.includes(text)) || grammarText.includes(`<[${token}]>`);
    return new Set([...hidden.filter((one) => !named(one)).map(({ token }) => token), ...this.invalid]);
  }

  isEnd(token: number): boolean {
    if (this.hidden === null) this.lookThrough();
    return this.ends.has(token);
  }

  /** As the grammar reads it, control tokens included. */
  piece(token: number): Uint8Array {
    const length = this.llama.c.llama_token_to_piece(this.pointer, token, this.buffer, this.buffer.length, 0, true);
    return this.buffer.subarray(0, Math.max(0, length));
  }

  private lookThrough(): readonly { readonly token: number; readonly text: string }[] {
    const { c } = this.llama;
    const hidden: { token: number; text: string }[] = [];
    const invalid: number[] = [];
    for (let token = 0; token < this.size; token += 1) {
      if (c.llama_vocab_is_eog(this.pointer, token)) {
        this.ends.add(token);
        continue;
      }
      const piece = this.piece(token);
      if ((c.llama_vocab_get_attr(this.pointer, token) & NO_TEXT) !== 0) hidden.push({ token, text: Buffer.from(piece).toString('utf8') });
      else if (piece.length === 1 && isNeverUtf8(piece[0] ?? 0)) invalid.push(token);
    }
    this.hidden = hidden;
    this.invalid = invalid;
    return hidden;
  }
}

/** The engine would read them as characters of a kind. */
function isNeverUtf8(byte: number): boolean {
  return byte === 0xc0 || byte === 0xc1 || byte >= 0xf5;
}

export class GrammarState {
  private readonly sampler: bigint;
  private readonly forbidden: ReadonlySet<number>;
  /** Null = the grammar has begun. Else the last bytes of the free text, as Latin-1. */
  private free: string | null;
  private readonly starts: readonly string[];
  private readonly keep: number;

  /** Throws `bad_request` for a grammar that the engine cannot read. */
  constructor(private readonly vocabulary: GrammarVocabulary, grammar: Grammar) {
    this.sampler = makeSampler(vocabulary, grammar.text);
    this.forbidden = vocabulary.forbidden(grammar.text);
    this.starts = (grammar.after ?? []).map((start) => Buffer.from(start, 'utf8').toString('latin1'));
    this.free = this.starts.length > 0 ? '' : null;
    this.keep = Math.max(0, ...this.starts.map((start) => start.length)) - 1;
  }

  /** Throws `bad_request` for a grammar that the engine cannot read or that nothing can match. */
  static check(vocabulary: GrammarVocabulary, text: string): void {
    const state = new GrammarState(vocabulary, { text });
    try {
      const { candidates, size } = vocabulary;
      candidates.load(new Float32Array(size));
      state.restrict(candidates);
      if (candidates.noneIsPossible()) throw new RingError('bad_request', 'no answer of this model can match the grammar: its first characters are in no token');
    } finally {
      state.close();
    }
  }

  /** False while the text before the grammar goes on. */
  get hasBegun(): boolean {
    return this.free === null;
  }

  allows(token: number): boolean {
    if (this.free !== null) return true;
    if (this.forbidden.has(token)) return false;
    const { candidates } = this.vocabulary;
    candidates.loadOne(token);
    candidates.apply(this.sampler);
    return candidates.firstIsPossible();
  }

  /** Right after `load`: leaves the tokens that may come next. */
  restrict(candidates: Candidates): void {
    for (const token of this.forbidden) candidates.forbid(token);
    candidates.apply(this.sampler);
  }

  /** A token that is not allowed changes nothing. */
  accept(token: number): void {
    if (this.free !== null) {
      this.acceptFree(this.free, token);
      return;
    }
    if (this.vocabulary.isEnd(token) || !this.allows(token)) return;
    this.vocabulary.llama.c.llama_sampler_accept(this.sampler, token);
  }

  close(): void {
    this.vocabulary.llama.c.llama_sampler_free(this.sampler);
  }

  /** The grammar begins behind the text that it begins after; a token that says more than that leaves the answer free. */
  private acceptFree(before: string, token: number): void {
    const text = before + Buffer.from(this.vocabulary.piece(token)).toString('latin1');
    const begins = this.starts.some((start) => {
      const at = text.indexOf(start);
      return at >= 0 && text.slice(at + start.length).trim() === '';
    });
    this.free = begins ? null : text.slice(Math.max(0, text.length - this.keep));
  }
}

function makeSampler({ llama, pointer }: GrammarVocabulary, text: string): bigint {
  if (text.length > MAX_GRAMMAR_CHARACTERS) throw new RingError('bad_request', `the grammar has ${text.length} characters; at most ${MAX_GRAMMAR_CHARACTERS} are taken`);
  // To the engine no text is no grammar, and a text ends at its first zero.
  const sampler = text.trim() === '' || text.includes('\0') ? null : llama.c.llama_sampler_init_grammar(pointer, text, ROOT);
  if (sampler === null) {
    throw new RingError('bad_request', 'the engine cannot read the grammar: it must be GBNF with a rule "root", every rule defined, none that begins with itself, and repetitions below 2,000');
  }
  return sampler;
}
