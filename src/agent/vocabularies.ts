/**
 * Text to tokens for every model that this node answers for: a child process and a table of pieces per model.
 *
 * The table is loaded once, so that turning tokens into text costs no round trip. A vocabulary that nobody used for a
 * while is given up. Nothing here blocks the agent's thread.
 */
import { errorMessageOf, RingError } from '../core/errors.js';
import { marksOpenedBy } from '../core/reasoning.js';
import type { ReasoningMarks } from '../core/reasoning.js';
import { toolStyleOf } from '../core/tools/tool-use.js';
import type { ToolDefinition, ToolStyle } from '../core/tools/tool-use.js';
import type { HeldModel } from '../core/types.js';
import type { ChatPrompt, Clock, Log, ModelLibrary, RemoteWeights, Runner, RunnerLauncher, VocabularyTable } from '../ports.js';
import { orAborted } from './or-aborted.js';

const KEEP_UNUSED_MS = 10 * 60_000;

export interface TokenizedPrompt {
  readonly tokens: readonly number[];
  readonly opened: ReasoningMarks | null;
  /** How the model writes calls, where it was told of tools. */
  readonly toolStyle: ToolStyle;
}

export interface ToolPrompt extends Omit<ChatPrompt, 'tools'> {
  readonly tools?: readonly ToolDefinition[];
}

/** Grammars that were found good lately. */
const MAX_KNOWN_GRAMMARS = 64;

interface Entry {
  readonly runner: Runner;
  readonly table: VocabularyTable;
  readonly goodGrammars: Set<string>;
  cancelEnd: () => void;
}

export class Vocabularies {
  private readonly entries = new Map<string, Promise<Entry>>();
  private stopped = false;

  constructor(
    private readonly library: ModelLibrary,
    private readonly remote: RemoteWeights,
    private readonly launcher: RunnerLauncher,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async table(model: HeldModel, signal: AbortSignal): Promise<VocabularyTable> {
    return (await this.entry(model, signal)).table;
  }

  async tokenizeText(model: HeldModel, text: string, signal: AbortSignal): Promise<readonly number[]> {
    const entry = await this.entry(model, signal);
    return entry.runner.tokenize(text, { addSpecial: true, parseSpecial: false });
  }

  /**
   * The chat through the model's template, as tokens, and the marks of thoughts that it leaves open. A template that
   * writes its own BOS does not get a second one.
   */
  async tokenizeChat(model: HeldModel, chat: ToolPrompt, signal: AbortSignal): Promise<TokenizedPrompt> {
    const entry = await this.entry(model, signal);
    const { tools = [], ...others } = chat;
    const described = tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } }));
    const text = await this.library.renderChat(model, this.remote, { ...others, ...(described.length === 0 ? {} : { tools: described }) }, signal);
    const tokens = await entry.runner.tokenize(text, { addSpecial: true, parseSpecial: true });
    const { bos } = entry.table;
    return { tokens: bos !== null && tokens[0] === bos && tokens[1] === bos ? tokens.slice(1) : tokens, opened: marksOpenedBy(text), toolStyle: toolStyleOf(text) };
  }

  /** Rejects with `bad_request` when the engine cannot read the grammar. */
  async checkGrammar(model: HeldModel, text: string, signal: AbortSignal): Promise<void> {
    const entry = await this.entry(model, signal);
    if (entry.goodGrammars.has(text)) return;
    await orAborted(entry.runner.checkGrammar(text), signal);
    const [oldest] = entry.goodGrammars;
    if (oldest !== undefined && entry.goodGrammars.size >= MAX_KNOWN_GRAMMARS) entry.goodGrammars.delete(oldest);
    entry.goodGrammars.add(text);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    const entries = await Promise.allSettled(this.entries.values());
    await Promise.all(entries.map(async (result) => {
      if (result.status !== 'fulfilled') return;
      result.value.cancelEnd();
      await result.value.runner.end();
    }));
  }

  private async entry(model: HeldModel, signal: AbortSignal): Promise<Entry> {
    const entry = await orAborted(this.opened(model), signal);
    entry.cancelEnd();
    entry.cancelEnd = this.clock.after(KEEP_UNUSED_MS, () => this.giveUp(model.digest, entry));
    return entry;
  }

  /** Shared by whoever asks meanwhile, so one caller's abort must not end it. What failed for those before is tried anew. */
  private async opened(model: HeldModel): Promise<Entry> {
    const earlier = this.entries.get(model.digest);
    if (earlier !== undefined) {
      try {
        return await earlier;
      } catch (error) {
        this.log.debug('a vocabulary that others waited for did not come', { model: model.name, error: errorMessageOf(error) });
      }
    }
    if (this.stopped) throw new RingError('cancelled', 'the agent stops');
    const again = this.entries.get(model.digest);
    if (again !== undefined && again !== earlier) return again;
    const pending = this.open(model);
    this.entries.set(model.digest, pending);
    pending.catch(() => {
      if (this.entries.get(model.digest) === pending) this.entries.delete(model.digest);
    });
    return pending;
  }

  private async open(model: HeldModel): Promise<Entry> {
    const headerFile = await this.library.vocabularyFile(model, this.remote, new AbortController().signal);
    const runner = this.launcher.launch(`the tokenizer of ${model.name}`, {
      activation: () => undefined,
      resident: () => undefined,
      stepFailed: () => undefined,
      ended: (error) => {
        this.entries.delete(model.digest);
        if (error !== null) this.log.warn('a tokenizer ended', { model: model.name, error: error.message });
      },
    });
    try {
      const table = await runner.loadVocabulary(headerFile);
      return { runner, table, goodGrammars: new Set(), cancelEnd: () => undefined };
    } catch (error) {
      await runner.end();
      throw error;
    }
  }

  private giveUp(digest: string, entry: Entry): void {
    this.entries.delete(digest);
    void entry.runner.end();
  }
}
