/** One error, in the shape that the clients of each API parse. Which API it is, the path says. */
import type { ErrorBody, ErrorStatus } from './api-error.js';

const ANTHROPIC_TYPES: Readonly<Record<ErrorStatus, string>> = {
  400: 'invalid_request_error', 401: 'authentication_error', 403: 'permission_error', 404: 'not_found_error', 405: 'invalid_request_error', 409: 'invalid_request_error',
  413: 'request_too_large', 415: 'invalid_request_error', 429: 'rate_limit_error', 500: 'api_error', 503: 'overloaded_error', 504: 'timeout_error',
};

export function errorBodyFor(path: string, status: ErrorStatus, body: ErrorBody): object {
  // Ollama's clients expect the message alone.
  if (path.startsWith('/api/')) return { error: body.error.message };
  if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return anthropicError(status, body);
  return body;
}

export function anthropicError(status: ErrorStatus, body: ErrorBody): object {
  return { type: 'error', error: { type: ANTHROPIC_TYPES[status], message: body.error.message, details: { error_code: body.error.code } } };
}
