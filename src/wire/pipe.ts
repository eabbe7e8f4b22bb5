/**
 * The first word of a frame on the pipe between an agent and its runner: what follows it.
 *
 * A whole word, not a byte, so that the f32 payload of an activation stays aligned and is read in place.
 */

/** A `ToRunner` or `FromRunner` message (wire/runner-codec.ts). */
export const PIPE_CONTROL = Uint8Array.of(0, 0, 0, 0);
/** An activation frame (wire/activation-codec.ts). */
export const PIPE_ACTIVATION = Uint8Array.of(1, 0, 0, 0);
export const PIPE_KIND_BYTES = 4;
/** Largest frame on the pipe: a batch of hidden states of the widest model plus its header. */
export const MAX_PIPE_FRAME_BYTES = 256 * 1024 * 1024;

export function isActivation(frame: Uint8Array): boolean {
  return frame[0] === PIPE_ACTIVATION[0];
}
