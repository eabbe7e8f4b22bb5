/**
 * How the scripts that run for minutes read their options: `--help` prints what they take and ends with 0; what they do not
 * understand is one line on stderr and ends with 2. It must not know what the options mean.
 */
import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';
import { errorMessageOf } from '../src/core/errors.js';

const REFUSED_STATUS = 2;

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<Given extends Options> = ReturnType<typeof parseArgs<{ options: Given }>>['values'];

export type ScriptOptions<Given extends Options> =
  | { readonly kind: 'values'; readonly values: Values<Given> }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'bad'; readonly text: string };

/** `usage`: the command with its options first, then a line for each. */
export function readScriptOptions<Given extends Options>(args: readonly string[], usage: string, options: Given): ScriptOptions<Given> {
  if (args.includes('--help') || args.includes('-h')) return { kind: 'help', text: `${usage.trim()}\n` };
  try {
    return { kind: 'values', values: parseArgs({ args: [...args], options }).values };
  } catch (error) {
    // Node adds advice about arguments that begin with a dash, which no script has.
    const [what = ''] = errorMessageOf(error).split(/\.? To specify|\.?\n/);
    return { kind: 'bad', text: `${what}: --help shows the options\n` };
  }
}

/** Of this process; ends it where there is nothing to run. */
export function scriptOptions<Given extends Options>(usage: string, options: Given): Values<Given> {
  const read = readScriptOptions(process.argv.slice(2), usage, options);
  if (read.kind === 'values') return read.values;
  if (read.kind === 'bad') return refuse(read.text);
  process.stdout.write(read.text);
  process.exit(0);
}

/** A number above 0. */
export function positiveNumber(text: string, option: string): number {
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) && value > 0 ? value : refuse(`--${option} wants a number above 0, not "${text}"\n`);
}

/** 0 or above. */
export function wholeNumber(text: string, option: string): number {
  const value = Number(text);
  return text.trim() !== '' && Number.isSafeInteger(value) && value >= 0 ? value : refuse(`--${option} wants a whole number, not "${text}"\n`);
}

/** Nothing is run; `line` says why. */
export function refuse(line: string): never {
  process.stderr.write(line);
  process.exit(REFUSED_STATUS);
}
