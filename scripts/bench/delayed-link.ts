/**
 * A TCP port that passes everything on later, in both directions: a slow network on one machine, for agents that meet
 * only through it. Timers add up to a millisecond to what is asked for. It must not know what it carries.
 */
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

export class DelayedLink {
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server, readonly port: number) {}

  /** Listens on a free port of the loopback and passes on to `targetPort`. */
  static async open(targetPort: number, delayMs: number): Promise<DelayedLink> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a server without a port');
    const link = new DelayedLink(server, address.port);
    server.on('connection', (near) => link.join(near, targetPort, delayMs));
    return link;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private join(near: Socket, targetPort: number, delayMs: number): void {
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    this.carry(near, far, delayMs);
    this.carry(far, near, delayMs);
  }

  private carry(from: Socket, to: Socket, delayMs: number): void {
    this.sockets.add(from);
    // Timers of equal length fire in order.
    from.on('data', (chunk: Buffer) => setTimeout(() => to.write(chunk), delayMs));
    from.on('end', () => setTimeout(() => to.end(), delayMs));
    from.on('error', () => to.destroy());
    from.on('close', () => this.sockets.delete(from));
  }
}
