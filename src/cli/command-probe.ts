/**
 * `agent probe`: what this machine has, looked at now. With `--json` one line that begins with `{`, so that it is found
 * after whatever a login prints (cli/remote-agents.ts).
 */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { bytesText } from '../core/quantities.js';
import { ENGINE_PACKAGE_VERSION, listPackages } from '../engine/packages.js';
import { computeCores } from '../process/compute-cores.js';
import { createMachine } from '../process/machine.js';
import { createRunnerLauncher } from '../process/runner-process.js';
import { AGENT_VERSION, PROTOCOL_MAX, PROTOCOL_MIN } from '../version.js';
import { createLog } from './log.js';

/** `directory` need not be there yet: the disk that it would be on counts. */
export async function probeCommand(directory: string, json: boolean): Promise<void> {
  const log = createLog('warn');
  const machine = await createMachine({
    agentVersion: AGENT_VERSION,
    protocolMin: PROTOCOL_MIN,
    protocolMax: PROTOCOL_MAX,
    ramLimitBytes: null,
    packages: listPackages().map((installed) => installed.backend),
    stateDirectory: existingParent(resolve(directory)),
    engineVersion: ENGINE_PACKAGE_VERSION,
    threads: await computeCores(),
    devicePreference: [],
    deviceLimitBytes: null,
  }, createRunnerLauncher(log), log);
  const found = await machine.capabilities(0);
  if (json) {
    process.stdout.write(`${JSON.stringify(found)}\n`);
    return;
  }
  process.stdout.write([
    `${found.hostname}: ${found.os} ${found.arch}, ${found.cores} cores, ring-agent ${found.agentVersion}`,
    `memory: ${bytesText(found.ramAvailableBytes)} available of ${bytesText(found.ramTotalBytes)}`,
    `disk: ${bytesText(found.diskFreeBytes)} free`,
    ...found.devices.map((device) => `device ${device.backend}: ${device.name} (${device.description}), ${bytesText(device.memoryFreeBytes)} free of ${bytesText(device.memoryTotalBytes)}${device.unified ? ', shared with the host' : ''}`),
    '',
  ].join('\n'));
}

function existingParent(directory: string): string {
  let found = directory;
  while (!existsSync(found) && dirname(found) !== found) found = dirname(found);
  return found;
}
