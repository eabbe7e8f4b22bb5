/**
 * `npm run build:binary`: one executable for this platform, with Node.js, the agent, the engine and the built-in model in
 * it. Node's own way of single executables (SEA): this Node's program, with a bootstrap and files put into it.
 *
 * It must run after `npm run build`, on the platform that the executable is for.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { listPackages } from '../../src/engine/packages.js';
import { AGENT_VERSION } from '../../src/version.js';
import { NOTICES_FILE, thirdPartyNotices } from '../notices.js';
import { digestOf, IMPORTER, MANIFEST_ASSET } from './payload.js';
import type { Manifest, PayloadFile } from './payload.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BUILT = join(ROOT, 'dist');
const WORK = join(BUILT, 'binary-parts');
const TARGET = join(BUILT, 'binary');
/** What Node looks for to learn that it is a single executable. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/** Of the engine packages: for other programs than this one. */
const NOT_NEEDED = /^(llama-addon\.node|(lib)?llama-common\..*|_nlc.*)$/;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** A source of the payload: a file on this disk and its path inside. */
interface Source {
  readonly from: string;
  readonly path: string;
}

/** The program that `npm run build` made, as a package of its own. */
function copyProgram(app: string): void {
  cpSync(join(BUILT, 'program'), app, { recursive: true });
  writeFileSync(join(app, 'package.json'), `${JSON.stringify({ name: 'ring-agent', version: AGENT_VERSION, type: 'module' })}\n`);
  writeFileSync(join(app, IMPORTER), 'module.exports = (address) => import(address);\n');
}

function filesBelow(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** The koffi package without its sources and other platforms' builds. */
function koffiSources(): readonly Source[] {
  const require = createRequire(import.meta.url);
  const package_ = join(ROOT, 'node_modules', 'koffi');
  const platform = `${process.platform}-${process.arch}`;
  const native = join(ROOT, 'node_modules', '@koromix', `koffi-${platform}`);
  if (!existsSync(native)) throw new Error(`koffi has no build for ${platform} here (${native}): run npm ci`);
  const binary = join(`${process.platform}_${process.arch}`, 'koffi.node');
  require(join(native, binary));
  return [
    ...filesBelow(package_).filter((file) => /\.(js|cjs)$|package\.json$|LICENSE/.test(file) && !/[/\\](vendor|doc|cnoke)/.test(relative(package_, file))),
    join(native, 'package.json'), join(native, 'index.js'), join(native, binary),
  ].map((from) => ({ from, path: relative(ROOT, from) }));
}

function engineSources(only: string | undefined): readonly Source[] {
  const packages = listPackages().filter((entry) => only === undefined || only.split(',').includes(entry.backend));
  if (packages.length === 0) throw new Error(`no engine package for ${process.platform}-${process.arch} is installed here: run npm ci`);
  say(`engines: ${packages.map((entry) => entry.name).join(', ')}`);
  return packages.flatMap((entry) => [entry.directory, ...entry.extraDirectories])
    .flatMap((directory) => filesBelow(directory).filter((file) => !NOT_NEEDED.test(relative(directory, file))))
    .map((from) => ({ from, path: relative(ROOT, from) }));
}

/** Contents go beside each other, named by their digest; the list says where they belong. */
function pack(sources: readonly Source[], assets: string): { readonly manifest: Manifest; readonly unpackedBytes: number } {
  const files: PayloadFile[] = [];
  for (const { from, path } of sources) {
    const content = readFileSync(from);
    const digest = digestOf(content);
    if (!existsSync(join(assets, digest))) writeFileSync(join(assets, digest), gzipSync(content, { level: 9 }));
    files.push({ path: path.split(sep).join('/'), digest, bytes: content.length });
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { manifest: { version: AGENT_VERSION, files }, unpackedBytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}

function run(program: string, line: readonly string[]): void {
  execFileSync(program, line, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Node's licence comes with it; where it lies differs. */
function nodeLicence(): string {
  const beside = join(process.execPath, '..', '..');
  const found = [join(beside, 'LICENSE'), join(beside, 'share', 'doc', 'nodejs', 'LICENSE'), join(beside, '..', 'LICENSE'), join(process.execPath, '..', 'LICENSE')].find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the licence of Node.js is not beside ${process.execPath}: build with an installation of Node.js that has its LICENSE file`);
  return readFileSync(found, 'utf8');
}

async function inject(blob: string, target: string): Promise<void> {
  copyFileSync(process.execPath, target);
  chmodSync(target, 0o755);
  if (!readFileSync(target).includes(FUSE)) throw new Error(`${process.execPath} cannot become a single executable (it may be linked against a shared libnode): build with a Node.js of its makers`);
  // A changed program needs another signature.
  if (process.platform === 'darwin') run('codesign', ['--remove-signature', target]);
  run(process.execPath, [
    join(ROOT, 'node_modules', 'postject', 'dist', 'cli.js'), target, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE,
    ...process.platform === 'darwin' ? ['--macho-segment-name', 'NODE_SEA'] : [],
  ]);
  if (process.platform === 'darwin') run('codesign', ['--sign', '-', target]);
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { engines: { type: 'string' } } });
  for (const directory of [WORK, TARGET]) rmSync(directory, { recursive: true, force: true });
  const app = join(WORK, 'app');
  const assets = join(WORK, 'assets');
  for (const directory of [app, assets, TARGET]) mkdirSync(directory, { recursive: true });
  copyProgram(app);
  cpSync(join(ROOT, 'models'), join(app, 'models'), { recursive: true });
  copyFileSync(join(ROOT, 'LICENSE'), join(app, 'LICENSE'));
  const notices = `${thirdPartyNotices(ROOT)}\n${'='.repeat(80)}\nNode.js ${process.version}\n\n${nodeLicence()}`;
  for (const directory of [app, TARGET]) writeFileSync(join(directory, NOTICES_FILE), notices);

  const sources = [...filesBelow(app).map((from) => ({ from, path: relative(app, from) })), ...koffiSources(), ...engineSources(values.engines)];
  const { manifest, unpackedBytes } = pack(sources, assets);
  writeFileSync(join(WORK, MANIFEST_ASSET), JSON.stringify(manifest));

  const bootstrap = await rolldown({ input: join(BUILT, 'scripts', 'binary', 'bootstrap.js'), platform: 'node' });
  await bootstrap.write({ file: join(WORK, 'bootstrap.cjs'), format: 'cjs' });
  await bootstrap.close();
  const blob = join(WORK, 'blob');
  writeFileSync(join(WORK, 'sea.json'), JSON.stringify({
    main: join(WORK, 'bootstrap.cjs'),
    output: blob,
    disableExperimentalSEAWarning: true,
    assets: { [MANIFEST_ASSET]: join(WORK, MANIFEST_ASSET), ...Object.fromEntries(readdirSync(assets).map((digest) => [digest, join(assets, digest)])) },
  }));
  run(process.execPath, ['--experimental-sea-config', join(WORK, 'sea.json')]);
  const target = join(TARGET, process.platform === 'win32' ? 'agent.exe' : 'agent');
  await inject(blob, target);
  rmSync(WORK, { recursive: true, force: true });
  say(`${relative(ROOT, target)}: ${megabytes(statSync(target).size)} for ${process.platform}-${process.arch}, ${manifest.files.length} files that unpack to ${megabytes(unpackedBytes)}`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

await main();
