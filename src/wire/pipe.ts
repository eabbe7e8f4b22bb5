/** The first byte of a frame on the pipe between an agent and its runner: what follows it. */

/** A `ToRunner` or `FromRunner` message (wire/runner-codec.ts). */
export const PIPE_CONTROL = 0;
/** An activation frame (wire/activation-codec.ts). */
export const PIPE_ACTIVATION = 1;
