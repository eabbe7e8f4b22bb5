/**
 * Turns the operating system's file errors into errors that people understand: which path, what was tried, what to do.
 */
import { RingError } from '../core/errors.js';

function systemCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** @param neededBytes How much was to be written, for `disk_full`. */
export function fileError(error: unknown, path: string, action: 'read' | 'write', neededBytes = 0): RingError {
  if (error instanceof RingError) return error;
  const facts = { path, action, neededBytes };
  switch (systemCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new RingError('disk_full', `no space left to write ${path} (${neededBytes} bytes are needed): free some space or choose another state directory`, facts, { cause: error });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new RingError('permission_denied', `not allowed to ${action} ${path}${neededBytes > 0 ? ` (${neededBytes} bytes)` : ''}: check the permissions of the file and its directory`, facts, { cause: error });
    case 'ENOENT':
      return new RingError('io_failed', `${path} does not exist: check the path`, facts, { cause: error });
    case 'EISDIR':
      return new RingError('io_failed', `${path} is a directory, a file is needed`, facts, { cause: error });
    default:
      return new RingError('io_failed', `cannot ${action} ${path}: ${error instanceof Error ? error.message : String(error)}`, facts, { cause: error });
  }
}
