/**
 * Request and description of a weight transfer (proto/weights.proto). Names and digests only: a path cannot be asked for.
 * It must not know files or connections.
 */
import {
  badField, decodeBytes, digestBytes, fitText, MAX_TEXT_CHARACTERS, readDigest, readList, readName, readText, readUnsigned,
} from './fields.js';
import { ringagent } from './gen/messages.js';

/** Files of one sharded model. */
const MAX_FILES = 1024;

export type WeightsRequest =
  | { readonly kind: 'header'; readonly modelDigest: string }
  | {
      readonly kind: 'tensor';
      readonly modelDigest: string;
      readonly name: string;
      readonly offset: number;
      readonly describeOnly: boolean;
    };

/** What the content frames after it hold: `contentBytes` in all. */
export type WeightsResponse =
  | { readonly kind: 'missing' }
  /** The owner failed; for people. */
  | { readonly kind: 'problem'; readonly message: string }
  | {
      readonly kind: 'header';
      readonly name: string;
      readonly sizeBytes: number;
      readonly fileBytes: readonly number[];
      readonly contentBytes: number;
    }
  | { readonly kind: 'tensor'; readonly sizeBytes: number; readonly digest: string; readonly contentBytes: number };

export function encodeWeightsRequest(request: WeightsRequest): Uint8Array {
  const modelDigest = digestBytes(request.modelDigest);
  return ringagent.weights.Request.encode(
    request.kind === 'header'
      ? { modelDigest, header: {} }
      : { modelDigest, tensor: { name: request.name, offset: request.offset, describeOnly: request.describeOnly } },
  ).finish();
}

export function decodeWeightsRequest(bytes: Uint8Array): WeightsRequest {
  const message = decodeBytes(ringagent.weights.Request, bytes, 'a request for weights');
  const modelDigest = readDigest(message.modelDigest, 'weights.model_digest');
  switch (message.what) {
    case 'header':
      return { kind: 'header', modelDigest };
    case 'tensor':
      return {
        kind: 'tensor',
        modelDigest,
        name: readName(message.tensor.name, 'weights.tensor.name'),
        offset: readUnsigned(message.tensor.offset, 'weights.tensor.offset'),
        describeOnly: message.tensor.describeOnly ?? false,
      };
    default:
      throw badField('weights.what', 'is unknown to this version');
  }
}

export function encodeWeightsResponse(response: WeightsResponse): Uint8Array {
  switch (response.kind) {
    case 'missing':
      return ringagent.weights.Response.encode({ found: false, problem: 'not held here' }).finish();
    case 'problem':
      return ringagent.weights.Response.encode({ found: true, problem: fitText(response.message) || 'failed' }).finish();
    case 'header':
      return ringagent.weights.Response.encode({
        found: true,
        name: response.name,
        sizeBytes: response.sizeBytes,
        fileBytes: [...response.fileBytes],
        contentBytes: response.contentBytes,
      }).finish();
    case 'tensor':
      return ringagent.weights.Response.encode({
        found: true,
        sizeBytes: response.sizeBytes,
        sha256: digestBytes(response.digest),
        contentBytes: response.contentBytes,
      }).finish();
  }
}

/** `asked` says what the answer must be. */
export function decodeWeightsResponse(bytes: Uint8Array, asked: WeightsRequest['kind']): WeightsResponse {
  const message = decodeBytes(ringagent.weights.Response, bytes, 'a description of weights');
  if (message.found !== true) return { kind: 'missing' };
  const problem = readText(message.problem, 'weights.problem', MAX_TEXT_CHARACTERS);
  if (problem !== '') return { kind: 'problem', message: problem };
  const sizeBytes = readUnsigned(message.sizeBytes, 'weights.size_bytes');
  const contentBytes = readUnsigned(message.contentBytes, 'weights.content_bytes');
  if (asked === 'tensor') {
    if (contentBytes > sizeBytes) throw badField('weights.content_bytes', 'is more than the tensor has');
    return { kind: 'tensor', sizeBytes, digest: readDigest(message.sha256, 'weights.sha256'), contentBytes };
  }
  const fileBytes = readList(message.fileBytes, 'weights.file_bytes', MAX_FILES, (length) => readUnsigned(length, 'weights.file_bytes'));
  if (fileBytes.reduce((sum, length) => sum + length, 0) !== contentBytes) {
    throw badField('weights.file_bytes', 'does not add up to content_bytes');
  }
  return { kind: 'header', name: readName(message.name, 'weights.name'), sizeBytes, fileBytes, contentBytes };
}
