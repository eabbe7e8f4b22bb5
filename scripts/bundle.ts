/**
 * Part of `npm run build`: what people run, `dist/program`, from the modules in `dist`. Agent and runner with everything
 * that they import, but for what is not JavaScript, in the package's own layout: a few large files load in half the time
 * of some thousand small ones.
 */
import { chmodSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { AGENT_PROGRAM, RUNNER_PROGRAM } from './binary/payload.js';

const BUILT = fileURLToPath(new URL('../', import.meta.url));
const SOURCES = join(BUILT, '..', 'src');
const PROGRAM = join(BUILT, 'program');

// Generated JavaScript is none of the compiler's business.
cpSync(join(SOURCES, 'wire', 'gen'), join(BUILT, 'src', 'wire', 'gen'), { recursive: true });
rmSync(PROGRAM, { recursive: true, force: true });
const bundle = await rolldown({
  input: Object.fromEntries([AGENT_PROGRAM, RUNNER_PROGRAM].map((program) => [program.replace(/\.js$/, ''), join(BUILT, program)])),
  platform: 'node',
  external: ['koffi'],
  logLevel: 'warn',
});
// Files of the package are found relative to the modules that read them: chunks lie as deep as those.
await bundle.write({ dir: PROGRAM, format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'src/parts/[name]-[hash].js' });
await bundle.close();
chmodSync(join(PROGRAM, AGENT_PROGRAM), 0o755);
cpSync(join(SOURCES, 'dashboard'), join(PROGRAM, 'src', 'dashboard'), { recursive: true });
