/**
 * The API's socket: where it listens, who must show a key, and how it stops.
 *
 * On loopback it is open to this machine's programs; on any other address it insists on a key file. The default port is
 * fixed so that clients can be configured once; when it is taken the next free one is used and said, unless the port
 * was chosen by hand.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import { getRequestListener } from '@hono/node-server';
import type { AgentService } from '../agent/service.js';
import { errorMessageOf, RingError } from '../core/errors.js';
import type { Log } from '../ports.js';
import { ApiError, answerOfError } from './api-error.js';
import { readApiKeys } from './api-keys.js';
import { createApp } from './app.js';
import { isLoopbackName, isWildcardAddress } from './guards.js';
import { CLIENT_STALL_MS, HEARTBEAT_MS, within } from './sse.js';

export const API_HOST_DEFAULT = '127.0.0.1';
export const API_PORT_DEFAULT = 11500;
/** How many ports after the default one are tried. */
const API_PORT_TRIES = 32;
/** Answers in progress may take so long to end by themselves when the agent stops; then they are cut with an error. */
const API_CLOSE_DEADLINE_MS = 5_000;

/** After the cut: time to send the error. */
const CUT_DEADLINE_MS = 500;
const REQUEST_DEADLINE_MS = 120_000;
const HEADERS_DEADLINE_MS = 20_000;
const KEEP_ALIVE_MS = 15_000;
const CONNECTIONS_MAX = 1024;

export interface ApiServerOptions {
  readonly service: AgentService;
  readonly agentVersion: string;
  readonly log: Log;
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** The port was chosen by hand: taken means an error, not the next one. */
  readonly portExplicit: boolean;
  /** One key a line, mode 0600; needed when `host` is not loopback. */
  readonly apiKeyFile: string | null;
  /** Further names that clients may use in `Host`. */
  readonly allowedHosts?: readonly string[];
  readonly heartbeatMs?: number;
  readonly stallMs?: number;
  /** For requests without a seed; absent or null = drawn at random. */
  defaultSeed?(): number | null;
}

export interface ApiServer {
  readonly port: number;
  /** For people and clients, e.g. `http://127.0.0.1:11500`. */
  readonly address: string;
  /** Something that the person who started the agent should read; null = nothing. */
  readonly notice: string | null;
  /** Takes no new request, lets answers end until the deadline, then cuts them with an error. Idempotent. */
  close(deadlineMs?: number): Promise<void>;
}

/** The keys to ask for on this host; none on loopback without a file. Throws `bad_config`, saying what to do. */
export async function readApiAccess(givenHost: string, apiKeyFile: string | null): Promise<readonly string[]> {
  const host = hostWithoutBrackets(givenHost);
  const apiKeys = apiKeyFile === null ? [] : await readApiKeys(apiKeyFile);
  if (!isLoopbackName(host.toLowerCase()) && apiKeys.length === 0) {
    throw new RingError(
      'bad_config',
      `the API would listen on ${host}, where everybody on the network could use it. Give it keys with `
        + '--api-key-file FILE (one key a line, chmod 600), or leave --api-host at 127.0.0.1.',
      { host },
    );
  }
  return apiKeys;
}

function hostWithoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

/** Throws `bad_config`, `port_in_use` or `permission_denied`, each saying what to do. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const host = hostWithoutBrackets(options.host);
  const apiKeys = await readApiAccess(host, options.apiKeyFile);
  const loopback = isLoopbackName(host.toLowerCase());
  const shutdown = new AbortController();
  const app = createApp(options.service, {
    agentVersion: options.agentVersion,
    hosts: {
      // On loopback the machine's own name is of no use, and somebody else on the network might answer for it.
      names: [host, ...(loopback ? [] : [hostname(), `${hostname()}.local`]), ...(options.allowedHosts ?? [])],
      anyAddress: isWildcardAddress(host),
    },
    apiKeys,
    log: options.log,
    startedAt: unixSeconds(),
    now: unixSeconds,
    randomSeed: () => options.defaultSeed?.() ?? randomInt(2 ** 32),
    newId: () => randomUUID().replaceAll('-', ''),
    shutdown: shutdown.signal,
    heartbeatMs: options.heartbeatMs ?? HEARTBEAT_MS,
    stallMs: options.stallMs ?? CLIENT_STALL_MS,
  });
  const server = createServer(
    { requestTimeout: REQUEST_DEADLINE_MS, headersTimeout: HEADERS_DEADLINE_MS, keepAliveTimeout: KEEP_ALIVE_MS },
    // The listener must not swap the process's own Request and Response for its lighter ones.
    getRequestListener(app.fetch, { overrideGlobalObjects: false, errorHandler: badRequest }),
  );
  server.maxConnections = CONNECTIONS_MAX;
  const connections = new Connections(server);

  const port = await listenOnFreePort(server, host, options);
  const notice = options.port === 0 || port === options.port
    ? null
    : `port ${options.port} is taken: the API is on ${port}. Choose one with --api-port.`;
  if (notice !== null) options.log.warn(notice, { wantedPort: options.port, port });

  let closing: Promise<void> | null = null;
  return {
    port,
    address: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    notice,
    close: (deadlineMs = API_CLOSE_DEADLINE_MS) => (closing ??= closeServer(server, connections, shutdown, deadlineMs)),
  };
}

function unixSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** A request line or Host that is no URL: the app never sees it. */
function badRequest(): Response {
  const { status, body } = answerOfError(new ApiError({
    status: 400,
    code: 'bad_request',
    message: 'The request line or its Host header is not valid HTTP.',
  }));
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } });
}

async function listenOnFreePort(server: Server, host: string, options: ApiServerOptions): Promise<number> {
  const tries = options.portExplicit || options.port === 0 ? 1 : API_PORT_TRIES;
  for (let offset = 0; offset < tries; offset += 1) {
    const port = options.port + offset;
    const failure = await listen(server, host, port);
    if (failure === null) {
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : port;
    }
    if (failure.code !== 'EADDRINUSE') throw listenError(failure, host, port);
  }
  throw new RingError(
    'port_in_use',
    tries === 1
      ? `port ${options.port} on ${host} is taken by another program. Stop that one, or choose another port with --api-port.`
      : `ports ${options.port} to ${options.port + tries - 1} on ${host} are all taken. Choose another one with --api-port.`,
    { host, port: options.port },
  );
}

/** Null = listening. */
function listen(server: Server, host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      server.off('listening', onListening);
      resolve(error);
    };
    const onListening = (): void => {
      server.off('error', onError);
      resolve(null);
    };
    server.once('error', onError);
    server.once('listening', onListening);
    server.listen({ host, port, exclusive: true });
  });
}

function listenError(failure: NodeJS.ErrnoException, host: string, port: number): RingError {
  const facts = { host, port, error: failure.code ?? null };
  const options = { cause: failure };
  switch (failure.code) {
    case 'EACCES':
      return new RingError('permission_denied', `this user may not listen on port ${port}. Choose one above 1023 with --api-port.`, facts, options);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new RingError('bad_config', `${host} is no address of this machine. Give one of its own with --api-host.`, facts, options);
    default:
      return new RingError('io_failed', `the API cannot listen on ${host}:${port}: ${errorMessageOf(failure)}`, facts, options);
  }
}

async function closeServer(
  server: Server,
  connections: Connections,
  shutdown: AbortController,
  deadlineMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  connections.dropIdle();
  if ((await within(closed, deadlineMs)) !== 'late') return;
  shutdown.abort();
  if ((await within(closed, CUT_DEADLINE_MS)) !== 'late') return;
  server.closeAllConnections();
  await closed;
}

/**
 * Which connections have a request in progress. Node's own `closeIdleConnections` leaves those alone that have never
 * had one, and browsers and clients open such in advance: they would hold up every stop.
 */
class Connections {
  private readonly requests = new Map<Socket, number>();
  private closing = false;

  constructor(server: Server) {
    server.on('connection', (socket) => {
      this.requests.set(socket, 0);
      socket.once('close', () => this.requests.delete(socket));
    });
    server.on('request', ({ socket }, answer) => {
      this.count(socket, 1);
      answer.once('close', () => this.count(socket, -1));
    });
  }

  /** Drops those without a request now, and each other one when its last answer has ended. */
  dropIdle(): void {
    this.closing = true;
    for (const [socket, count] of this.requests) if (count === 0) socket.destroy();
  }

  private count(socket: Socket, change: number): void {
    const before = this.requests.get(socket);
    if (before === undefined) return;
    this.requests.set(socket, before + change);
    // Soon: after the last bytes of the answer.
    if (this.closing && before + change === 0) socket.destroySoon();
  }
}
