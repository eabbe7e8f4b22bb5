/** The cluster file's reference is the one that its fields make. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { clusterFileManual } from '../../scripts/cluster-file-reference.js';
import { clusterFields, nodeFields, placementFields } from '../../src/core/cluster-file-fields.js';

const PAGE = readFileSync(new URL('../../docs/cluster-file.md', import.meta.url), 'utf8');

it('docs/cluster-file.md is what `npm run docs` writes', () => {
  expect(PAGE.replaceAll('\r\n', '\n')).toBe(clusterFileManual());
});

it.each([...clusterFields, ...placementFields, ...nodeFields])('$key has a row with its meaning', ({ key, meaning }) => {
  expect(PAGE.split('\n').some((line) => line.startsWith(`| \`${key}\` |`) && line.includes(meaning))).toBe(true);
});
