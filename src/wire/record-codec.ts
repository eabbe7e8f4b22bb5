/**
 * Node records, held models and hellos as protobuf (proto/gossip.proto), and back with everything checked.
 *
 * A record is data that its owner published; whether it is believed is membership's decision. Throws `bad_frame`.
 */
import type { Capabilities, Device, HeldModel, HeldShard, LinkFigures, ModelSource, NodeRecord } from '../core/types.js';
import {
  BACKENDS, badField, decodeBytes, DEVICE_KINDS, digestBytes, fitText, readDigest, readList, readName, readOneOf, readOptionalPositive,
  readOptionalUnsigned, readRequired, readText, readUnsigned,
} from './fields.js';
import { ringagent } from './gen/messages.js';

const MAX_DEVICES = 64;
const MAX_HELD_MODELS = 4096;
const MAX_HELD_SHARDS = 4096;
export const MAX_ADDRESSES = 32;
const MAX_LAYERS = 65_536;
const MAX_LINKS = 64;
const MAX_SOURCE_FILES = 1024;
const MAX_LOCATION_CHARACTERS = 2_048;
const MAX_HINTS = 16;
const MAX_HINT_CHARACTERS = 1_024;

/** The first words on a connection. Never changes in a way that an old agent cannot read. */
export interface Hello {
  /** SHA-256 of the cluster's name, hex. */
  readonly clusterHash: string;
  readonly agentVersion: string;
  readonly protocolMin: number;
  readonly protocolMax: number;
  readonly nodeId: string;
  readonly incarnation: number;
  readonly nonce: string;
  /** Where the sender listens, without peer id suffix. */
  readonly addresses: readonly string[];
  /** A second connection, for weights only. */
  readonly bulk: boolean;
}

export function encodeHello(hello: Hello): Uint8Array {
  return ringagent.gossip.Hello.encode({
    clusterHash: digestBytes(hello.clusterHash),
    agentVersion: hello.agentVersion,
    protocolMin: hello.protocolMin,
    protocolMax: hello.protocolMax,
    nodeId: hello.nodeId,
    incarnation: hello.incarnation,
    nonce: hello.nonce,
    addresses: hello.addresses.slice(0, MAX_ADDRESSES),
    bulk: hello.bulk,
  }).finish();
}

export function decodeHello(bytes: Uint8Array): Hello {
  const message = decodeBytes(ringagent.gossip.Hello, bytes, 'a hello');
  const protocolMin = readUnsigned(message.protocolMin, 'hello.protocol_min');
  const protocolMax = readUnsigned(message.protocolMax, 'hello.protocol_max');
  if (protocolMax < protocolMin) throw badField('hello.protocol_max', 'is below protocol_min');
  return {
    clusterHash: readDigest(message.clusterHash, 'hello.cluster_hash'),
    agentVersion: readName(message.agentVersion, 'hello.agent_version'),
    protocolMin,
    protocolMax,
    nodeId: readName(message.nodeId, 'hello.node_id'),
    incarnation: readUnsigned(message.incarnation, 'hello.incarnation'),
    nonce: readName(message.nonce, 'hello.nonce'),
    addresses: readList(message.addresses, 'hello.addresses', MAX_ADDRESSES, (address) => readName(address, 'hello.addresses')),
    bulk: message.bulk ?? false,
  };
}

export function toRecordMessage(record: NodeRecord): ringagent.gossip.NodeRecord.$Properties {
  return {
    nodeId: record.nodeId,
    incarnation: record.incarnation,
    counter: record.counter,
    nonce: record.nonce,
    addresses: record.addresses.slice(0, MAX_ADDRESSES),
    capabilities: toCapabilitiesMessage(record.capabilities),
  };
}

export function fromRecordMessage(message: ringagent.gossip.NodeRecord.$Properties): NodeRecord {
  return {
    nodeId: readName(message.nodeId, 'record.node_id'),
    incarnation: readUnsigned(message.incarnation, 'record.incarnation'),
    counter: readUnsigned(message.counter, 'record.counter'),
    nonce: readName(message.nonce, 'record.nonce'),
    addresses: readList(message.addresses, 'record.addresses', MAX_ADDRESSES, (address) => readName(address, 'record.addresses')),
    capabilities: fromCapabilitiesMessage(readRequired(message.capabilities, 'record.capabilities')),
  };
}

function toCapabilitiesMessage(capabilities: Capabilities): ringagent.gossip.Capabilities.$Properties {
  return {
    agentVersion: capabilities.agentVersion,
    protocolMin: capabilities.protocolMin,
    protocolMax: capabilities.protocolMax,
    hostname: capabilities.hostname,
    os: capabilities.os,
    arch: capabilities.arch,
    cores: capabilities.cores,
    ramTotalBytes: capabilities.ramTotalBytes,
    ramAvailableBytes: capabilities.ramAvailableBytes,
    ramLimitBytes: capabilities.ramLimitBytes,
    machineId: capabilities.machineId,
    diskFreeBytes: capabilities.diskFreeBytes,
    devices: capabilities.devices.map((device) => ({ ...device })),
    backends: [...capabilities.backends],
    gflops: capabilities.gflops,
    memoryBandwidthBytesPerSecond: capabilities.memoryBandwidthBytesPerSecond,
    models: capabilities.models.map(toHeldModelMessage),
    shards: capabilities.shards.map(toShardMessage),
    apiAddress: capabilities.apiAddress,
    devicePreference: [...capabilities.devicePreference ?? []],
    ...(capabilities.deviceLimitBytes === undefined ? {} : { deviceLimitBytes: capabilities.deviceLimitBytes }),
    links: (capabilities.links ?? []).slice(0, MAX_LINKS).map((link) => ({ ...link })),
    temporary: capabilities.temporary ?? false,
    ...(capabilities.storeRoomBytes === undefined ? {} : { storeRoomBytes: capabilities.storeRoomBytes }),
    hints: (capabilities.hints ?? []).slice(0, MAX_HINTS).map((hint) => fitText(hint, MAX_HINT_CHARACTERS)),
  };
}

function fromCapabilitiesMessage(message: ringagent.gossip.Capabilities.$Properties): Capabilities {
  const devicePreference = readList(message.devicePreference, 'capabilities.device_preference', DEVICE_KINDS.length,
    (device) => readOneOf(device, 'capabilities.device_preference', DEVICE_KINDS));
  const deviceLimitBytes = readOptionalUnsigned(message.deviceLimitBytes, 'capabilities.device_limit_bytes');
  const links = readList(message.links, 'capabilities.links', MAX_LINKS, fromLinkMessage);
  const storeRoomBytes = readOptionalUnsigned(message.storeRoomBytes, 'capabilities.store_room_bytes');
  const hints = readList(message.hints, 'capabilities.hints', MAX_HINTS, (hint) => readText(hint, 'capabilities.hints', MAX_HINT_CHARACTERS));
  return {
    agentVersion: readName(message.agentVersion, 'capabilities.agent_version'),
    protocolMin: readUnsigned(message.protocolMin, 'capabilities.protocol_min'),
    protocolMax: readUnsigned(message.protocolMax, 'capabilities.protocol_max'),
    hostname: readText(message.hostname, 'capabilities.hostname'),
    os: readText(message.os, 'capabilities.os'),
    arch: readText(message.arch, 'capabilities.arch'),
    cores: readUnsigned(message.cores, 'capabilities.cores'),
    ramTotalBytes: readUnsigned(message.ramTotalBytes, 'capabilities.ram_total_bytes'),
    ramAvailableBytes: readUnsigned(message.ramAvailableBytes, 'capabilities.ram_available_bytes'),
    ramLimitBytes: readOptionalUnsigned(message.ramLimitBytes, 'capabilities.ram_limit_bytes'),
    machineId: readText(message.machineId, 'capabilities.machine_id'),
    diskFreeBytes: readUnsigned(message.diskFreeBytes, 'capabilities.disk_free_bytes'),
    devices: readList(message.devices, 'capabilities.devices', MAX_DEVICES, fromDeviceMessage),
    backends: readList(message.backends, 'capabilities.backends', BACKENDS.length,
      (backend) => readOneOf(backend, 'capabilities.backends', BACKENDS)),
    gflops: readOptionalPositive(message.gflops, 'capabilities.gflops'),
    memoryBandwidthBytesPerSecond:
      readOptionalPositive(message.memoryBandwidthBytesPerSecond, 'capabilities.memory_bandwidth_bytes_per_second'),
    models: readList(message.models, 'capabilities.models', MAX_HELD_MODELS, fromHeldModelMessage),
    shards: readList(message.shards, 'capabilities.shards', MAX_HELD_SHARDS, fromShardMessage),
    apiAddress: readText(message.apiAddress, 'capabilities.api_address'),
    ...(devicePreference.length === 0 ? {} : { devicePreference }),
    ...(deviceLimitBytes === null ? {} : { deviceLimitBytes }),
    ...(links.length === 0 ? {} : { links }),
    ...(hints.length === 0 ? {} : { hints }),
    ...(message.temporary === true ? { temporary: true } : {}),
    ...(storeRoomBytes === null ? {} : { storeRoomBytes }),
  };
}

function fromLinkMessage(message: ringagent.gossip.Link.$Properties): LinkFigures {
  return {
    nodeId: readName(message.nodeId, 'link.node_id'),
    roundTripMicros: readUnsigned(message.roundTripMicros, 'link.round_trip_micros'),
    bytesPerSecond: readOptionalPositive(message.bytesPerSecond, 'link.bytes_per_second'),
  };
}

function fromDeviceMessage(message: ringagent.gossip.Device.$Properties): Device {
  const gflops = readOptionalPositive(message.gflops, 'device.gflops');
  const bandwidth = readOptionalPositive(message.memoryBandwidthBytesPerSecond, 'device.memory_bandwidth_bytes_per_second');
  return {
    name: readName(message.name, 'device.name'),
    description: readText(message.description, 'device.description'),
    backend: readOneOf(message.backend, 'device.backend', BACKENDS),
    memoryTotalBytes: readUnsigned(message.memoryTotalBytes, 'device.memory_total_bytes'),
    memoryFreeBytes: readUnsigned(message.memoryFreeBytes, 'device.memory_free_bytes'),
    unified: message.unified ?? false,
    ...(gflops === null ? {} : { gflops }),
    ...(bandwidth === null ? {} : { memoryBandwidthBytesPerSecond: bandwidth }),
  };
}

export function toHeldModelMessage(model: HeldModel): ringagent.gossip.HeldModel.$Properties {
  return {
    digest: digestBytes(model.digest),
    sizeBytes: model.sizeBytes,
    name: model.name,
    architecture: model.architecture,
    layers: model.layers,
    trainedContext: model.trainedContext ?? 0,
    ...(model.parameters === undefined ? {} : { parameters: model.parameters }),
    ...(model.weights === undefined ? {} : { weights: model.weights }),
    ...(model.checkpoint === true ? { checkpoint: true } : {}),
    ...(model.source === undefined ? {} : { source: { ...model.source, files: model.source.files.map((file) => ({ ...file })) } }),
  };
}

export function fromHeldModelMessage(message: ringagent.gossip.HeldModel.$Properties): HeldModel {
  return {
    digest: readDigest(message.digest, 'model.digest'),
    sizeBytes: readUnsigned(message.sizeBytes, 'model.size_bytes'),
    name: readName(message.name, 'model.name'),
    architecture: readText(message.architecture, 'model.architecture'),
    layers: readUnsigned(message.layers, 'model.layers', MAX_LAYERS),
    ...(message.trainedContext ? { trainedContext: readUnsigned(message.trainedContext, 'model.trained_context') } : {}),
    ...withoutZero(readUnsigned(message.parameters, 'model.parameters')),
    ...(message.weights ? { weights: readText(message.weights, 'model.weights') } : {}),
    ...(message.source === null || message.source === undefined ? {} : { source: fromSourceMessage(message.source) }),
    ...(message.checkpoint ? { checkpoint: true } : {}),
  };
}

function withoutZero(parameters: number): { readonly parameters?: number } {
  return parameters === 0 ? {} : { parameters };
}

function fromSourceMessage(message: ringagent.gossip.ModelSource.$Properties): ModelSource {
  return {
    repository: readText(message.repository, 'source.repository'),
    revision: readText(message.revision, 'source.revision'),
    files: readList(message.files, 'source.files', MAX_SOURCE_FILES, (file) => ({
      location: readText(file.location, 'source.location', MAX_LOCATION_CHARACTERS),
      sizeBytes: readUnsigned(file.sizeBytes, 'source.size_bytes'),
    })),
  };
}

function toShardMessage(shard: HeldShard): ringagent.gossip.HeldShard.$Properties {
  return {
    modelDigest: digestBytes(shard.modelDigest),
    start: shard.range.start,
    end: shard.range.end,
    head: shard.head,
    tail: shard.tail,
  };
}

function fromShardMessage(message: ringagent.gossip.HeldShard.$Properties): HeldShard {
  return {
    modelDigest: readDigest(message.modelDigest, 'shard.model_digest'),
    range: readRange(message.start, message.end, 'shard'),
    head: message.head ?? false,
    tail: message.tail ?? false,
  };
}

/** `[start, end)`; may be empty. */
export function readRange(start: number | null | undefined, end: number | null | undefined, field: string): { start: number; end: number } {
  const range = { start: readUnsigned(start, `${field}.start`, MAX_LAYERS), end: readUnsigned(end, `${field}.end`, MAX_LAYERS) };
  if (range.end < range.start) throw badField(`${field}.end`, 'is below start');
  return range;
}
