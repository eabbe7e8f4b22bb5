/**
 * How long a model is to stay, as a field of a request: Ollama's `keep_alive` and our own `keepAlive`. It must not know HTTP.
 */
import { z } from 'zod';
import { KEEP_ALIVE_FORMS, parseKeepAlive } from '../core/keep-alive.js';

/** `ms` null = it stays. An object, so that nothing said and for ever are two things. */
export const keepAliveField = z.union([z.string().max(64), z.number()]).transform((value, context): { readonly ms: number | null } => {
  const ms = parseKeepAlive(value);
  if (ms !== undefined) return { ms };
  context.addIssue({ code: 'custom', message: `must be ${KEEP_ALIVE_FORMS}` });
  return z.NEVER;
});
