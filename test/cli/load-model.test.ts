import { expect, it } from 'vitest';
import { progressText } from '../../src/cli/load-model.js';

it('says of every node that is not ready how far it is', () => {
  expect(progressText([
    { hostname: 'mac', state: 'fetching', progress: 0.426, fetchedBytes: 1_234_000_000 },
    { hostname: 'pc', state: 'fetching', progress: 0, fetchedBytes: 0 },
    { hostname: 'nas', state: 'loading', progress: 1, fetchedBytes: 5 },
  ])).toBe('mac fetching 42 %, 1.2 GB · pc fetching 0 % · nas loading');
  expect(progressText([])).toBe('');
});
