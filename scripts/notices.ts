/**
 * The licences of everything that ships with this program, from the dependency tree of package-lock.json.
 * A package whose licence nobody has looked at stops it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** Beside the package and beside the executable. */
export const NOTICES_FILE = 'THIRD-PARTY-NOTICES';
/** Licences that let this program be passed on, with the notice alone. */
const LOOKED_AT: ReadonlySet<string> = new Set(['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0', 'Apache-2.0 OR MIT', 'MIT OR Apache-2.0', '(MIT OR Apache-2.0)']);
const LICENCE_FILE = /^(licen[sc]e|copying|notice)(\.(md|txt))?$/i;
const LINE = '='.repeat(80);

const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional(), license: z.string().optional(), dev: z.boolean().optional(), devOptional: z.boolean().optional() })),
});
const authorSchema = z.object({ author: z.union([z.string(), z.object({ name: z.string() })]).optional() });

/** Inside the engine packages, and in none of their own files. */
const ENGINE_NOTICE = `llama.cpp and ggml (in the libraries of @node-llama-cpp/*), MIT

${mit('2023-2026 The ggml authors')}`;

/** Throws when a package has a licence that is not in the list, or says of none. */
export function thirdPartyNotices(root: string): string {
  const { packages } = lockSchema.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
  /** Text -> who has it: many packages of one maker share it. */
  const texts = new Map<string, Set<string>>();
  for (const [path, { version, license, dev }] of Object.entries(packages)) {
    if (path === '' || dev === true) continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    if (license === undefined || !LOOKED_AT.has(license)) throw new Error(`${name} ${version ?? ''} has the licence "${license ?? 'none'}": see whether it may be passed on, and add it to scripts/notices.ts`);
    const text = licenceText(join(root, path), name, license);
    texts.set(text, (texts.get(text) ?? new Set()).add(`${name} ${version ?? ''} (${license})`));
  }
  const parts = [...texts].map(([text, names]) => `${[...names].sort().join('\n')}\n\n${text.trim()}\n`).sort();
  return [`What ring-agent is built on, and the licences of it.\n`, ENGINE_NOTICE, ...parts].join(`\n${LINE}\n`);
}

/** Its own files; for those that ship none, the text that its licence's name stands for. */
function licenceText(directory: string, name: string, license: string): string {
  if (existsSync(directory)) {
    const files = readdirSync(directory).filter((file) => LICENCE_FILE.test(file)).sort();
    if (files.length > 0) return files.map((file) => readFileSync(join(directory, file), 'utf8')).join('\n');
  }
  if (!license.includes('MIT')) throw new Error(`${name} ships no licence text and is not MIT: see what it asks for, and add it to scripts/notices.ts`);
  return mit(authorOf(directory) ?? `the authors of ${name.startsWith('@') ? name.slice(0, name.indexOf('/')) : name}`);
}

function authorOf(directory: string): string | null {
  const file = join(directory, 'package.json');
  if (!existsSync(file)) return null;
  const { author } = authorSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  return typeof author === 'string' ? author : author?.name ?? null;
}

function mit(holder: string): string {
  return `Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;
}
