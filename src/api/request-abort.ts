/**
 * One abort signal for one request: the client's leave and the agent's stop both end the work.
 *
 * `AbortSignal.any` would do, but on Node 20 it keeps every derived signal alive as long as its longest-lived source,
 * which here is the whole agent's.
 */
export class RequestAbort {
  private readonly controller = new AbortController();
  private readonly onSource: () => void;

  constructor(private readonly sources: readonly AbortSignal[]) {
    this.onSource = () => this.abort();
    for (const source of sources) {
      if (source.aborted) this.controller.abort();
      else source.addEventListener('abort', this.onSource, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(): void {
    this.controller.abort();
    this.dispose();
  }

  /** The request is over: forgets the sources, aborts nothing. */
  dispose(): void {
    for (const source of this.sources) source.removeEventListener('abort', this.onSource);
  }
}
