/**
 * `npm run screenshots`: the README's pictures of the dashboard, from a real run. Three agents on this machine load the
 * built-in model onto all three and answer; the page is photographed while the answer streams, light and dark.
 *
 * As root on Linux each agent has a host name of its own, as machines have; elsewhere all three have this machine's.
 * Needs Chromium. Leaves nothing behind but the pictures.
 */
import '../src/net/polyfill.js';
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import type { Page } from 'playwright-core';
import type { ClusterStatus } from '../src/agent/service.js';
import { AgentClient } from '../src/cli/agent-client.js';
import { findRunningAgent } from '../src/cli/state-directory.js';

const NAMES = ['studio', 'workstation', 'old-thinkpad'] as const;
const MODEL = 'kjv-q8_0';
const QUESTIONS = ['And it came to pass', 'In the beginning'] as const;
/** Of the answer, before the picture is taken. */
const CHARACTERS = 420;
const MOST_TOKENS = 400;
const SIZE = { width: 1280, height: 648 } as const;
const MAX_BYTES = 200_000;
const DEADLINE_MS = 120_000;
const STOP_DEADLINE_MS = 15_000;
const POLL_MS = 100;
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));

const SECRET = 'secret';

const program = fileURLToPath(new URL('../program/src/cli/main.js', import.meta.url));
const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface PictureAgent {
  readonly child: ChildProcess;
  readonly stateDir: string;
  readonly ended: Promise<unknown>;
}

function startAgent(name: string, directory: string): PictureAgent {
  const stateDir = join(directory, name);
  const line = [process.execPath, program, 'start', '--state-dir', stateDir, '--cluster', 'home', '--secret-file', join(directory, SECRET), '--api-port', '0', '--threads', '1', '--slots', '2', '--log-level', 'error'];
  const ownName = process.platform === 'linux' && process.getuid?.() === 0;
  const [command = '', ...args] = ownName ? ['unshare', '--uts', 'sh', '-c', 'hostname "$0" && exec "$@"', name, ...line] : line;
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  return { child, stateDir, ended: new Promise((resolve) => child.once('close', resolve)) };
}

async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${DEADLINE_MS / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function ask(page: Page, question: string): Promise<void> {
  await page.locator('#chat-text').fill(question);
  await page.locator('#chat-send').click();
}

async function photograph(address: string, pictures: string): Promise<void> {
  if (CHROMIUM === undefined) throw new Error('no Chromium: install it (apt-get install chromium)');
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await (await browser.newContext({ viewport: SIZE, colorScheme: 'light' })).newPage();
    page.setDefaultTimeout(DEADLINE_MS);
    await page.goto(address);
    await page.getByRole('img', { name: `Ring of ${MODEL}, active` }).waitFor();
    await page.locator('#chat-tokens').evaluate((field, most) => Object.assign(field, { value: String(most) }), MOST_TOKENS);
    // The first answer alone gives the ring its measured speed.
    const [first, second] = QUESTIONS;
    await ask(page, first);
    await page.locator('.ring').getByText(/tok\/s alone/).waitFor();
    await page.locator('#chat-send').waitFor();
    await page.locator('#chat-clear').click();
    await ask(page, second);
    await until('an answer', async () => ((await page.locator('.bubble.assistant .said').innerText()).length > CHARACTERS ? true : null));
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const path = join(pictures, `dashboard-${colorScheme}.png`);
      await page.screenshot({ path });
      const { size } = await stat(path);
      say(`${path}: ${Math.round(size / 1000)} kB`);
      if (size > MAX_BYTES) throw new Error(`a picture of the README has at most ${MAX_BYTES / 1000} kB`);
    }
  } finally {
    await browser.close();
  }
}

async function main(): Promise<void> {
  const pictures = fileURLToPath(new URL('../../docs/images/', import.meta.url));
  await mkdir(pictures, { recursive: true });
  const directory = await mkdtemp(join(tmpdir(), 'ring-agent-pictures-'));
  // Other agents of this network may be of a cluster of this name.
  await writeFile(join(directory, SECRET), execFileSync(process.execPath, [program, 'secret']), { mode: 0o600 });
  const agents = NAMES.map((name) => startAgent(name, directory));
  try {
    const [first] = agents;
    if (first === undefined) throw new Error('no agent');
    const running = await until('an agent starts', () => findRunningAgent(first.stateDir));
    const client = await AgentClient.open(running);
    await until('the agents find each other', async () => {
      const status = await client.get('/v1/cluster') as ClusterStatus;
      return status.coordinator !== null && status.nodes.length === NAMES.length ? true : null;
    });
    await client.post('/v1/cluster/load', { model: MODEL, nodes: NAMES.length }, AbortSignal.timeout(DEADLINE_MS));
    await photograph(running.apiUrl, pictures);
  } finally {
    for (const agent of agents) agent.child.kill('SIGTERM');
    const timer = setTimeout(() => agents.forEach((agent) => agent.child.kill('SIGKILL')), STOP_DEADLINE_MS);
    await Promise.all(agents.map((agent) => agent.ended));
    clearTimeout(timer);
    await rm(directory, { recursive: true, force: true });
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`screenshots: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
