/** An HTTP proxy on this machine, in both forms: requests with whole addresses, and tunnels. Remembers whom it led where. */
import { createServer, request } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

export class ProxyServer {
  /** `host:port` of every request and tunnel. */
  readonly led: string[] = [];
  readonly credentials: (string | undefined)[] = [];

  private constructor(private readonly server: Server, readonly address: string, private readonly sockets: Set<Socket>) {}

  static async start(): Promise<ProxyServer> {
    const server = createServer();
    const sockets = new Set<Socket>();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const place = server.address();
    if (typeof place !== 'object' || place === null) throw new Error('no port');
    const proxy = new ProxyServer(server, `127.0.0.1:${place.port}`, sockets);
    const keep = (socket: Socket): Socket => {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => sockets.delete(socket));
      return socket;
    };
    server.on('connection', keep);
    server.on('connect', (asked, client: Socket) => {
      proxy.led.push(asked.url ?? '');
      proxy.credentials.push(asked.headers['proxy-authorization']);
      const target = new URL(`http://${asked.url ?? ''}`);
      const through = keep(connect(Number(target.port), target.hostname, () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        through.pipe(client).pipe(through);
      }));
    });
    server.on('request', (asked, answer) => {
      const target = new URL(asked.url ?? '');
      proxy.led.push(target.host);
      proxy.credentials.push(asked.headers['proxy-authorization']);
      const onward = request(target, { method: asked.method, headers: asked.headers }, (got) => {
        answer.writeHead(got.statusCode ?? 502, got.headers);
        got.pipe(answer);
      });
      onward.on('error', () => answer.destroy());
      asked.pipe(onward);
    });
    return proxy;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}
