/**
 * A real sshd on loopback with its own port, keys and configuration in a temporary directory, whose logins print banners,
 * and an `ssh` that finds it by alias. Nothing of the machine's own ssh is read or written.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.js';
import { TestChild, waitUntil } from './processes.js';
import { temporaryDirectory } from './temporary-directory.js';

const SSHD = '/usr/sbin/sshd';
const MAIN = fileURLToPath(new URL('../../dist/program/src/cli/main.js', import.meta.url));

/** An agent started in a directory of this name dies with these words. */
export const DEADLY_DIRECTORY = 'dies here';
export const LAST_WORDS = 'the disk is on fire';

export function sshAvailable(): { readonly ok: true } | { readonly ok: false; readonly reason: string } {
  if (!existsSync(SSHD)) return { ok: false, reason: 'no sshd on this machine: install openssh-server' };
  return userInfo().uid === 0 ? { ok: true } : { ok: false, reason: 'sshd needs root for its own directory' };
}

export class SshServer {
  private constructor(private readonly child: TestChild, /** Has the aliases `far`, `refusing`. */ readonly path: string) {}

  static async start(): Promise<SshServer> {
    const directory = temporaryDirectory('ssh');
    const file = (name: string, text: string, mode = 0o600): string => {
      const path = join(directory, name);
      writeFileSync(path, text);
      chmodSync(path, mode);
      return path;
    };
    for (const key of ['host', 'user']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, key)]);
    mkdirSync('/run/sshd', { recursive: true });
    const port = await freePort();
    const bin = join(directory, 'bin');
    mkdirSync(bin);
    const program = `"${process.execPath}" --no-warnings "${MAIN}"`;
    file('bin/agent', `#!/bin/sh\ncase "$*" in start*"${DEADLY_DIRECTORY}"*) echo "${LAST_WORDS}" >&2; exit 3;; esac\nexec ${program} "$@"\n`, 0o755);
    file('bin/ssh', `#!/bin/sh\nexec /usr/bin/ssh -F "${directory}/client" "$@"\n`, 0o755);
    const banner = file('banner', 'Authorised people only.\n');
    // What a login prints on standard output, as many a ~/.bashrc does.
    const login = file('login', '#!/bin/sh\necho "{ Welcome to this machine }"\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n', 0o755);
    const configuration = file('server', [
      `Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${join(directory, 'host')}`, `AuthorizedKeysFile ${join(directory, 'user.pub')}`,
      'PidFile none', 'StrictModes no', 'UsePAM no', 'PasswordAuthentication no', 'PermitRootLogin yes', `Banner ${banner}`, `ForceCommand ${login}`,
      `SetEnv PATH=${bin}:${process.env['PATH'] ?? ''}`, 'LogLevel ERROR', '',
    ].join('\n'));
    file('client', [
      'Host far', `  Port ${port}`, 'Host refusing', `  Port ${await freePort()}`, 'Host *', '  HostName 127.0.0.1', `  User ${userInfo().username}`,
      `  IdentityFile ${join(directory, 'user')}`, '  IdentitiesOnly yes', '  StrictHostKeyChecking no', `  UserKnownHostsFile ${join(directory, 'known')}`, '',
    ].join('\n'));
    const child = new TestChild(SSHD, ['-D', '-e', '-f', configuration]);
    await waitUntil(() => listens(port), { timeoutMs: 10_000, what: 'sshd to listen', detail: () => child.describe() });
    return new SshServer(child, `${bin}:${process.env['PATH'] ?? ''}`);
  }

  async stop(): Promise<void> {
    await this.child.reap();
  }
}

function listens(port: number): boolean {
  try {
    execFileSync(process.execPath, ['-e', `require('node:net').connect(${port},'127.0.0.1').on('connect',()=>process.exit(0)).on('error',()=>process.exit(1))`]);
    return true;
  } catch {
    // Not yet; the deadline says when that is too long.
    return false;
  }
}

/** Processes whose command line names `text`. */
export function processesNaming(text: string): readonly number[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      return pid !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      // It ended while we looked.
      return false;
    }
  });
}
