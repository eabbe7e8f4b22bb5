/**
 * The agent as a service of its user: systemd's unit on Linux, launchd's agent on macOS. What is written and what is called,
 * as data: nothing here touches a disk or starts a process.
 */
import { join } from 'node:path';

const NAME = 'ring-agent';
/** Running answers may finish: longer than the agent's own patience. */
const STOP_SECONDS = 90;
const RESTART_SECONDS = 5;

export interface UserOfMachine {
  readonly home: string;
  readonly name: string;
  /** Absent on Windows. */
  readonly id: number;
  /** `XDG_CONFIG_HOME`; absent or empty = the usual place. */
  readonly configHome?: string | undefined;
}

export interface ServicePlan {
  readonly manager: 'systemd' | 'launchd';
  readonly file: string;
  readonly content: string;
  /** In this order. */
  readonly start: readonly (readonly string[])[];
  /** Before the file is removed. */
  readonly stop: readonly (readonly string[])[];
  /** After it is gone. */
  readonly forget: readonly (readonly string[])[];
  /** Succeeds while the service runs. */
  readonly isRunning: readonly string[];
  /** What a person may want to do next. */
  readonly hint: string;
}

/** Null where services are not made for them. `command` is the whole line, absolute paths in it. */
export function servicePlan(platform: NodeJS.Platform, user: UserOfMachine, command: readonly string[]): ServicePlan | null {
  switch (platform) {
    case 'linux': return systemd(user, command);
    case 'darwin': return launchd(user, command);
    default: return null;
  }
}

function systemd(user: UserOfMachine, command: readonly string[]): ServicePlan {
  const configHome = user.configHome === undefined || user.configHome === '' ? join(user.home, '.config') : user.configHome;
  const systemctl = (...words: string[]): string[] => ['systemctl', '--user', ...words];
  return {
    manager: 'systemd',
    file: join(configHome, 'systemd', 'user', `${NAME}.service`),
    content: `# Written by "agent service install"; "agent service remove" takes it away.
[Unit]
Description=Runs one large language model on the machines of this network

[Service]
Type=exec
ExecStart=${command.map(systemdWord).join(' ')}
Restart=on-failure
RestartSec=${RESTART_SECONDS}
KillMode=mixed
TimeoutStopSec=${STOP_SECONDS}

[Install]
WantedBy=default.target
`,
    start: [systemctl('daemon-reload'), systemctl('enable', `${NAME}.service`), systemctl('restart', `${NAME}.service`)],
    stop: [systemctl('disable', '--now', `${NAME}.service`)],
    forget: [systemctl('daemon-reload'), systemctl('reset-failed', `${NAME}.service`)],
    isRunning: systemctl('is-active', '--quiet', `${NAME}.service`),
    hint: `it runs while ${user.name} is logged in; to have it from the machine's start on: loginctl enable-linger ${user.name}`,
  };
}

/** One word of ExecStart: quoted, and without systemd's specifiers and variables. */
function systemdWord(word: string): string {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[A-Za-z0-9_@+=:,./%$-]+$/.test(plain) ? plain : `"${plain.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

function launchd(user: UserOfMachine, command: readonly string[]): ServicePlan {
  const file = join(user.home, 'Library', 'LaunchAgents', `${NAME}.plist`);
  const domain = `gui/${user.id}`;
  return {
    manager: 'launchd',
    file,
    content: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by "agent service install"; "agent service remove" takes it away. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${NAME}</string>
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    <string>${xml(word)}</string>`).join('\n')}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>${RESTART_SECONDS}</integer>
  <key>ExitTimeOut</key>
  <integer>${STOP_SECONDS}</integer>
</dict>
</plist>
`,
    start: [['launchctl', 'bootstrap', domain, file]],
    stop: [['launchctl', 'bootout', `${domain}/${NAME}`]],
    forget: [],
    isRunning: ['launchctl', 'print', `${domain}/${NAME}`],
    hint: 'it starts when you log in; macOS asks once whether it may find devices on your local network',
  };
}

function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
