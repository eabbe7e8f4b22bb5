/**
 * The last line of a test run: `N passed, N failed`, and `, N skipped` when there are any. A person or a script reads
 * the outcome there without knowing vitest. With CI set, a skipped test fails the run: what was skipped was not shown.
 *
 * It counts and prints; it must not know what any test is about.
 */
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export interface RunCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The closing line of a run. */
export function closingLine(counts: RunCounts): string {
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
  return `${counts.passed} passed, ${counts.failed} failed${skipped}`;
}

/** Counts tests; a file that could not be loaded, a failed hook and an unhandled error count as one failure each. */
export function countRun(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): RunCounts {
  let passed = 0;
  let failed = unhandledErrors.length;
  let skipped = 0;
  for (const module of modules) {
    let failedHere = 0;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') passed += 1;
      else if (state === 'failed') failedHere += 1;
      else skipped += 1;
    }
    if (failedHere === 0 && module.state() === 'failed') failedHere = 1;
    failed += failedHere;
  }
  return { passed, failed, skipped };
}

export default class ClosingReporter implements Reporter {
  private counts: RunCounts = { passed: 0, failed: 0, skipped: 0 };
  private ended = false;

  constructor() {
    // Other reporters and vitest itself still print after the run's end; the process's end is the last chance.
    process.once('exit', () => this.close());
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    this.counts = countRun(modules, unhandledErrors);
    this.ended = true;
  }

  private close(): void {
    if (!this.ended) return;
    const ci = process.env['CI'] ?? '';
    if (this.counts.skipped > 0 && ci !== '' && ci !== 'false') {
      process.stdout.write(`\n${this.counts.skipped} skipped with CI set: a skipped test shows nothing, so the run fails\n`);
      if (process.exitCode === undefined || Number(process.exitCode) === 0) process.exitCode = 1;
    }
    process.stdout.write(`${closingLine(this.counts)}\n`);
  }
}
