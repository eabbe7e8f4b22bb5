import { describe, expect, it } from 'vitest';
import { MAX_FULL_WINDOWS, MAX_WINDOW_BYTES, MAX_WINDOW_MESSAGES, MessagePace, TURN_MESSAGES, WINDOW_MS } from '../../src/net/message-pace.js';

/** Sends as much as is taken for so many windows; how it ended. */
function flood(pace: MessagePace, windows: number, bytes: number): string {
  let nowMs = 0;
  for (let window = 0; window < windows; window += 1) {
    for (;;) {
      const verdict = pace.count(bytes, nowMs);
      if (verdict.kind === 'flood') return `flood in window ${window}`;
      if (verdict.kind !== 'wait') continue;
      nowMs += verdict.waitMs;
      break;
    }
  }
  return 'taken';
}

describe('the pace of a peer', () => {
  it('lets others have a turn in between', () => {
    const pace = new MessagePace();
    const verdicts = Array.from({ length: 3 * TURN_MESSAGES }, (_, index) => pace.count(10, index / 100).kind);
    expect(verdicts.filter((kind) => kind === 'yield')).toHaveLength(3);
    expect(verdicts.filter((kind) => kind === 'wait' || kind === 'flood')).toEqual([]);
  });

  it('holds up what is too fast until the window ends, in messages and in bytes', () => {
    const pace = new MessagePace();
    for (let count = 1; count < MAX_WINDOW_MESSAGES; count += 1) expect(['go_on', 'yield']).toContain(pace.count(1, 100).kind);
    expect(pace.count(1, 200)).toEqual({ kind: 'wait', waitMs: WINDOW_MS - 100 });
    expect(new MessagePace().count(MAX_WINDOW_BYTES, 50)).toEqual({ kind: 'wait', waitMs: WINDOW_MS });
  });

  it('takes a burst, and calls a flood what does not end', () => {
    expect(flood(new MessagePace(), MAX_FULL_WINDOWS, 1)).toBe('taken');
    expect(flood(new MessagePace(), 10 * MAX_FULL_WINDOWS, 1)).toBe(`flood in window ${MAX_FULL_WINDOWS}`);
    const pace = new MessagePace();
    for (let burst = 0; burst < 5; burst += 1) {
      expect(flood(pace, MAX_FULL_WINDOWS - 1, 1)).toBe('taken');
      // A window that is not full: it was a burst.
      pace.count(1, 1e6 * (burst + 1));
      pace.count(1, 1e6 * (burst + 1) + WINDOW_MS);
    }
  });
});
