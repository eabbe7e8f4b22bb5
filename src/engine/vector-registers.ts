/**
 * Cleans the upper halves of the vector registers after the engine has computed.
 *
 * On x86 the engine's kernels may return with them in use (seen with AVX-512 kernels on a Xeon). From then on
 * every instruction of the older SSE encoding waits for them, in all of the thread's code: exp in libm, libllama's
 * sampler and Node's own libraries took eight times as long (5.9 ms instead of 0.7 ms for a softmax of 32,000). The
 * remedy is the instruction `vzeroupper`, which no library offers as a function, so it is made here: two
 * instructions in a page of their own, written first and executable afterwards, never both.
 *
 * Elsewhere, on processors without AVX, or where the system forbids such a page, this does nothing.
 */
import { readFileSync } from 'node:fs';
import koffi from 'koffi';

/** vzeroupper; ret */
const CODE = [0xc5, 0xf8, 0x77, 0xc3];
const PAGE_BYTES = 4_096;
const PROT_READ_WRITE = 0x1 | 0x2;
const PROT_READ_EXECUTE = 0x1 | 0x4;
const MAP_PRIVATE_ANONYMOUS = 0x02 | 0x20;

let clean: (() => void) | null = null;

/** To be called on the thread that computed, after it did. Costs less than a microsecond. */
export function cleanVectorRegisters(): void {
  clean ??= makeFunction();
  clean();
}

function makeFunction(): () => void {
  const nothing = (): void => undefined;
  if (process.platform !== 'linux' || process.arch !== 'x64' || !hasAvx()) return nothing;
  try {
    const system = koffi.load(null);
    const map: unknown = system.func('void *mmap(void *, size_t, int, int, int, long)')(null, PAGE_BYTES, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
    if (typeof map !== 'bigint' || map === 0xffff_ffff_ffff_ffffn) return nothing;
    koffi.encode(map, koffi.array('uint8', CODE.length), CODE);
    const protectedNow: unknown = system.func('int mprotect(void *, size_t, int)')(map, PAGE_BYTES, PROT_READ_EXECUTE);
    if (protectedNow !== 0) return nothing;
    const call: unknown = koffi.decode(map, koffi.proto('void ring_vzeroupper()'));
    return typeof call === 'function' ? () => void call() : nothing;
  } catch {
    // A system that forbids it: slower, but right.
    return nothing;
  }
}

function hasAvx(): boolean {
  try {
    return /^flags\s*:.*\bavx\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
  } catch {
    return false;
  }
}
