/**
 * libp2p's noise finds out that it has read all of what came by an exception, with a trace of the stack, once for every
 * record: ten to twenty times what reading the record takes. Here the length of a record that has not come yet is one
 * that no buffer reaches, and nothing is thrown.
 *
 * It must not know what the records are.
 */
import type { MessageStream } from '@libp2p/interface';

const LENGTH_BYTES = 2;
/** The longest that two bytes can say: with nothing else in the buffer, more is waited for. */
const NOT_THERE_YET = 0xffff;

interface ReceivedBytes {
  readonly byteLength: number;
  getUint16(offset: number): number;
}

/** Of a stream that noise encrypts; any other stays as it is. */
export function decodeQuietly(encrypted: MessageStream): void {
  const decoder = 'decoder' in encrypted ? encrypted.decoder : null;
  if (typeof decoder !== 'object' || decoder === null || !('lengthDecoder' in decoder)) return;
  decoder.lengthDecoder = (received: ReceivedBytes): number => (received.byteLength < LENGTH_BYTES ? NOT_THERE_YET : received.getUint16(0));
}
