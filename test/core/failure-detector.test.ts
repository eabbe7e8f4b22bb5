import { describe, expect, it } from 'vitest';
import { CLOSED_GRACE_MS, DEAD_AFTER_MS, FailureDetector, SUSPECT_AFTER_MS } from '../../src/core/failure-detector.js';

const TICK_MS = 100;

/** Ticks from the last tick on until `untilMs`. */
function ticking(detector: FailureDetector, fromMs: number, untilMs: number): void {
  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += TICK_MS) detector.tick(nowMs);
}

describe('failure detector', () => {
  it('suspects a silent peer and declares it dead in less than 2 seconds after its last word', () => {
    const detector = new FailureDetector();
    detector.connected('a', 0);
    ticking(detector, 0, SUSPECT_AFTER_MS - TICK_MS);
    expect(detector.liveness('a')).toBe('alive');
    ticking(detector, SUSPECT_AFTER_MS, DEAD_AFTER_MS - TICK_MS);
    expect(detector.liveness('a')).toBe('suspect');
    detector.tick(DEAD_AFTER_MS);
    expect(detector.liveness('a')).toBe('dead');
    expect(DEAD_AFTER_MS + TICK_MS).toBeLessThan(2_000);
    expect(detector.takeChanges().map(({ to }) => to)).toEqual(['alive', 'suspect', 'dead']);
  });

  it('ends a peer whose connection closed after a short grace', () => {
    const detector = new FailureDetector();
    detector.connected('a', 0);
    detector.closed('a', 50);
    expect(detector.liveness('a')).toBe('suspect');
    ticking(detector, 100, 50 + CLOSED_GRACE_MS);
    expect(detector.liveness('a')).toBe('suspect');
    detector.tick(50 + CLOSED_GRACE_MS + 50);
    expect(detector.liveness('a')).toBe('dead');
  });

  it('forgives a connection that is back within the grace', () => {
    const detector = new FailureDetector();
    detector.connected('a', 0);
    detector.closed('a', 50);
    detector.connected('a', 200);
    ticking(detector, 200, 800);
    expect(detector.liveness('a')).toBe('alive');
  });

  it('takes a late word of a closed connection for nothing', () => {
    const detector = new FailureDetector();
    detector.connected('a', 0);
    detector.closed('a', 50);
    detector.heard('a', 300);
    ticking(detector, 300, 400);
    expect(detector.liveness('a')).toBe('dead');
  });

  it('gives everyone a fresh period when it stood still itself', () => {
    const detector = new FailureDetector();
    detector.connected('a', 0);
    detector.connected('b', 0);
    detector.closed('b', 0);
    detector.tick(0);
    expect(detector.tick(60_000)).toBe(true);
    expect(detector.liveness('a')).toBe('alive');
    expect(detector.liveness('b')).toBe('suspect');
    ticking(detector, 60_100, 60_000 + DEAD_AFTER_MS);
    expect(detector.liveness('a')).toBe('dead');
    expect(detector.liveness('b')).toBe('dead');
  });

  it('brings a dead peer back with its next word', () => {
    const detector = new FailureDetector();
    detector.connected('a', 0);
    ticking(detector, 0, DEAD_AFTER_MS);
    detector.heard('a', 1_600);
    expect(detector.liveness('a')).toBe('alive');
    expect(detector.living()).toEqual(['a']);
  });

  it('lists who is connected and who lives, in order, whatever happened since it was last asked', () => {
    const detector = new FailureDetector();
    const ids = ['c', 'a', 'e', 'b', 'd'];
    let state = 7;
    const drawn = (count: number): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state % count;
    };
    for (let nowMs = 0; nowMs < 60_000; nowMs += TICK_MS) {
      const nodeId = ids[drawn(ids.length)] ?? 'a';
      const happens = [detector.connected, detector.closed, detector.heard, detector.heard, detector.heard, detector.left, detector.forget][drawn(7)];
      happens?.call(detector, nodeId, nowMs);
      detector.tick(nowMs);
      const known = ids.toSorted();
      expect(detector.connectedNodes()).toEqual(known.filter((id) => detector.isConnected(id)));
      expect(detector.living()).toEqual(known.filter((id) => detector.liveness(id) !== null && detector.liveness(id) !== 'dead'));
    }
  });
});
