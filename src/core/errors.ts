/**
 * Errors with a stable code. Three kinds exist (test/…): expected outcomes are returned unions, operating failures
 * are `RingError`, bugs are `assert`. Who reports a RingError shows `message`: it says what, where and what to do.
 */

export type ErrorCode =
  | 'bad_gguf'
  | 'bad_checkpoint'
  | 'unsupported_architecture'
  | 'unsplittable_model'
  | 'unknown_model'
  | 'no_placement'
  | 'conflict'
  | 'bad_config'
  | 'bad_frame'
  | 'frame_too_large'
  | 'wrong_plan'
  | 'stale_term'
  | 'wrong_cluster'
  | 'version_mismatch'
  | 'peer_unreachable'
  | 'peer_lost'
  | 'timeout'
  | 'cancelled'
  | 'queue_full'
  | 'context_too_long'
  | 'bad_request'
  | 'unauthorized'
  | 'engine_missing'
  | 'engine_mismatch'
  | 'engine_failed'
  | 'backend_missing'
  | 'out_of_memory'
  | 'disk_full'
  | 'permission_denied'
  | 'port_in_use'
  | 'state_locked'
  | 'digest_mismatch'
  | 'source_refused'
  | 'source_missing'
  | 'source_failed'
  | 'licence_required'
  | 'runner_died'
  | 'not_ready'
  | 'io_failed'
  | 'internal';

/** An operating failure. `facts` are for logs and JSON; `message` is for people. */
export class RingError extends Error {
  override readonly name = 'RingError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly facts: Readonly<Record<string, string | number | boolean | null>> = {},
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The code of any thrown value; `internal` when it is none of ours. */
export function errorCodeOf(error: unknown): ErrorCode {
  return error instanceof RingError ? error.code : 'internal';
}

/** A message for people of any thrown value. */
export function errorMessageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Thrown when our own code is wrong; never on input from another node, a file or a person. */
export function assert(condition: boolean, why: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${why}`);
}

/** For exhaustive switches. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
