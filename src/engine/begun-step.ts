/** A step that a stage computed before it was asked for (StageEngine.ahead). Nothing of it is drawn. Pure. */
import type { StageInput } from '../ports.js';
import type { EngineCall } from './slot-packing.js';

export interface BegunStep {
  /** A token for each sequence. */
  readonly input: StageInput;
  readonly call: EngineCall;
  readonly micros: number;
}

/** The step that comes is the one that was begun with. */
export function isBegun({ slices, tokens }: StageInput, { input }: BegunStep): boolean {
  return slices.length === input.slices.length && slices.every(({ slot, position, tokens: count, sample, draft = [] }, index) => {
    const other = input.slices[index];
    return other?.slot === slot && other.position === position && count === 1 && sample && draft.length === 0 && tokens?.[index] === input.tokens?.[index];
  });
}
