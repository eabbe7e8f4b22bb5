import { describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import { decodeEdge, decodeOpened, encodeEdge, encodeOpened } from '../../src/wire/edge-codec.js';
import { ringagent } from '../../src/wire/gen/messages.js';
import { decodeHello, encodeHello } from '../../src/wire/record-codec.js';
import { decodeWeightsRequest, decodeWeightsResponse, encodeWeightsRequest, encodeWeightsResponse } from '../../src/wire/weights-codec.js';
import type { WeightsRequest, WeightsResponse } from '../../src/wire/weights-codec.js';
import { codeOf } from '../support/thrown.js';

const DIGEST = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

describe('the hello', () => {
  const hello = {
    clusterHash: DIGEST, agentVersion: '0.1.0', protocolMin: 1, protocolMax: 2, nodeId: '12D3', incarnation: 5, nonce: 'abc',
    addresses: ['/ip4/10.0.0.1/tcp/11501'], bulk: false,
  };

  it('has golden bytes that every version can read', () => {
    const golden = `0a20${DIGEST}1205302e312e30180120022a0431324433300` + '53a036162634217' + Buffer.from('/ip4/10.0.0.1/tcp/11501').toString('hex');
    expect(hexOf(encodeHello(hello))).toBe(golden);
    expect(decodeHello(Buffer.from(golden, 'hex'))).toEqual(hello);
  });

  it('of a second connection says so', () => {
    expect(decodeHello(encodeHello({ ...hello, bulk: true }))).toEqual({ ...hello, bulk: true });
  });

  it('with a reversed version range is a bad frame', () => {
    expect(codeOf(() => decodeHello(encodeHello({ ...hello, protocolMin: 3 })))).toBe('bad_frame');
  });

  it('skips fields that a newer version added', () => {
    expect(decodeHello(Buffer.concat([encodeHello(hello), Buffer.from('9a06026869', 'hex')]))).toEqual(hello);
  });
});

describe('weights', () => {
  it.each<readonly [WeightsRequest, string]>([
    [{ kind: 'header', modelDigest: DIGEST }, `0a20${DIGEST}1200`],
    [{ kind: 'tensor', modelDigest: DIGEST, name: 'output.weight', offset: 2 ** 33, describeOnly: false },
      `0a20${DIGEST}1a150a0d6f75747075742e776569676874108080808020`],
    [{ kind: 'tensor', modelDigest: DIGEST, name: 'a', offset: 0, describeOnly: true }, `0a20${DIGEST}1a050a01611801`],
  ])('requests have golden bytes: %o', (request, hex) => {
    expect(hexOf(encodeWeightsRequest(request))).toBe(hex);
    expect(decodeWeightsRequest(Buffer.from(hex, 'hex'))).toEqual(request);
  });

  it.each<readonly [WeightsResponse, WeightsRequest['kind']]>([
    [{ kind: 'missing' }, 'header'],
    [{ kind: 'problem', message: 'the disk is gone' }, 'tensor'],
    [{ kind: 'header', name: 'kjv', sizeBytes: 2 ** 42, fileBytes: [3, 4], contentBytes: 7 }, 'header'],
    [{ kind: 'tensor', sizeBytes: 100, digest: DIGEST, contentBytes: 60 }, 'tensor'],
    [{ kind: 'tensor', sizeBytes: 100, digest: DIGEST, contentBytes: 0 }, 'tensor'],
  ])('responses survive the wire: %o', (response, asked) => {
    const bytes = encodeWeightsResponse(response);
    expect(bytes.byteLength).toBeGreaterThan(0);
    expect(decodeWeightsResponse(bytes, asked)).toEqual(response);
  });

  it('that do not add up are bad frames', () => {
    expect(codeOf(() => decodeWeightsResponse(encodeWeightsResponse({ kind: 'header', name: 'm', sizeBytes: 1, fileBytes: [3, 4], contentBytes: 8 }), 'header'))).toBe('bad_frame');
    expect(codeOf(() => decodeWeightsResponse(encodeWeightsResponse({ kind: 'tensor', digest: DIGEST, sizeBytes: 1, contentBytes: 8 }), 'tensor'))).toBe('bad_frame');
    expect(codeOf(() => decodeWeightsRequest(ringagent.weights.Request.encode({ modelDigest: new Uint8Array(32) }).finish()))).toBe('bad_frame');
  });
});

describe('the opening of a ring edge', () => {
  it('has golden bytes', () => {
    expect(hexOf(encodeEdge({ planId: '7.a.1', rank: 2 }))).toBe('0a05372e612e311002');
    expect(decodeEdge(Buffer.from('0a05372e612e311002', 'hex'))).toEqual({ planId: '7.a.1', rank: 2 });
  });

  it('is accepted, or refused with a typed error', () => {
    expect(hexOf(encodeOpened(null))).toBe('12026f6b');
    expect(decodeOpened(encodeOpened(null))).toBeNull();
    expect(decodeOpened(encodeOpened(new RingError('wrong_plan', 'another plan runs here')))).toMatchObject({ code: 'wrong_plan', message: 'another plan runs here' });
  });

  it('with a rank of no sense is a bad frame', () => {
    expect(codeOf(() => decodeEdge(encodeEdge({ planId: 'p', rank: 5000 })))).toBe('bad_frame');
  });
});
