import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    reporters: ['default', './test/support/closing-reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The engine uses real processes; two cores are the smallest machine we test on.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: { name: 'host', include: ['test/**/*.test.ts'], exclude: ['test/lan/**'], sequence: { groupOrder: 0 } },
      },
      {
        // Agents that must find each other within seconds have the machine to themselves.
        extends: true,
        test: { name: 'lan', include: ['test/lan/**/*.test.ts'], fileParallelism: false, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
