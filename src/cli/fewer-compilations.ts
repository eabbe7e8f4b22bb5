/**
 * An agent does little, a few dozen times a second, for weeks. V8 takes that for the beginning of a long computation and
 * compiles it again and again with its best compiler, on the cores that the model computes on: a quarter of what an agent
 * takes there in its first minutes. With this it waits for code that is worth it; hashing and the like get there at once.
 * Imported before what is to be compiled less.
 */
import { setFlagsFromString } from 'node:v8';

/** Bytecodes that a function runs before it is compiled again: about eight times V8's own number. */
const INTERRUPT_BUDGET = 1_000_000;

setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
