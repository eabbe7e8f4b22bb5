/**
 * What a command waits for, on standard error: one line that is written over on a terminal, a line now and then elsewhere.
 * It must not know what is waited for.
 */
const INTERVAL_MS = 300;
/** Between lines that stay. */
const LINE_INTERVAL_MS = 10_000;
const USUAL_COLUMNS = 80;
/** Of a rate: what came in the last moments counts most. */
const RATE_WEIGHT = 0.2;

/** `say`: what is to be shown now, empty = nothing; a failure is as good as nothing. Returns what ends it. */
export function showProgress(say: () => Promise<string>): () => void {
  const overwrites = process.stderr.isTTY;
  let shown = '';
  let saidAtMs = performance.now();
  let asking = false;
  let over = false;
  const show = (text: string): void => {
    if (over || text === '' || text === shown) return;
    process.stderr.write(overwrites ? `\r\x1b[2K${clipped(text, process.stderr.columns ?? USUAL_COLUMNS)}` : `${text}\n`);
    shown = text;
    saidAtMs = performance.now();
  };
  const timer = setInterval(() => {
    if (asking || (!overwrites && performance.now() - saidAtMs < LINE_INTERVAL_MS)) return;
    asking = true;
    void say().then(show, () => undefined).finally(() => {
      asking = false;
    });
  }, INTERVAL_MS);
  return () => {
    over = true;
    clearInterval(timer);
    if (overwrites && shown !== '') process.stderr.write('\r\x1b[2K');
  };
}

/** One line for as long as `work` takes. */
export async function whileShown<T>(text: string, work: Promise<T>): Promise<T> {
  const stop = showProgress(() => Promise.resolve(text));
  try {
    return await work;
  } finally {
    stop();
  }
}

/** A line that fills the terminal would begin another one. */
function clipped(text: string, columns: number): string {
  return text.length < columns ? text : `${text.slice(0, Math.max(0, columns - 2))}…`;
}

/** How fast a number of bytes grows, looked at now and then. */
export class Rate {
  private last: { readonly bytes: number; readonly atMs: number } | null = null;
  private bytesPerSecond: number | null = null;

  /** Null until it was looked at twice. */
  next(bytes: number, atMs: number): number | null {
    const { last } = this;
    this.last = { bytes, atMs };
    if (last === null || atMs <= last.atMs || bytes < last.bytes) return this.bytesPerSecond;
    const now = ((bytes - last.bytes) * 1000) / (atMs - last.atMs);
    this.bytesPerSecond = this.bytesPerSecond === null ? now : this.bytesPerSecond * (1 - RATE_WEIGHT) + now * RATE_WEIGHT;
    return this.bytesPerSecond;
  }
}

/** `42 s`, `3 min`, `2 h 5 min`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 100) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
