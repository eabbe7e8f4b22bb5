/**
 * Every error that HTTP clients see, in the shape that OpenAI's clients parse: `{error: {message, type, param, code}}`.
 *
 * Two sources: the API itself refuses a request (`ApiError`), or the agent reports an operating failure (`RingError`),
 * whose stable code decides the status. Whatever else is thrown is our bug: a 500 that says nothing about its inside.
 * It must not know routes or Hono.
 */
import { RingError } from '../core/errors.js';
import type { ErrorCode } from '../core/errors.js';

export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 429 | 500 | 503 | 504;

export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
    /** Our addition: the numbers behind the message, when there are any. */
    readonly facts?: RingError['facts'];
  };
}

export interface ApiErrorOptions {
  readonly status: ErrorStatus;
  readonly code: string;
  readonly message: string;
  /** The field or header at fault. */
  readonly param?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that the API refuses by itself. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(readonly options: ApiErrorOptions) {
    super(options.message);
  }
}

export interface ErrorAnswer {
  readonly status: ErrorStatus;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
}

/** Advice to a client that was refused for lack of room, in seconds. */
const RETRY_AFTER_SECONDS = '2';

interface StatusRule {
  readonly status: ErrorStatus;
  /** OpenAI's name for the code, where its clients know one. */
  readonly code?: string;
  readonly param?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const RETRY: Readonly<Record<string, string>> = { 'Retry-After': RETRY_AFTER_SECONDS };
/** OpenAI's clients retry a 5xx by themselves unless told not to; a model that fits nowhere will not fit in a second. */
const NO_RETRY: Readonly<Record<string, string>> = { 'x-should-retry': 'false' };

/** Codes that are not listed are ours to explain: 500. */
const STATUS_RULES: Partial<Record<ErrorCode, StatusRule>> = {
  bad_request: { status: 400 },
  bad_config: { status: 400 },
  context_too_long: { status: 400, code: 'context_length_exceeded' },
  bad_gguf: { status: 400, param: 'model' },
  bad_checkpoint: { status: 400, param: 'model' },
  unsupported_architecture: { status: 400, param: 'model' },
  unsplittable_model: { status: 400, param: 'model' },
  unauthorized: { status: 401, code: 'invalid_api_key' },
  unknown_model: { status: 404, code: 'model_not_found', param: 'model' },
  // The hub's answers, not ours: whoever asked us is authorised here.
  source_refused: { status: 503, headers: NO_RETRY },
  source_missing: { status: 404, param: 'model' },
  source_failed: { status: 503, headers: RETRY },
  licence_required: { status: 403, param: 'model' },
  queue_full: { status: 429, headers: RETRY },
  // Seen by nobody when the client has left; otherwise the agent gave the request up.
  cancelled: { status: 503, headers: RETRY },
  not_ready: { status: 503, headers: RETRY },
  conflict: { status: 409 },
  no_placement: { status: 503, headers: NO_RETRY },
  peer_unreachable: { status: 503, headers: RETRY },
  peer_lost: { status: 503, headers: RETRY },
  runner_died: { status: 503, headers: RETRY },
  stale_term: { status: 503, headers: RETRY },
  wrong_plan: { status: 503, headers: RETRY },
  out_of_memory: { status: 503, headers: NO_RETRY },
  disk_full: { status: 503, headers: NO_RETRY },
  backend_missing: { status: 503, headers: NO_RETRY },
  timeout: { status: 504, headers: NO_RETRY },
};

const INTERNAL_MESSAGE = 'The agent failed on this request. Its log says why; please report it.';

function typeOfStatus(status: ErrorStatus): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 429:
      return 'rate_limit_error';
    case 500:
    case 503:
    case 504:
      return 'server_error';
    case 400:
    case 404:
    case 405:
    case 409:
    case 413:
    case 415:
      return 'invalid_request_error';
  }
}

/** What to answer to any thrown value. Never shows the inside of a bug. */
export function answerOfError(error: unknown): ErrorAnswer {
  if (error instanceof ApiError) {
    const { status, code, message, param, headers } = error.options;
    return {
      status,
      headers: headers ?? {},
      body: { error: { message, type: typeOfStatus(status), param: param ?? null, code } },
    };
  }
  if (error instanceof RingError) {
    const rule: StatusRule = STATUS_RULES[error.code] ?? { status: 500, headers: NO_RETRY };
    return {
      status: rule.status,
      headers: rule.headers ?? {},
      body: {
        error: {
          message: error.message,
          type: typeOfStatus(rule.status),
          param: rule.param ?? null,
          code: rule.code ?? error.code,
          ...(Object.keys(error.facts).length > 0 ? { facts: error.facts } : {}),
        },
      },
    };
  }
  return {
    status: 500,
    headers: NO_RETRY,
    body: { error: { message: INTERNAL_MESSAGE, type: typeOfStatus(500), param: null, code: 'internal' } },
  };
}

/** True for what people must be able to find in the log: bugs and failures of ours, not refused requests. */
export function isServerFault(error: unknown): boolean {
  return answerOfError(error).status === 500;
}
