import { expect, it } from 'vitest';
import type { ClusterStatus, NodeView } from '../../src/agent/service.js';
import { screen } from '../../src/cli/command-status.js';
import { clusterFindings, diskFinding, engineFindings, memoryFinding, multicastFindings, portFinding } from '../../src/cli/doctor-findings.js';

const STATUS: ClusterStatus = { cluster: 'home', secured: true, nodeId: 'a', coordinator: 'a', term: { counter: 1, node: 'a' }, nodes: [], instances: [] };

function refused(state: NodeView['state'], problem: string): ClusterStatus {
  return { ...STATUS, nodes: [{ nodeId: 'b', self: false, coordinator: false, capabilities: null, addresses: ['10.0.0.2:11501'], state, problem }] };
}

it('names a missing multicast route and a firewall, and is content when one interface works', () => {
  expect(multicastFindings([], 'linux')[0]).toMatchObject({ state: 'problem', text: expect.stringContaining('no multicast route') });
  const eth = { interface: 'eth0', address: '10.0.0.1', problem: null };
  const vpn = { interface: 'tun0', address: '10.8.0.1', problem: 'does not come back' };
  expect(multicastFindings([vpn], 'linux')[0]).toMatchObject({ state: 'problem', cure: expect.stringContaining('--peer') });
  expect(multicastFindings([vpn], 'darwin')[0]?.cure).toContain('Local Network');
  expect(multicastFindings([eth, vpn], 'linux').map((finding) => finding.state)).toEqual(['ok', 'warning']);
});

it('tells a taken port from one that is only not the usual', () => {
  expect(portFinding('API port', { port: 80, chosen: true, option: '--api-port' }, 'EADDRINUSE')).toMatchObject({ state: 'problem' });
  expect(portFinding('API port', { port: 11500, chosen: false, option: '--api-port' }, 'EADDRINUSE')).toMatchObject({ state: 'warning' });
  expect(portFinding('peer port', { port: 80, chosen: true, option: '--listen' }, 'EACCES').text).toContain('may not listen');
  expect(portFinding('peer port', { port: 11501, chosen: false, option: '--listen' }, null).state).toBe('ok');
});

it('names a full disk, little memory and a missing engine', () => {
  expect(diskFinding('/state', 0)).toMatchObject({ state: 'problem', text: expect.stringContaining('full') });
  expect(diskFinding('/state', 5e8).state).toBe('warning');
  expect(diskFinding('/state', 5e10).state).toBe('ok');
  expect(memoryFinding(1e8).state).toBe('warning');
  expect(engineFindings([], [], null)[0]).toMatchObject({ state: 'problem', text: expect.stringContaining('no backend') });
  expect(engineFindings(['p'], [], 'a struct moved')[0]?.text).toContain('a struct moved');
});

it('names another version, a wrong secret and a clone, each with its own cure', () => {
  const cureFor = (status: ClusterStatus): string | null | undefined => clusterFindings(status).find((finding) => finding.check === 'other nodes')?.cure;
  expect(cureFor(refused('incompatible', 'speaks protocol version 9'))).toContain('same version');
  expect(cureFor(refused('incompatible', 'has another secret'))).toContain('--secret-file');
  expect(cureFor(refused('cloned', 'two processes'))).toContain('--state-dir');
  expect(clusterFindings({ ...STATUS, secured: false }).at(-1)?.check).toBe('secret');
  // Another machine's words cannot move this terminal's cursor.
  expect(JSON.stringify(clusterFindings(refused('incompatible', 'a\u001b[2Jb version')))).not.toContain('u001b');
});

it('draws a status over the last one and never more than the window has', () => {
  expect(screen('a\nb', 24)).toBe('\u001b[Ha\u001b[K\nb\u001b[K\u001b[J\n');
  const long = screen(Array.from({ length: 40 }, (_, index) => `line ${index}`).join('\n'), 10);
  expect(long.split('\n')).toHaveLength(10);
  expect(long).toContain('32 more lines');
});
