/** The real clock. */
import type { Clock } from '../ports.js';

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};
