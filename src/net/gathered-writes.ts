/**
 * Fewer system calls on the way to a peer. libp2p hands its pieces to the socket one by one: the length of a record, its
 * head, its payload and its tag would be four writes, and the peer would wake up for the first two bytes. And every frame
 * that arrives is acknowledged by a record of thirty bytes, which nobody waits for.
 *
 * Each record goes out whole, at once; small ones wait until the end of the event loop's turn, or go along with the next
 * that is not small. Order stays. It must not know what the records are.
 */
import { Socket } from 'node:net';
import type { MessageStream } from '@libp2p/interface';

/** Acknowledgements and pings are smaller; messages and activations are larger. */
const SMALL_BYTES = 64;

/** Changes how `connection`, a TCP connection, writes. Others stay as they are. */
export function gatherWrites(connection: MessageStream): void {
  const socket = 'socket' in connection ? connection.socket : null;
  if (!(socket instanceof Socket)) return;
  const send = connection.send.bind(connection);
  const abort = connection.abort.bind(connection);
  let holding = false;
  const release = (): void => {
    if (!holding) return;
    holding = false;
    socket.uncork();
  };
  connection.send = (data) => {
    const record = data instanceof Uint8Array ? data : data.subarray();
    if (record.byteLength <= SMALL_BYTES && !holding) {
      holding = true;
      socket.cork();
      setImmediate(release);
    }
    const canSendMore = send(record);
    if (record.byteLength > SMALL_BYTES) release();
    return canSendMore;
  };
  // What was said before a connection is cut is still said.
  connection.abort = (error) => {
    release();
    abort(error);
  };
}
