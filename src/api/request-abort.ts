/**
 * One abort signal for one request: the client's leave and the agent's stop both end the work.
 *
 * `AbortSignal.any` would do, but on Node 20 it keeps every derived signal alive as long as its longest-lived source,
 * which here is the whole agent's.
 */
import { RingError } from '../core/errors.js';

export class RequestAbort {
  private readonly controller = new AbortController();
  private readonly onSource: () => void;

  constructor(private readonly sources: readonly AbortSignal[]) {
    this.onSource = () => this.abort();
    for (const source of sources) {
      if (source.aborted) this.abort();
      else source.addEventListener('abort', this.onSource, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(): void {
    // With a reason of ours: whoever it reaches must not take a client that has left for a fault of the agent.
    this.controller.abort(new RingError('cancelled', 'the request was given up: its client has left, or the agent stops'));
    this.dispose();
  }

  /** The request is over: forgets the sources, aborts nothing. */
  dispose(): void {
    for (const source of this.sources) source.removeEventListener('abort', this.onSource);
  }
}
