/** The two ways in which a checkpoint is no model for us: it is damaged, or it is of a kind that is not read. Texts only. */
import { RingError } from '../../core/errors.js';

/** Damaged, incomplete or contradictory. */
export function badCheckpoint(where: string, what: string): RingError {
  return new RingError('bad_checkpoint', `${where}: ${what}. The checkpoint is damaged or incomplete: fetch it again or choose another.`, { where });
}

/** Whole, but nothing that this program can turn into stages. `advice` says what to take instead. */
export function refusedCheckpoint(where: string, why: string, advice = 'take a GGUF of the model'): RingError {
  return new RingError('unsupported_architecture', `${where}: ${why}; ${advice}`, { where });
}
