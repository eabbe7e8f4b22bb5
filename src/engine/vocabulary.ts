/**
 * Text to tokens and back through a GGUF of which only the header is read (`vocab_only`).
 *
 * It must not know stages: a vocabulary computes nothing and loads no weights.
 */
import { RingError } from '../core/errors.js';
import type { Vocabulary } from '../ports.js';
import { GrammarState, GrammarVocabulary } from './grammar.js';
import type { Llama } from './llama.js';
import { loadModel } from './model-loader.js';

/** `LLAMA_VOCAB_TYPE_NONE` */
const NO_VOCABULARY = 0;
const NO_TOKEN = -1;
/** Longest piece of any token that is believed, in bytes. */
const MAX_PIECE_BYTES = 1 << 16;
/** Longest text in bytes; more is refused before it reaches the tokenizer. */
const MAX_TEXT_BYTES = 64 << 20;

/** Throws RingError: `bad_gguf` when the file has no tokenizer, and whatever loading throws. */
export function openVocabulary(headerFile: string): Vocabulary {
  const { llama, model, vocabulary } = loadModel(headerFile, { backend: 'cpu', vocabularyOnly: true });
  if (llama.c.llama_vocab_type(vocabulary) === NO_VOCABULARY) {
    llama.c.llama_model_free(model);
    throw new RingError('bad_gguf', `${headerFile} has no tokenizer; use the model's own file`, { file: headerFile });
  }
  return new LlamaVocabulary(llama, model, vocabulary);
}

/** Tokens that end an answer. */
export function endOfGenerationTokens(llama: Llama, vocabulary: bigint, size: number): ReadonlySet<number> {
  const tokens = new Set<number>();
  for (let token = 0; token < size; token += 1) if (llama.c.llama_vocab_is_eog(vocabulary, token)) tokens.add(token);
  return tokens;
}

class LlamaVocabulary implements Vocabulary {
  readonly size: number;
  readonly bos: number | null;
  readonly eos: number | null;
  readonly endOfGeneration: ReadonlySet<number>;
  readonly addsBos: boolean;
  private grammarVocabulary: GrammarVocabulary | null = null;
  private pieceBuffer = new Uint8Array(new ArrayBuffer(256));
  private closed = false;

  constructor(private readonly llama: Llama, private readonly model: bigint, private readonly vocabulary: bigint) {
    const { c } = llama;
    this.size = c.llama_vocab_n_tokens(vocabulary);
    this.bos = tokenOrNull(c.llama_vocab_bos(vocabulary));
    this.eos = tokenOrNull(c.llama_vocab_eos(vocabulary));
    this.endOfGeneration = endOfGenerationTokens(llama, vocabulary, this.size);
    this.addsBos = c.llama_vocab_get_add_bos(vocabulary);
  }

  tokenize(text: string, options: { readonly addSpecial: boolean; readonly parseSpecial: boolean }): Int32Array {
    this.checkOpen();
    const bytes = Buffer.from(text, 'utf8');
    if (bytes.length > MAX_TEXT_BYTES) throw new RingError('bad_request', `a text of ${bytes.length} bytes is longer than the ${MAX_TEXT_BYTES} that are tokenized at once`);
    const source = new Uint8Array(new ArrayBuffer(Math.max(1, bytes.length)));
    source.set(bytes);
    // A token is a byte at least, and a tokenizer may add a few special ones; a negative result names the real number.
    let tokens = new Int32Array(new ArrayBuffer((bytes.length + 8) * 4));
    let count = this.tokenizeInto(source, bytes.length, tokens, options);
    if (count < 0) {
      tokens = new Int32Array(new ArrayBuffer(-count * 4));
      count = this.tokenizeInto(source, bytes.length, tokens, options);
    }
    if (count < 0) throw new RingError('engine_failed', `the tokenizer failed on a text of ${bytes.length} bytes (${count})`);
    return tokens.slice(0, count);
  }

  piece(token: number, special = false): Uint8Array {
    this.checkOpen();
    if (!Number.isInteger(token) || token < 0 || token >= this.size) {
      throw new RingError('bad_request', `token ${token} is outside the vocabulary of ${this.size}`);
    }
    let length = this.pieceInto(token, special);
    if (length < 0) {
      if (-length > MAX_PIECE_BYTES) throw new RingError('bad_gguf', `token ${token} is ${-length} bytes long`);
      this.pieceBuffer = new Uint8Array(new ArrayBuffer(-length));
      length = this.pieceInto(token, special);
    }
    return this.pieceBuffer.slice(0, Math.max(0, length));
  }

  checkGrammar(text: string): void {
    this.checkOpen();
    this.grammarVocabulary ??= new GrammarVocabulary(this.llama, this.vocabulary, this.size);
    GrammarState.check(this.grammarVocabulary, text);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.llama.c.llama_model_free(this.model);
  }

  private tokenizeInto(source: Uint8Array, length: number, tokens: Int32Array, options: { readonly addSpecial: boolean; readonly parseSpecial: boolean }): number {
    return this.llama.c.llama_tokenize(
      this.vocabulary, source, length, tokens, tokens.length, options.addSpecial, options.parseSpecial,
    );
  }

  private pieceInto(token: number, special: boolean): number {
    return this.llama.c.llama_token_to_piece(this.vocabulary, token, this.pieceBuffer, this.pieceBuffer.length, 0, special);
  }

  private checkOpen(): void {
    if (this.closed) throw new RingError('not_ready', 'this vocabulary is closed');
  }
}

function tokenOrNull(token: number): number | null {
  return token === NO_TOKEN ? null : token;
}
