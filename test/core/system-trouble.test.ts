import { expect, it } from 'vitest';
import { systemTroubleOf } from '../../src/core/system-trouble.js';

it('what the operating system refuses is said in words, and what is not known as it came', () => {
  const refused = (code: string): Error => Object.assign(new Error(`${code}: raw`), { code });
  expect(systemTroubleOf(refused('EACCES'))).toBe('this user may not');
  expect(systemTroubleOf(refused('ENOSPC'))).toBe('the disk is full');
  expect(systemTroubleOf(refused('EWEIRD'))).toBe('EWEIRD: raw');
  expect(systemTroubleOf(new Error('other'))).toBe('other');
  expect(systemTroubleOf('text')).toBe('text');
});
