/**
 * The string formats of JSON Schema that a grammar can follow, as GBNF for the text between the quotes. Each allows a part
 * of what the format does: enough to say any common value, nothing that a validator would refuse. Pure.
 */
import type { JsonRules } from './json-rules.js';

const YEAR = '[1-9] [0-9]{3}';
const OCTET = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9]{2} | [1-9]? [0-9])';
const HEX = '[0-9a-fA-F]';
const LABEL = '[a-z0-9] ([a-z0-9-]{0,30} [a-z0-9])?';
const TOP_LABEL = '[a-z]{2,12}';
/** Leap years that are no century's: all that a grammar can tell cheaply. */
const LEAP = '[1-9] [0-9] ("0" [48] | [2468] [048] | [13579] [26])';
const DATE = `${YEAR} "-" (("0" [13578] | "1" [02]) "-" ("0" [1-9] | [12] [0-9] | "3" [01]) | ("0" [469] | "11") "-" ("0" [1-9] | [12] [0-9] | "30") | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8])) | ${LEAP} "-02-29"`;
const TIME = '("0" [0-9] | "1" [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})?';
const ZONE = '("Z" | [+-] ("0" [0-9] | "1" [0-3]) ":" [0-5] [0-9])';
const HOSTNAME = `${LABEL} ("." ${LABEL}){0,2}`;
/** Path, query and fragment characters that need no thought. */
const PATH = '("/" [a-zA-Z0-9._~-]{0,60}){0,8}';

const FORMATS: Readonly<Record<string, (json: JsonRules) => string>> = {
  date: ({ builder }) => builder.rule('date', DATE),
  time: ({ builder }) => builder.rule('time', `${TIME} ${ZONE}`),
  'date-time': ({ builder }) => builder.rule('date-time', `(${DATE}) "T" ${TIME} ${ZONE}`),
  duration: ({ builder }) => builder.rule('duration', '"P" ([0-9]{1,4} "Y" | [0-9]{1,3} [MWD] | ([0-9]{1,3} "D")? "T" ([0-9]{1,3} "H" ([0-9]{1,2} "M")? | [0-9]{1,4} [MS]))'),
  uuid: ({ builder }) => builder.rule('uuid', `${HEX}{8} "-" ${HEX}{4} "-" ${HEX}{4} "-" ${HEX}{4} "-" ${HEX}{12}`),
  email: ({ builder }) => builder.rule('email', `[a-zA-Z0-9] [a-zA-Z0-9_-]{0,30} ("." [a-zA-Z0-9_-]{1,30}){0,2} "@" (${LABEL} "."){1,3} ${TOP_LABEL}`),
  hostname: ({ builder }) => builder.rule('hostname', HOSTNAME),
  ipv4: ({ builder }) => builder.rule('ipv4', `${OCTET} ("." ${OCTET}){3}`),
  ipv6: ({ builder }) => builder.rule('ipv6', `${HEX}{1,4} (":" ${HEX}{1,4}){7}`),
  uri: ({ builder }) => builder.rule('uri', `"http" "s"? "://" (${LABEL} "."){1,3} ${TOP_LABEL} (":" [1-9] [0-9]{1,3})? ${PATH} ("?" [a-zA-Z0-9=&_.~-]{1,60})?`),
};

/** Null for a format that is not known. */
export function formatRule(json: JsonRules, format: string): string | null {
  return Object.hasOwn(FORMATS, format) ? FORMATS[format]?.(json) ?? null : null;
}

export function knownFormats(): readonly string[] {
  return Object.keys(FORMATS);
}
