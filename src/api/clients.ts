/**
 * Which requests come from one client: those with one API key, or, where none is asked for, from one address. Clients
 * take turns at the ring's slots.
 *
 * What leaves this file is a salted digest that lives as long as the process: nodes of the cluster learn that two
 * requests are of one client, not of which. It must not know requests' bodies.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import type { ApiEnv, ApiOptions } from './api-options.js';

const SALT = randomBytes(32);
const ID_CHARACTERS = 16;

export function clientOf(context: Context<ApiEnv>, options: Pick<ApiOptions, 'apiKeys'>): string {
  const key = context.req.header('authorization')?.replace(/^Bearer +/i, '').trim() ?? context.req.header('x-api-key');
  // Programs that are asked for no key send what their vendor's client insists on: it tells nobody apart.
  const known = options.apiKeys.length > 0 && key !== undefined ? `key ${key}` : `address ${context.env?.incoming?.socket.remoteAddress ?? ''}`;
  return createHmac('sha256', SALT).update(known, 'utf8').digest('hex').slice(0, ID_CHARACTERS);
}
