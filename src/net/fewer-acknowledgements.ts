/**
 * A stream acknowledges what it read once half of its window is used up, as other implementations of yamux do. The one
 * that we use sends thirty bytes back for every message: for a frame of one token that is as much work again, on both
 * sides, as the frame itself.
 *
 * It must not know what the messages are.
 */
import type { Stream } from '@libp2p/interface';

/** Part of the window that a peer may use up before it hears of it. */
const USED_PART = 1 / 2;

/** Of an open yamux stream; any other stays as it is. */
export function acknowledgeLate(stream: Stream): void {
  if (!('sendWindowUpdate' in stream && 'recvWindow' in stream && 'recvWindowCapacity' in stream)) return;
  const { sendWindowUpdate } = stream;
  if (typeof sendWindowUpdate !== 'function') return;
  const open = stream;
  open.sendWindowUpdate = () => {
    const { recvWindow, recvWindowCapacity } = open;
    if (typeof recvWindow === 'number' && typeof recvWindowCapacity === 'number' && recvWindowCapacity > recvWindow * USED_PART) return;
    sendWindowUpdate.call(open);
  };
}
