/** The API's reference names every path, each with a call to try. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { METHODS } from '../../src/api/app.js';

const REFERENCE = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');

it.each(METHODS.map(([path, methods]) => [path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}'), methods] as const))('%s is in docs/api.md', (path, methods) => {
  const headings = REFERENCE.split('\n').filter((line) => line.startsWith('### ')).flatMap((line) => line.slice(4).split(', '));
  for (const method of methods.split(' or ')) expect(headings).toContain(`${method} ${path}`);
  const examples = [...REFERENCE.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1] ?? '').join('\n');
  expect(examples).toContain(`:11500${path.replace(/\{\w+\}/, '')}`);
});
