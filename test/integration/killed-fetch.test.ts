/**
 * A transfer from a hub that is killed (SIGKILL) at many random moments: what is fetched in the end has no wrong byte, and no
 * byte of a tensor that was on disk at a kill is asked for again (what a connection has in its buffers at that moment is lost). `RING_TEST_KILLS=50` kills more often than a test run has time for.
 *
 * The moments follow a seed. A transfer that ends before all kills are spent is looked at, and another one begins.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import type { GgufHeader } from '../../src/model/gguf-reader.js';
import { Random } from '../sim/random.js';
import { HubServer } from '../support/hub-server.js';
import { writeRenamedBuiltInModel } from '../support/model-copy.js';
import { PACKAGE_ROOT } from '../support/package-root.js';
import { waitUntil } from '../support/processes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const KILLS = Number(process.env['RING_TEST_KILLS'] ?? 12);
const SEED = 20_261_129;
const REPOSITORY = 'tiny/Scripture-GGUF';
const FILE = 'scripture-Q8_0.gguf';
const NAME = `${REPOSITORY}/${FILE}`;
const CHUNK_BYTES = 32 * 1024;
const TRANSFER_MS = 60_000;
const LIBRARY = join(PACKAGE_ROOT, 'dist', 'src', 'model', 'model-library.js');

/** Of a whole file; a stage has the others. */
const PULL_KILLS = Math.max(3, Math.floor(KILLS / 4));

/** Says that it is there, waits for the directory on standard input, fetches the whole model as one stage or as a file. */
const FETCH = `
  const [, library, endpoint, reference, what] = process.argv;
  const { openModelLibrary } = await import(library);
  console.log('ready');
  process.stdin.setEncoding('utf8').once('data', async (line) => {
    const models = await openModelLibrary({ stateDirectory: line.trim(), modelPaths: [], builtIn: false, log: null, hub: { endpoint, token: null, stallMs: 10_000, backoffMs: 20 } });
    if (what === 'pull') {
      console.log((await models.upkeep(() => []).pull(reference, new AbortController().signal)).path);
      process.exit(0);
    }
    const model = await models.resolve(reference);
    const nobody = () => Promise.reject(new Error('no peer'));
    const files = await models.stageFiles(
      { model, range: { start: 0, end: model.layers }, head: true, tail: true, signal: new AbortController().signal, onProgress: () => {} },
      { header: nobody, tensor: nobody });
    console.log(files.stageFile);
    process.exit(0);
  });
`;

let hub: HubServer;
let whole: GgufHeader;
let bytes: Uint8Array;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  const path = join(temporaryDirectory('killed-source'), FILE);
  writeRenamedBuiltInModel(path);
  whole = await readGgufHeader(path);
  bytes = readFileSync(path);
  hub = await HubServer.start();
  hub.add(REPOSITORY, FILE, bytes);
  Object.assign(hub, { chunkBytes: CHUNK_BYTES, chunkDelayMs: 3 });
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await hub.stop();
});

/** A process that is about to fetch; its start takes longer than most fetches, so it is made ahead of time. */
class Fetcher {
  private readonly child: ChildProcess;
  private output = '';
  readonly ended: Promise<number | null>;

  constructor(what: 'stage' | 'pull' = 'stage') {
    const child = spawn(process.execPath, ['--input-type=module', '-e', FETCH, LIBRARY, hub.url, `hf:${REPOSITORY}`, what], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.child = child;
    children.add(child);
    child.stdout?.on('data', (data: Buffer) => {
      this.output += data.toString();
    });
    this.ended = new Promise((resolve) => child.once('exit', (code) => {
      children.delete(child);
      resolve(code);
    }));
  }

  get isOver(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  get file(): string {
    return this.output.split('\n')[1] ?? '';
  }

  async begin(stateDirectory: string): Promise<void> {
    await waitUntil(() => this.output.includes('ready') || this.isOver, { timeoutMs: TRANSFER_MS, pollMs: 5, what: 'a process that can fetch' });
    this.child.stdin?.write(`${stateDirectory}\n`);
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}

describe('a fetch that is killed again and again', () => {
  it(`never ends in a wrong byte and never begins anew, over ${KILLS} kills`, async () => {
    const random = new Random(SEED);
    let next = new Fetcher();
    let kills = 0;
    let killsOfThis = 0;
    let transfers = 0;
    let given = 0;
    let most = 0;
    let stateDirectory = temporaryDirectory('killed');
    hub.forgetCounts();
    while (kills < KILLS || killsOfThis > 0) {
      const fetcher = next;
      next = new Fetcher();
      const before = hub.bytesGiven();
      // Also before the first byte, and after the last one.
      const enough = kills < KILLS ? random.between(0, Math.floor(bytes.length * 0.4)) : Infinity;
      const had = Uint8Array.from(hub.given.get(NAME) ?? []);
      const finished = finishedIn(stateDirectory);
      await fetcher.begin(stateDirectory);
      await waitUntil(() => fetcher.isOver || hub.bytesGiven() - before >= enough, { timeoutMs: TRANSFER_MS, pollMs: 2, what: 'some bytes or the end', detail: () => `seed ${SEED}, ${kills} kills` });
      const killed = !fetcher.isOver;
      if (killed) await fetcher.kill();
      expect(givenAgain(finished, had), `seed ${SEED}: after ${kills} kills`).toBe(0);
      most = Math.max(most, finished.size);
      if (killed) {
        kills += 1;
        killsOfThis += 1;
        continue;
      }
      expect(await fetcher.ended, `seed ${SEED}`).toBe(0);
      await expectExact(fetcher.file);
      transfers += 1;
      given += hub.bytesGiven();
      killsOfThis = 0;
      hub.forgetCounts();
      stateDirectory = temporaryDirectory('killed');
    }
    await next.kill();
    expect(kills).toBe(KILLS);
    expect(transfers).toBeGreaterThan(0);
    // Some went on from the middle, not all from the start.
    expect(most).toBeGreaterThan(1);
    console.log(`${kills} kills over ${transfers} transfers of ${bytes.length} bytes: ${given} bytes given, ${(given / (transfers * bytes.length)).toFixed(2)} of what was needed`);
  }, KILLS * 20_000);
});

describe('a pull that is killed again and again', () => {
  it(`ends in the file to the byte, and asks for nothing that was on disk, over ${PULL_KILLS} kills`, async () => {
    const random = new Random(SEED + 1);
    const stateDirectory = temporaryDirectory('killed-pull');
    hub.forgetCounts();
    let next = new Fetcher('pull');
    for (let kills = 0; ; ) {
      const fetcher = next;
      next = new Fetcher('pull');
      const there = partialBytes(stateDirectory);
      hub.asked.length = 0;
      const before = hub.bytesGiven();
      const enough = kills < PULL_KILLS ? random.between(1, Math.floor(bytes.length / (2 * PULL_KILLS))) : Infinity;
      await fetcher.begin(stateDirectory);
      await waitUntil(() => fetcher.isOver || hub.bytesGiven() - before >= enough, { timeoutMs: TRANSFER_MS, pollMs: 2, what: 'some bytes or the end', detail: () => `seed ${SEED}, ${kills} kills` });
      const over = fetcher.isOver;
      if (!over) await fetcher.kill();
      // What is read first is the header, until it is known.
      if (there > 0) for (const { start } of hub.asked) expect(start, `seed ${SEED}: after ${kills} kills`).toBeGreaterThanOrEqual(there);
      if (over) {
        expect(await fetcher.ended, `seed ${SEED}`).toBe(0);
        expect(Buffer.compare(readFileSync(fetcher.file), bytes)).toBe(0);
        expect(kills).toBe(PULL_KILLS);
        break;
      }
      kills += 1;
    }
    await next.kill();
  }, PULL_KILLS * 30_000);
});

/** Of the file that is being fetched whole. */
function partialBytes(stateDirectory: string): number {
  const directory = join(stateDirectory, 'models', '.partial');
  return existsSync(directory) ? readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0) : 0;
}

/** Tensors that the journals in this directory call whole. */
function finishedIn(stateDirectory: string): ReadonlySet<string> {
  const journals = readdirSync(stateDirectory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.journal'));
  const lines = journals.flatMap((name) => readFileSync(join(stateDirectory, name), 'utf8').split('\n'));
  return new Set(lines.flatMap((line) => {
    const match = /^\{"kind":"done","key":"([^"]+)",.*\}$/.exec(line);
    return match?.[1] === undefined ? [] : [match[1]];
  }));
}

/** Bytes of these tensors that were given since. */
function givenAgain(names: ReadonlySet<string>, had: Uint8Array): number {
  const now = hub.given.get(NAME) ?? new Uint8Array();
  let again = 0;
  for (const { name, offset, sizeBytes } of whole.tensors) {
    if (!names.has(name)) continue;
    for (let at = offset; at < offset + sizeBytes; at += 1) again += (now[at] ?? 0) - (had[at] ?? 0);
  }
  return again;
}

async function expectExact(stageFile: string): Promise<void> {
  const made = readFileSync(stageFile);
  const header = await readGgufHeader(stageFile);
  expect(header.tensors).toHaveLength(whole.tensors.length);
  for (const tensor of header.tensors) {
    const offset = whole.byName.get(tensor.name)?.offset ?? 0;
    expect(Buffer.compare(made.subarray(tensor.offset, tensor.offset + tensor.sizeBytes), bytes.subarray(offset, offset + tensor.sizeBytes)), tensor.name).toBe(0);
  }
}
