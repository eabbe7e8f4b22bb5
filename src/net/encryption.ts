/**
 * Noise with the cluster's name and secret in its prologue: a peer of another cluster fails the handshake, before any
 * protocol of ours runs. This file also tells such failures from others, on either side.
 */
import { noise } from '@chainsafe/libp2p-noise';
import type { ConnectionEncrypter, MessageStream } from '@libp2p/interface';
import { errorMessageOf } from '../core/errors.js';
import { gatherWrites } from './gathered-writes.js';
import { decodeQuietly } from './quiet-decoder.js';

type NoiseFactory = ReturnType<typeof noise>;

/**
 * `brokenOff` is told the address of a caller that gave up in the middle of the handshake. The dialling side is the first
 * to see that the prologues differ; all that the other side sees is this.
 */
export function clusterNoise(
  prologueBytes: Uint8Array,
  brokenOff: (address: string) => void,
): (components: Parameters<NoiseFactory>[0]) => ConnectionEncrypter {
  const factory = noise({ prologueBytes });
  return (components) => {
    const encrypter = factory(components);
    const secureInbound = encrypter.secureInbound.bind(encrypter);
    const secureOutbound = encrypter.secureOutbound.bind(encrypter);
    encrypter.secureOutbound = async (connection, options) => {
      gatherWrites(connection);
      const secured = await secureOutbound(connection, options);
      decodeQuietly(secured.connection);
      return secured;
    };
    encrypter.secureInbound = async (connection, options) => {
      gatherWrites(connection);
      try {
        const secured = await secureInbound(connection, options);
        decodeQuietly(secured.connection);
        return secured;
      } catch (error) {
        if (options?.signal?.aborted !== true) brokenOff(remoteAddressOf(connection));
        throw error;
      }
    };
    return encrypter;
  };
}

/** True for the failure of a dial to a peer with another prologue, which is to say another cluster name or secret. */
export function isWrongPrologue(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isWrongPrologue);
  return /decryption/i.test(errorMessageOf(error)) && /handshake/i.test(errorMessageOf(error));
}

function remoteAddressOf(connection: MessageStream): string {
  return 'remoteAddr' in connection ? String(connection.remoteAddr) : 'an unknown address';
}
