/** A grammar for the part of an answer that comes behind its thoughts. Pure. */
import type { Grammar } from '../step-types.js';

const ROOT = /^([ \t]*)root([ \t]*::=)/gm;
const ANSWER = 'answer-root';

/** `close`: what ends the thoughts. A grammar that has its own beginning keeps it. */
export function afterThoughts(grammar: Grammar, close: string): Grammar {
  if (grammar.after !== undefined) return grammar;
  // Models put a line break or two between thoughts and answer.
  return { text: `${grammar.text.replace(ROOT, `$1${ANSWER}$2`)}\nroot ::= [ \\n]{0,4} ${ANSWER}`, after: [close] };
}
