/**
 * What the engine says while it works: kept for error messages, and passed to stderr from `warn` on, so that a dead
 * runner's last words can be classified. It must not know the C API: llama.ts feeds it.
 *
 * RING_ENGINE_LOG=debug or info shows more.
 */
import { writeSync } from 'node:fs';

/** Lines kept for messages; older ones are dropped. */
const MAX_KEPT_LINES = 32;
const MAX_LINE_CHARACTERS = 2_000;
/** `enum ggml_log_level`; 5 continues the line before. */
const CONTINUED = 5;
const THRESHOLDS: ReadonlyMap<string, number> = new Map([['debug', 1], ['info', 2], ['warn', 3], ['error', 4]]);
const WARN = 3;
/** Warnings that say nothing wrong: stages without vocabulary are made so. */
const HARMLESS = /adding \d+ dummy tokens/;

interface LogLine {
  readonly number: number;
  readonly level: number;
  readonly text: string;
}

class EngineLog {
  private readonly threshold = THRESHOLDS.get(process.env['RING_ENGINE_LOG'] ?? '') ?? WARN;
  private kept: LogLine[] = [];
  private written = 0;
  private partial = '';
  private partialLevel = 0;
  /** Lines that stderr did not take. */
  unshown = 0;

  /** The engine sends lines in pieces; a piece that ends in a newline ends the line. */
  accept(level: number, text: string): void {
    if (level !== CONTINUED) this.partialLevel = level;
    this.partial = (this.partial + text).slice(0, MAX_LINE_CHARACTERS);
    if (!text.endsWith('\n')) return;
    const line = this.partial.trimEnd();
    this.partial = '';
    if (line.length === 0) return;
    this.written += 1;
    this.kept.push({ number: this.written, level: this.partialLevel, text: line });
    if (this.kept.length > MAX_KEPT_LINES) this.kept.shift();
    if (this.partialLevel >= this.threshold && !(this.threshold >= WARN && HARMLESS.test(line))) this.show(line);
  }

  /** For `complaintsSince`. */
  mark(): number {
    return this.written;
  }

  /** Warnings and errors after `mark`, oldest first. */
  complaintsSince(mark: number): readonly string[] {
    return this.kept.filter((line) => line.number > mark && line.level >= WARN).map((line) => line.text);
  }

  private show(line: string): void {
    try {
      // Synchronous: the next thing that the engine does may be to abort the process.
      writeSync(2, `${line}\n`);
    } catch {
      // A full or closed stderr must not stop the engine; the line is still kept for error messages.
      this.unshown += 1;
    }
  }
}

export const engineLog = new EngineLog();
