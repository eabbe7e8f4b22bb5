import { afterEach, describe, expect, it } from 'vitest';
import { RingError } from '../../src/core/errors.js';
import { openStage } from '../../src/engine/stage.js';
import { openVocabulary } from '../../src/engine/vocabulary.js';
import type { StageEngine, StageOptions } from '../../src/ports.js';
import { close, differences, feed, generate, MODEL_FILE, open, syntheticPrompt, wholeOptions } from './engine-support.js';

const opened: StageEngine[] = [];

function stageOf(changes: Partial<StageOptions> = {}): StageEngine {
  const stage = openStage(wholeOptions(changes));
  opened.push(stage);
  return stage;
}

afterEach(() => {
  for (const stage of opened.splice(0)) stage.close();
});

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return error instanceof RingError ? error.code : String(error);
  }
  return 'nothing thrown';
}

describe('a whole model as one stage', () => {
  it('continues a known text', () => {
    const vocabulary = openVocabulary(MODEL_FILE);
    const stage = stageOf();
    open(stage, 0);
    const prompt = vocabulary.tokenize('And it came to pass', { addSpecial: true, parseSpecial: false });
    const answer = generate(stage, 0, prompt, 40);
    const text = Buffer.concat(answer.map((token) => vocabulary.piece(token))).toString('utf8');
    vocabulary.close();
    expect(text).toContain(', that when');
    expect(text).toMatchInlineSnapshot(`", that when the LORD heard it, that he rent his clothes, and cried, and said, O LORD God of hosts, the God of Israel, the God of Israel, hath"`);
  });

  it('says what it is made of', () => {
    const stage = stageOf();
    expect([stage.hiddenSize, stage.layers, stage.vocabularySize]).toEqual([256, 5, 2048]);
  });
});
