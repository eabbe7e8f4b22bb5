/**
 * `Promise.withResolvers` for Node 20, which libp2p needs before its first dial. The very first import of every entry
 * point that touches the network; harmless where the runtime has it.
 */
export interface Resolvers<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason?: unknown) => void;
}

/** A promise and the two functions that settle it. */
export function promiseWithResolvers<T>(): Resolvers<T> {
  let resolve: Resolvers<T>['resolve'] | undefined;
  let reject: Resolvers<T>['reject'] | undefined;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  if (resolve === undefined || reject === undefined) throw new Error('a promise did not run its executor');
  return { promise, resolve, reject };
}

if (!('withResolvers' in Promise)) {
  Object.defineProperty(Promise, 'withResolvers', { value: promiseWithResolvers, configurable: true, writable: true });
}
