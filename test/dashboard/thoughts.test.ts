/** What a model thinks aloud, in the dashboard's chat: in a real browser, on an agent that thinks when it is told to. */
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { expect, it } from 'vitest';
import { startApiServer } from '../../src/api/server.js';
import { answerOf, KeptLog, ScriptedAgent } from '../api/scripted-agent.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
const SEEN_MS = 30_000;

it('shows thoughts above the answer, and folds them when the answer comes', async () => {
  if (CHROMIUM === undefined) throw new Error('no Chromium: install it (apt-get install chromium)');
  const agent = new ScriptedAgent();
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  agent.script = async function* thinking() {
    for await (const event of answerOf(['<think>', 'Two and two.', '</think>', 'It is **4**.'])) {
      if (event.kind === 'text' && event.text === '</think>') await held;
      yield event;
    }
  };
  const server = await startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port: 0, portExplicit: true, apiKeyFile: null });
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await (await browser.newContext()).newPage();
    await page.goto(server.address, { timeout: SEEN_MS });
    await page.getByText('live', { exact: true }).waitFor({ timeout: SEEN_MS });
    await page.locator('#chat-text').fill('What is 2+2?');
    await page.locator('#chat-send').click();
    const thoughts = page.locator('details.faint');
    await thoughts.getByText('Two and two.').waitFor({ timeout: SEEN_MS });
    expect(await thoughts.getAttribute('open')).toBe('');
    goOn();
    await page.locator('.bubble.assistant .said strong').getByText('4').waitFor({ timeout: SEEN_MS });
    expect(await thoughts.getAttribute('open')).toBeNull();
    expect(await page.locator('.bubble.assistant .said').innerText()).toBe('It is 4.');
  } finally {
    await browser.close();
    await server.close(0);
  }
}, 90_000);
