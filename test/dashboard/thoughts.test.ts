/** What a model thinks aloud, in the dashboard's chat: in a real browser, on an agent that thinks when it is told to. */
import { expect, it } from 'vitest';
import { startApiServer } from '../../src/api/server.js';
import { answerOf, KeptLog, ScriptedAgent } from '../api/scripted-agent.js';
import { DESKTOP, TestBrowser } from './browser.js';

const SEEN_MS = 30_000;

it('shows thoughts above the answer, and folds them when the answer comes', async () => {
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
  const browser = await TestBrowser.launch();
  try {
    const page = await browser.open(server.address, DESKTOP);
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
