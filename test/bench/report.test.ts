/** The bench's figures: medians and ratios within rounds, one aligned table, a sentence for each promise. */
import { describe, expect, it } from 'vitest';
import { reportLines } from '../../scripts/bench/report.js';
import type { BenchResult } from '../../scripts/bench/report.js';
import type { RingSample } from '../../scripts/bench/ring.js';
import { readSettings } from '../../scripts/bench/settings.js';
import { ratios, spreadOf } from '../../scripts/bench/statistics.js';

function ringSample(decodeTokensPerSecond: number, stages: number): RingSample {
  return {
    decodeTokensPerSecond, predictedTokensPerSecond: stages === 1 ? null : 18.04, prefillTokensPerSecond: 100, firstTokenMs: 150,
    hops: { overheadMicros: 800, computeMicros: 50_000, samples: 60 },
    wireBytesPerToken: stages === 1 ? null : 8_400.4,
    stages: Array.from({ length: stages }, (_, rank) => ({
      rank, layers: `${rank}-${rank}`, predictedBytes: 220e6, reportedBytes: 201e6, residentBytes: rank === 0 ? 210e6 : 180e6,
    })),
  };
}

const RESULT: BenchResult = {
  model: 'bench', threads: 1, cores: 2, rounds: 2, loadAverageAtStart: 0.1,
  floor: [20, 22].map((decodeTokensPerSecond) => ({ decodeTokensPerSecond, prefillTokensPerSecond: 125, firstTokenMs: 140, residentBytes: 640e6 })),
  rings: [{ agents: 1, samples: [ringSample(19.5, 1), ringSample(21.5, 1)] }, { agents: 3, samples: [ringSample(16, 3), ringSample(17, 3)] }],
  slots: [{ slots: [0, 1], tokensPerSecond: 40, engineCallsPerStep: 1 }],
  caches: [{ policy: 'none', tokenMs: 520, predictedBytes: 700e6, residentBytes: 690e6, tokens: [1, 2] }, { policy: 'device', tokenMs: 50, predictedBytes: 900e6, residentBytes: 1_010e6, tokens: [1, 3] }],
};

describe('the bench report', () => {
  it('is one aligned table with what was promised under it', () => {
    expect(reportLines(RESULT).join('\n')).toMatchInlineSnapshot(`
      "bench; 1 thread(s) a runner on 2 cores; medians of 2 round(s), the spread behind; load 0.10 at the start

                     decode tok/s  predicted  of floor        prefill tok/s  of floor  first token ms  a step ms  overhead µs/hop  wire B/token
      floor      21.0 (20.0-22.0)                       125.0 (125.0-125.0)             140 (140-140)      47.62
      ring of 1  20.5 (19.5-21.5)          -     0.976  100.0 (100.0-100.0)     0.800   150 (150-150)      48.78              800             -
      ring of 3  16.5 (16.0-17.0)       18.0     0.786  100.0 (100.0-100.0)     0.800   150 (150-150)      60.61              800          8400

      memory     stage  layers  predicted MB  resident MB  predicted/resident  agent says MB
      floor                                           640
      ring of 1      0     0-0           220          210               1.048            201
      ring of 3      0     0-0           220          210               1.048            201
      ring of 3      1     1-1           220          180               1.222            201
      ring of 3      2     2-2           220          180               1.222            201

      slots of a batch  tok/s  engine calls a step
      0,1                40.0                 1.00

      kv_cache  a token ms  predicted MB  resident MB  predicted/resident
      none           520.0           700          690               1.014
      device          50.0           900         1010               0.891

      met    decode of a ring of 1: 0.976 of the floor (at least 0.95)
      MISSED decode of a ring of 3: 0.786 of the floor (at least 0.85)
      met    memory of stage 0 of 1: predicted 4.8 % off (within 10 %)
      met    memory of stage 0 of 3: predicted 4.8 % off (within 10 %)
      MISSED memory of stage 1 of 3: predicted 22.2 % off (within 10 %)
      MISSED memory of stage 2 of 3: predicted 22.2 % off (within 10 %)
      met    tokens with kv_cache none: the same (with each policy the same)
      met    memory with kv_cache none: -1.4 % from the plan's (at most 10 % above)
      MISSED tokens with kv_cache device: others (with each policy the same)
      MISSED memory with kv_cache device: 12.2 % from the plan's (at most 10 % above)"
    `);
  });

  it('takes the median, and ratios round by round', () => {
    expect(spreadOf([3, 1, 2])).toMatchObject({ median: 2, min: 1, max: 3 });
    expect(spreadOf([4, 1]).median).toBe(2.5);
    expect(ratios([10, 30], [20, 20])).toEqual([0.5, 1.5]);
    expect(() => spreadOf([])).toThrow('no samples');
  });
});

describe('the bench settings', () => {
  it('have defaults and room for the longest sequence', () => {
    expect(readSettings([])).toMatchObject({ threads: 1, rounds: 3, rings: [1, 2, 3], contextTokens: 768 });
    expect(readSettings(['--rings', '2', '--decode', '1000']).contextTokens).toBe(1024);
    expect(() => readSettings(['--only', 'guest'])).toThrow('--only is for --serving and --delays');
  });

  it('refuse what makes no sense and show the usage', () => {
    expect(() => readSettings(['--rounds', 'many'])).toThrow(/--rounds must be a whole number.*\n.*npm run bench/);
    expect(() => readSettings(['--decode', '1'])).toThrow('a speed needs two tokens');
  });
});
