/** The agent as a service: what is written for each manager, and what installing, replacing and removing do. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { servicePlan } from '../../src/cli/service-unit.js';
import { runAgentCommand } from '../support/agent-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const user = { home: '/home/me', name: 'me', id: 1000 };
const command = ['/usr/bin/node', '/opt/ring agent/main.js', 'start', '--cluster', '100% "mine" $HOME \\'];
const ANALYZE = '/usr/bin/systemd-analyze';

describe('what is written', () => {
  it('is a unit for systemd, with every word as it was typed', () => {
    const plan = servicePlan('linux', user, command);
    expect(plan?.file).toBe('/home/me/.config/systemd/user/ring-agent.service');
    expect(plan?.content).toContain('ExecStart=/usr/bin/node "/opt/ring agent/main.js" start --cluster "100%% \\"mine\\" $$HOME \\\\"\n');
    expect(plan?.hint).toContain('loginctl enable-linger me');
    expect(servicePlan('linux', { ...user, configHome: '/etc/me' }, command)?.file).toBe('/etc/me/systemd/user/ring-agent.service');
  });

  it('is a unit that systemd takes', () => {
    const directory = temporaryDirectory('unit');
    const file = join(directory, 'ring-agent.service');
    writeFileSync(file, servicePlan('linux', user, [process.execPath, ...command.slice(1)])?.content ?? '');
    // Where there is no systemd the other tests say what is in it.
    const complaints = existsSync(ANALYZE) ? execFileSync(ANALYZE, ['--user', 'verify', '--man=no', file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, XDG_RUNTIME_DIR: directory } }) : '';
    expect(complaints).toBe('');
  });

  it('is a property list for launchd', () => {
    const plan = servicePlan('darwin', { ...user, home: '/Users/me', id: 501 }, ['/usr/local/bin/agent', 'start', '--cluster', 'a<b & c']);
    expect(plan?.file).toBe('/Users/me/Library/LaunchAgents/ring-agent.plist');
    expect(plan?.content).toContain('<string>a&lt;b &amp; c</string>');
    expect(plan?.start).toEqual([['launchctl', 'bootstrap', 'gui/501', '/Users/me/Library/LaunchAgents/ring-agent.plist']]);
    expect(plan?.stop).toEqual([['launchctl', 'bootout', 'gui/501/ring-agent']]);
    // Every element that is opened is closed.
    const open: string[] = [];
    for (const [, closing, name, empty] of (plan?.content ?? '').matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
      if (closing === '/') expect(open.pop()).toBe(name);
      else if (empty === '' && name !== undefined) open.push(name);
    }
    expect(open).toEqual([]);
  });

  it('is nothing where there is no such manager', () => {
    expect(servicePlan('win32', user, command)).toBeNull();
  });
});

describe.runIf(process.platform === 'linux')('agent service', () => {
  /** A home, and in the place of systemctl a program that keeps what it was called with. */
  function machine(systemctl: string) {
    const home = temporaryDirectory('service');
    const bin = join(home, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\necho "$*" >>${join(home, 'calls')}\n${systemctl}\n`);
    chmodSync(join(bin, 'systemctl'), 0o755);
    const unit = join(home, '.config', 'systemd', 'user', 'ring-agent.service');
    const env = { HOME: home, XDG_CONFIG_HOME: '', PATH: [bin, process.env['PATH']].join(delimiter) };
    return { home, unit, agent: (...line: readonly string[]) => runAgentCommand(['service', ...line], { env }), calls: () => readFileSync(join(home, 'calls'), 'utf8').trim().split('\n') };
  }

  it('is installed with the options of start, replaced by a second time, and removed without a trace', async () => {
    const { home, unit, agent, calls } = machine('exit 0');
    expect((await agent('status')).stdout).toContain('no service is installed');
    const installed = await agent('install', '--secret-file', 'ring.secret', '--peer', 'a:1', 'b:2', '--no-mdns', '--model', 'kjv-q8_0');
    expect(installed.code, installed.stderr).toBe(0);
    expect(installed.stdout).toContain('enable-linger');
    expect(readFileSync(unit, 'utf8')).toMatch(/^ExecStart=\S+ \S+main\.js start --secret-file \/\S*\/ring\.secret --peer a:1 b:2 --no-mdns --model kjv-q8_0$/m);
    expect(calls()).toEqual(['--user daemon-reload', '--user enable ring-agent.service', '--user restart ring-agent.service']);
    expect(JSON.parse((await agent('status', '--json')).stdout)).toEqual({ manager: 'systemd', file: unit, installed: true, running: true });
    expect((await agent('install')).code).toBe(0);
    expect(readFileSync(unit, 'utf8')).toMatch(/main\.js start$/m);
    expect((await agent('remove')).stdout).toContain('removed');
    expect(calls()).toContain('--user disable --now ring-agent.service');
    expect(readdirSync(join(home, '.config', 'systemd', 'user'))).toEqual([]);
    expect((await agent('remove')).stdout).toContain('no service is installed');
  });

  it('is refused with an option that start does not take, before anything is written', async () => {
    const { home, agent } = machine('exit 0');
    const [unknown, wrong, extra] = [await agent('install', '--colour'), await agent('install', '--api-port', 'many'), await agent('install', 'extra')];
    expect([unknown.code, wrong.code, extra.code]).toEqual([2, 2, 2]);
    expect(unknown.stderr).toContain('takes no --colour');
    expect(wrong.stderr).toContain('port between 0 and 65535');
    expect(readdirSync(home)).toEqual(['bin']);
  });

  it('leaves what was there when the manager fails, and says what it said', async () => {
    const { unit, agent } = machine('echo "Failed to connect to bus" >&2; exit 1');
    const failed = await agent('install');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/systemctl --user daemon-reload" failed: Failed to connect to bus/);
    expect(existsSync(unit)).toBe(false);
  });
});

describe('agent uninstall', () => {
  it('removes the state directory when told so, and nothing that is not an agent\'s', async () => {
    const home = temporaryDirectory('uninstall');
    const state = join(home, 'state');
    mkdirSync(state);
    writeFileSync(join(state, 'identity.key'), '');
    mkdirSync(join(home, 'photos'));
    const env = { HOME: home, XDG_CONFIG_HOME: '' };
    const refused = await Promise.all([
      runAgentCommand(['uninstall', '--yes', '--state-dir', join(home, 'photos')], { env }),
      runAgentCommand(['uninstall', '--yes', '--state-dir', home], { env }),
      runAgentCommand(['uninstall', '--state-dir', state], { env }),
    ]);
    expect(refused.map(({ code }) => code)).toEqual([2, 2, 2]);
    expect(refused[2]?.stderr).toContain('say --yes');
    expect(readdirSync(home).sort()).toEqual(['photos', 'state']);
    const removed = await runAgentCommand(['uninstall', '--yes', '--state-dir', state], { env });
    expect(removed.code, removed.stderr).toBe(0);
    expect(removed.stdout).toContain(`removed ${state}`);
    expect(readdirSync(home)).toEqual(['photos']);
  });
});
