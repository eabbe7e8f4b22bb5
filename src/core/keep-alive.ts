/**
 * How long a model stays after its last request, as people and Ollama's clients write it: `5m`, `1h30m`, `90s`, a number of
 * seconds, `0` (it goes at once), anything below zero (it stays). Text and numbers in, milliseconds out.
 */

import { FOR_EVER_MS } from './instance-life.js';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/y;
export const KEEP_ALIVE_FORMS = 'a duration such as 5m, 1h30m or 90s, a number of seconds, 0 (unloaded at once) or -1 (stays)';

/** Milliseconds; null = it stays. Undefined = the value is none of the forms. */
export function parseKeepAlive(value: string | number): number | null | undefined {
  if (typeof value === 'number') return Number.isNaN(value) ? undefined : bounded(value * 1000);
  const text = value.trim();
  if (/^-?\d+(\.\d+)?$/.test(text)) return bounded(Number(text) * 1000);
  const negative = text.startsWith('-');
  let at = negative ? 1 : 0;
  let ms = 0;
  if (at === text.length) return undefined;
  while (at < text.length) {
    PART.lastIndex = at;
    const part = PART.exec(text);
    if (part === null) return undefined;
    ms += Number(part[1]) * (UNITS[part[2] ?? ''] ?? 0);
    at = PART.lastIndex;
  }
  return bounded(negative ? -ms : ms);
}

function bounded(ms: number): number | null {
  return ms < 0 || Object.is(ms, -0) || ms >= FOR_EVER_MS ? null : Math.round(ms);
}
