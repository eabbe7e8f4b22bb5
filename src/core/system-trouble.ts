/**
 * What the operating system refuses, in words for people: a clause for behind a colon, without the path, which the caller has
 * named. Pure: looks at an error's code only.
 */
import { errorMessageOf } from './errors.js';

const TROUBLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is none at this path',
  ENOTDIR: 'a part of this path is a file and no directory',
  EEXIST: 'there is a file of this name',
  EISDIR: 'it is a directory, and a file is needed',
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'this user\'s share of the disk is full',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open on this machine',
  ELOOP: 'its links lead around in a circle',
  ENAMETOOLONG: 'its name is too long',
  EIO: 'the disk does not read it',
  EADDRINUSE: 'another program has it',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'no machine of this name is known',
  EAI_AGAIN: 'the name service does not answer',
};

/** The code of an error of the operating system; empty = it is none. */
export function systemCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** For people. What is not known here is said as it came. */
export function systemTroubleOf(error: unknown): string {
  return TROUBLE[systemCodeOf(error)] ?? errorMessageOf(error);
}
