import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { inventory } from '../../src/engine/devices.js';
import { measureSpeed } from '../../src/engine/measure.js';
import { listPackages } from '../../src/engine/packages.js';
import { readGgufHeader } from '../../src/model/gguf-reader.js';
import { architectureFacts } from '../../src/model/model-facts.js';
import type { StageEngine } from '../../src/ports.js';
import { answer, largestDifference, openRing } from '../support/ring-in-process.js';
import { MODEL_FILE, syntheticPrompt } from './engine-support.js';

// A software Vulkan device is seen only when it is asked for by number; must be set before the engine is loaded.
process.env['GGML_VK_VISIBLE_DEVICES'] ??= '0';

const directory = mkdtempSync(join(tmpdir(), 'spill-'));
const opened: StageEngine[] = [];
const hasPackage = listPackages().some((entry) => entry.backend === 'vulkan');
const vulkan = hasPackage && inventory('vulkan').devices.some((device) => device.backend === 'vulkan');
/** Logits of the built-in model reach 13; kernels of two backends round differently. */
const LOGIT_TOLERANCE = 0.4;

afterAll(() => {
  for (const stage of opened) stage.close();
  rmSync(directory, { recursive: true, force: true });
});

describe.skipIf(!vulkan)('a stage whose device is too small', () => {
  it('computes its first layers in host memory and answers as the cpu alone', async () => {
    const header = await readGgufHeader(MODEL_FILE);
    const layers = architectureFacts(header).layers;
    const prompt = [...syntheticPrompt(24, 7)];
    const ring = async (settings: Parameters<typeof openRing>[4], cuts: readonly number[]): Promise<ReturnType<typeof answer>> => {
      const stages = await openRing(header, layers, cuts, directory, settings);
      opened.push(...stages);
      return answer(stages, prompt, 12, 16);
    };
    const alone = await ring({ backend: 'cpu' }, []);
    for (const cuts of [[], [Math.floor(layers / 2)]]) {
      for (const deviceLayers of [0, 1]) {
        const spilled = await ring({ backend: 'vulkan', deviceLayers }, cuts);
        expect(spilled.tokens, `${cuts.length + 1} stages, ${deviceLayers} layers on the device`).toEqual(alone.tokens);
        expect(largestDifference(spilled.logits, alone.logits)).toBeLessThan(LOGIT_TOLERANCE);
      }
    }
  });
});

describe('the speed of a device', () => {
  it('is measured, and nothing is left behind', () => {
    const speed = measureSpeed({ backend: 'cpu', directory, threads: 1 });
    expect(readdirSync(directory).filter((name) => name.startsWith('measure'))).toEqual([]);
    expect(speed.gflops).toBeGreaterThan(0.1);
    expect(speed.memoryBandwidthBytesPerSecond).toBeGreaterThan(1e7);
  });
});
