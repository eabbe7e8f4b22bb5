import type { NetworkInterfaceInfo } from 'node:os';
import { multiaddr } from '@multiformats/multiaddr';
import { describe, expect, it } from 'vitest';
import { errorCodeOf } from '../../src/core/errors.js';
import { announceable, dialable, dialRank, parsePeerAddress, resolvePeerAddress } from '../../src/net/addresses.js';

const PEER = '12D3KooWGkhbaceMEVuCWSQjDLURrHbDnktzFojscGLp63CyLaGv';

describe('a peer address', () => {
  it.each([
    ['/ip4/192.168.1.7/tcp/11501', { host: '192.168.1.7', port: 11501, nodeId: null }],
    [`/ip4/192.168.1.7/tcp/4000/p2p/${PEER}`, { host: '192.168.1.7', port: 4000, nodeId: PEER }],
    ['/ip6/fd00::1/tcp/1', { host: 'fd00::1', port: 1, nodeId: null }],
    ['/dns4/nas.local/tcp/9', { host: 'nas.local', port: 9, nodeId: null }],
    ['192.168.1.7:4000', { host: '192.168.1.7', port: 4000, nodeId: null }],
    ['192.168.1.7', { host: '192.168.1.7', port: 11501, nodeId: null }],
    ['nas.local', { host: 'nas.local', port: 11501, nodeId: null }],
    ['[fd00::1]:80', { host: 'fd00::1', port: 80, nodeId: null }],
    ['fd00::1', { host: 'fd00::1', port: 11501, nodeId: null }],
  ])('may be written as %s', (text, expected) => {
    expect(parsePeerAddress(text)).toEqual({ text, ...expected });
  });

  it.each(['', 'nas:0', 'nas:70000', 'nas:', '/ip4/1.2.3.4', '/ip4/300.1.1.1/tcp/1', '/ip4/1.2.3.4/udp/1', '/ip4/1.2.3.4/tcp/1/ws', 'http://nas:80', 'a b', '/unix/tmp%2fx'])('is not "%s"', (text) => {
    let code = 'accepted';
    try {
      parsePeerAddress(text);
    } catch (error) {
      code = errorCodeOf(error);
    }
    expect(code).toBe('bad_config');
  });

  it('with a name is looked up', async () => {
    expect((await resolvePeerAddress(parsePeerAddress('localhost:5'))).map(String)).toContain('/ip4/127.0.0.1/tcp/5');
    await expect(resolvePeerAddress(parsePeerAddress('no-such-name.invalid:5'))).rejects.toMatchObject({ code: 'peer_unreachable' });
  });
});

describe('addresses that a peer announces', () => {
  it('are kept only when they can be dialled', () => {
    expect(dialable([`/ip4/10.0.0.1/tcp/1/p2p/${PEER}`, '/ip4/10.0.0.1/tcp/1', '/unix/%2ftmp%2fx', '/ip4/10.0.0.1/tcp/0', '/dns4/evil.example/tcp/1', 'garbage', '/ip6/fd00::1/tcp/2']))
      .toEqual(['/ip4/10.0.0.1/tcp/1', '/ip6/fd00::1/tcp/2']);
  });

  it('leave out loopback unless there is nothing else', () => {
    const outward = multiaddr('/ip4/10.0.0.1/tcp/1');
    const loopback = multiaddr('/ip4/127.0.0.1/tcp/1');
    expect(announceable([loopback, outward])).toEqual([outward]);
    expect(announceable([loopback])).toEqual([loopback]);
  });
});

function face(address: string, netmask: string): NetworkInterfaceInfo[] {
  return [{ address, netmask, family: 'IPv4', mac: '', internal: address.startsWith('127.'), cidr: null }];
}

describe('the order of dialling', () => {
  const interfaces = { lo: face('127.0.0.1', '255.0.0.0'), eth0: face('192.168.1.2', '255.255.255.0'), docker0: face('172.17.0.1', '255.255.0.0'), tun0: face('10.8.0.2', '255.255.255.0') };

  it('is LAN, then other networks, loopback, overlays, and bridges of this host last', () => {
    const addresses = ['172.17.0.2', '100.100.1.1', '127.0.0.1', '10.8.0.9', '10.1.2.3', '192.168.1.77'];
    const sorted = addresses.map((host) => multiaddr(`/ip4/${host}/tcp/1`)).sort((x, y) => dialRank(x, interfaces) - dialRank(y, interfaces));
    expect(sorted.map((address) => address.toString().split('/')[2])).toEqual(['192.168.1.77', '10.1.2.3', '127.0.0.1', '100.100.1.1', '172.17.0.2', '10.8.0.9']);
  });
});
