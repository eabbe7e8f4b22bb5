/**
 * Control messages (core/messages.ts) as protobuf (proto/control.proto), and back with everything checked.
 *
 * One message a frame. A message of no known kind, or with a field of no sense, throws `bad_frame`: within a protocol
 * version nobody sends those. It must not know connections, nor what a message causes.
 */
import type { ControlMessage, FinishReason } from '../core/messages.js';
import { fromWireEmbedding, fromWireProbability, fromWireSampling, toWireEmbedding, toWireProbability, toWireSampling } from './activation-codec.js';
import {
  badField, decodeBytes, fitText, MAX_TEXT_CHARACTERS, readErrorCode, readList, readName, readOneOf, readRequired, readText,
  readUnsigned,
} from './fields.js';
import {
  fromDesiredMessage, fromProblemMessage, fromRequestMessage, fromStatusMessage, fromTermMessage, MAX_STATUSES, toDesiredMessage,
  toRequestMessage, toStatusMessage,
} from './plan-codec.js';
import { fromRecordMessage, toRecordMessage } from './record-codec.js';
import { fromTraceMessages, toTraceMessage } from './trace-codec.js';
import { ringagent } from './gen/messages.js';

const MAX_PROMPT_TOKENS = 1 << 20;
const MAX_INTRODUCED = 256;
const MAX_INTRODUCED_ADDRESSES = 24;
const MAX_U32 = 0xffff_ffff;
const FINISH_REASONS: readonly FinishReason[] = ['stop', 'length'];

export function encodeControl(message: ControlMessage): Uint8Array {
  return ringagent.control.ControlMessage.encode(toControlMessage(message)).finish();
}

function toControlMessage(message: ControlMessage): ringagent.control.ControlMessage.$Properties {
  switch (message.kind) {
    case 'alive':
      return { alive: { incarnation: message.incarnation, counter: message.counter, term: message.term } };
    case 'record':
      return { record: toRecordMessage(message.record) };
    case 'record_request':
      return { recordRequest: {} };
    case 'coordinator':
      return { coordinator: { term: message.term, serving: message.serving, desired: toDesiredMessage(message.desired) } };
    case 'stages':
      return {
        stages: {
          term: message.term, statuses: message.statuses.map(toStatusMessage),
          ...(message.remembered === undefined ? {} : { remembered: toDesiredMessage(message.remembered) }),
        },
      };
    case 'leave':
      return { leave: {} };
    case 'introduction':
      return { introduction: { peers: message.peers.map(({ nodeId, addresses }) => ({ nodeId, addresses: [...addresses] })) } };
    case 'trace_request':
      return { traceRequest: { callId: message.callId, request: message.request } };
    case 'trace_reply':
      return { traceReply: { callId: message.callId, traces: message.traces.map(toTraceMessage) } };
    case 'load':
      return { load: { callId: message.callId, request: toRequestMessage(message.request) } };
    case 'unload':
      return { unload: { callId: message.callId, instanceId: message.instanceId } };
    case 'reply':
      return {
        reply: {
          callId: message.callId,
          instanceId: message.instanceId,
          error: message.error === null ? null : { code: message.error.code, message: fitText(message.error.message) },
        },
      };
    case 'generate':
      return {
        generate: {
          requestId: message.requestId,
          planId: message.planId,
          promptTokens: [...message.promptTokens],
          emittedTokens: [...message.emittedTokens],
          sampling: toWireSampling(message.sampling),
          maxTokens: message.maxTokens,
          client: message.client ?? '',
        },
      };
    case 'cancel':
      return { cancel: { requestId: message.requestId } };
    case 'token':
      return {
        token: {
          requestId: message.requestId,
          planId: message.planId,
          index: message.index,
          token: message.token,
          endOfGeneration: message.endOfGeneration,
          probability: toWireProbability(message.probability),
          reusedTokens: message.reusedTokens ?? 0,
          embedding: toWireEmbedding(message.embedding),
        },
      };
    case 'finished':
      return { finished: { requestId: message.requestId, planId: message.planId, reason: message.reason, tokens: message.tokens } };
    case 'refused':
      return { refused: { requestId: message.requestId, planId: message.planId, code: message.code, message: fitText(message.message) } };
  }
}

/** Signs of life are the channel's own business and no messages of the core. */
export type ChannelSignal = { readonly kind: 'ping' } | { readonly kind: 'pong' };

export function encodeSignal(signal: ChannelSignal): Uint8Array {
  return ringagent.control.ControlMessage.encode(signal.kind === 'ping' ? { ping: {} } : { pong: {} }).finish();
}

export function decodeControl(bytes: Uint8Array): ControlMessage | ChannelSignal {
  const message = decodeBytes(ringagent.control.ControlMessage, bytes, 'a control message');
  switch (message.kind) {
    case 'ping':
    case 'pong':
      return { kind: message.kind };
    case 'alive':
      return {
        kind: 'alive',
        incarnation: readUnsigned(message.alive.incarnation, 'alive.incarnation'),
        counter: readUnsigned(message.alive.counter, 'alive.counter'),
        term: message.alive.term === null || message.alive.term === undefined ? null : fromTermMessage(message.alive.term, 'alive.term'),
      };
    case 'record':
      return { kind: 'record', record: fromRecordMessage(message.record) };
    case 'recordRequest':
      return { kind: 'record_request' };
    case 'coordinator':
      return {
        kind: 'coordinator',
        term: fromTermMessage(message.coordinator.term, 'coordinator.term'),
        serving: readUnsigned(message.coordinator.serving, 'coordinator.serving'),
        desired: fromDesiredMessage(message.coordinator.desired),
      };
    case 'stages':
      return {
        kind: 'stages',
        term: fromTermMessage(message.stages.term, 'stages.term'),
        statuses: readList(message.stages.statuses, 'stages.statuses', MAX_STATUSES, fromStatusMessage),
        ...(message.stages.remembered === null || message.stages.remembered === undefined ? {} : { remembered: fromDesiredMessage(message.stages.remembered) }),
      };
    case 'leave':
      return { kind: 'leave' };
    case 'introduction':
      return {
        kind: 'introduction',
        peers: readList(message.introduction.peers, 'introduction.peers', MAX_INTRODUCED, (peer) => ({
          nodeId: readName(peer.nodeId, 'introduction.node_id'),
          addresses: readList(peer.addresses, 'introduction.addresses', MAX_INTRODUCED_ADDRESSES, (address) => readName(address, 'introduction.addresses')),
        })),
      };
    case 'traceRequest':
      return { kind: 'trace_request', callId: readName(message.traceRequest.callId, 'trace_request.call_id'), request: readText(message.traceRequest.request, 'trace_request.request') };
    case 'traceReply':
      return { kind: 'trace_reply', callId: readName(message.traceReply.callId, 'trace_reply.call_id'), traces: fromTraceMessages(message.traceReply.traces) };
    case 'load':
      return { kind: 'load', callId: readName(message.load.callId, 'load.call_id'), request: fromRequestMessage(message.load.request) };
    case 'unload':
      return {
        kind: 'unload',
        callId: readName(message.unload.callId, 'unload.call_id'),
        instanceId: readName(message.unload.instanceId, 'unload.instance_id'),
      };
    case 'reply':
      return {
        kind: 'reply',
        callId: readName(message.reply.callId, 'reply.call_id'),
        instanceId: readText(message.reply.instanceId, 'reply.instance_id'),
        error: message.reply.error === null || message.reply.error === undefined ? null : fromProblemMessage(message.reply.error),
      };
    case 'generate':
      return {
        kind: 'generate',
        requestId: readName(message.generate.requestId, 'generate.request_id'),
        planId: readName(message.generate.planId, 'generate.plan_id'),
        promptTokens: readTokens(message.generate.promptTokens, 'generate.prompt_tokens'),
        emittedTokens: readTokens(message.generate.emittedTokens, 'generate.emitted_tokens'),
        sampling: fromWireSampling(readRequired(message.generate.sampling, 'generate.sampling')),
        maxTokens: readUnsigned(message.generate.maxTokens, 'generate.max_tokens', MAX_U32),
        ...clientOf(message.generate.client),
      };
    case 'cancel':
      return { kind: 'cancel', requestId: readName(message.cancel.requestId, 'cancel.request_id') };
    case 'token':
      return {
        kind: 'token',
        requestId: readName(message.token.requestId, 'token.request_id'),
        planId: readName(message.token.planId, 'token.plan_id'),
        index: readUnsigned(message.token.index, 'token.index', MAX_U32),
        token: readUnsigned(message.token.token, 'token.token', MAX_U32),
        endOfGeneration: message.token.endOfGeneration ?? false,
        ...fromWireProbability(message.token.probability),
        ...reusedOf(message.token.reusedTokens),
        ...fromWireEmbedding(message.token.embedding),
      };
    case 'finished':
      return {
        kind: 'finished',
        requestId: readName(message.finished.requestId, 'finished.request_id'),
        planId: readName(message.finished.planId, 'finished.plan_id'),
        reason: readOneOf(message.finished.reason, 'finished.reason', FINISH_REASONS),
        tokens: readUnsigned(message.finished.tokens, 'finished.tokens', MAX_U32),
      };
    case 'refused':
      return {
        kind: 'refused',
        requestId: readName(message.refused.requestId, 'refused.request_id'),
        planId: readText(message.refused.planId, 'refused.plan_id'),
        code: readErrorCode(message.refused.code),
        message: readText(message.refused.message, 'refused.message', MAX_TEXT_CHARACTERS),
      };
    default:
      throw badField('kind', 'is unknown to this version');
  }
}

function reusedOf(value: number | null | undefined): { readonly reusedTokens?: number } {
  const reusedTokens = readUnsigned(value, 'token.reused_tokens', MAX_U32);
  return reusedTokens === 0 ? {} : { reusedTokens };
}

function clientOf(text: string | null | undefined): { readonly client?: string } {
  const client = readText(text, 'generate.client');
  return client === '' ? {} : { client };
}

function readTokens(values: readonly number[] | null | undefined, field: string): number[] {
  return readList(values, field, MAX_PROMPT_TOKENS, (token) => readUnsigned(token, field, MAX_U32));
}
