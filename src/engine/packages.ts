/**
 * Which engine packages are installed: the prebuilt llama.cpp libraries that npm put beside us, one directory each.
 *
 * A process loads the libraries of exactly one package, so the choice is made here, before anything is opened. It must
 * not know the C API nor open a library: this file only looks at directories.
 */
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { RingError } from '../core/errors.js';
import type { Backend } from '../core/types.js';

/** The exact version of every `@node-llama-cpp/*` package that the structs in llama.ts were written for. */
export const ENGINE_PACKAGE_VERSION = '3.21.1';

export interface EnginePackage {
  /** What the package adds to cpu; `cpu` when nothing. */
  readonly backend: Backend;
  /** npm name, e.g. `@node-llama-cpp/linux-x64`. */
  readonly name: string;
  /** Where the libraries are. */
  readonly directory: string;
  /** Further backends of the same build (CUDA keeps its own in a second package). */
  readonly extraDirectories: readonly string[];
}

export interface LibraryFiles {
  readonly base: string;
  readonly ggml: string;
  readonly llama: string;
}

interface Candidate {
  readonly backend: Backend;
  readonly suffix: string;
}

const SCOPE = '@node-llama-cpp';

/** Packages by `<platform>-<arch>` of Node; the plain one first. All hold the CPU libraries. */
const CANDIDATES: Readonly<Record<string, readonly Candidate[]>> = {
  'linux-x64': [
    { backend: 'cpu', suffix: 'linux-x64' },
    { backend: 'vulkan', suffix: 'linux-x64-vulkan' },
    { backend: 'cuda', suffix: 'linux-x64-cuda' },
  ],
  'linux-arm64': [{ backend: 'cpu', suffix: 'linux-arm64' }],
  'darwin-arm64': [{ backend: 'metal', suffix: 'mac-arm64-metal' }],
  'darwin-x64': [{ backend: 'cpu', suffix: 'mac-x64' }],
  'win32-x64': [
    { backend: 'cpu', suffix: 'win-x64' },
    { backend: 'vulkan', suffix: 'win-x64-vulkan' },
    { backend: 'cuda', suffix: 'win-x64-cuda' },
  ],
};

/** Installed packages that fit this machine, plain one first. Empty when none fits. */
export function listPackages(): readonly EnginePackage[] {
  const found: EnginePackage[] = [];
  for (const candidate of CANDIDATES[thisPlatform()] ?? []) {
    const directory = binariesDirectory(candidate.suffix, candidate.suffix);
    if (directory === null) continue;
    const extension = binariesDirectory(`${candidate.suffix}-ext`, candidate.suffix);
    found.push({
      backend: candidate.backend,
      name: `${SCOPE}/${candidate.suffix}`,
      directory,
      extraDirectories: extension === null ? [] : [extension],
    });
  }
  return found;
}

/**
 * The package for a backend. Absent = the plain one: the engine's own default. Throws `engine_missing` when nothing is
 * installed for this platform, `backend_missing` when the platform is fine but the backend's package is not there.
 */
export function choosePackage(backend?: Backend): EnginePackage {
  const packages = listPackages();
  const plain = packages[0];
  if (plain === undefined) throw engineMissing();
  if (backend === undefined || backend === 'cpu') return plain;
  const fitting = packages.find((entry) => entry.backend === backend);
  if (fitting !== undefined) return fitting;
  const here = packages.map((entry) => entry.name).join(', ');
  throw new RingError(
    'backend_missing',
    `backend ${backend} was asked for, but no installed engine package has it (installed: ${here}); ` +
      `install the package for ${backend} on ${thisPlatform()} or plan this stage on another backend`,
    { backend, platform: thisPlatform() },
  );
}

/** The three libraries that are opened by name; their names differ by package and platform. */
export function libraryFiles(enginePackage: EnginePackage): LibraryFiles {
  const names = readdirSync(enginePackage.directory);
  const pick = (what: string, pattern: RegExp): string => {
    const name = names.find((entry) => pattern.test(entry));
    if (name === undefined) {
      throw new RingError('engine_missing', `package ${enginePackage.name} holds no ${what} library in ${enginePackage.directory}; reinstall it with npm ci`);
    }
    return join(enginePackage.directory, name);
  };
  return {
    base: pick('ggml-base', /^(lib)?ggml-base\.(so|dylib|dll)$/),
    ggml: pick('ggml', /^(lib)?ggml(\.[a-z0-9]+)*?(\.v[0-9.]+)?\.(so|dylib|dll)$/),
    llama: pick('llama', /^(lib)?llama(\.[a-z0-9]+)*?(\.v[0-9.]+)?\.(so|dylib|dll)$/),
  };
}

function thisPlatform(): string {
  return `${process.platform}-${process.arch}`;
}

function binariesDirectory(packageSuffix: string, binarySuffix: string): string | null {
  const name = `${SCOPE}/${packageSuffix}`;
  for (const root of createRequire(import.meta.url).resolve.paths(name) ?? []) {
    const directory = join(root, name, 'bins', binarySuffix);
    if (existsSync(directory)) return directory;
  }
  return null;
}

function engineMissing(): RingError {
  const platform = thisPlatform();
  const fit = Object.keys(CANDIDATES).join(', ');
  const supported = Object.hasOwn(CANDIDATES, platform);
  return new RingError(
    'engine_missing',
    supported
      ? `the engine package for ${platform} is not installed; run npm install without --omit=optional (packages exist for ${fit})`
      : `no engine package exists for ${platform}; this program runs on ${fit}`,
    { platform },
  );
}
