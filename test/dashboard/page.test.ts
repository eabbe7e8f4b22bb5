/**
 * What the page makes of a cluster that a test stages: plans beside what they were compared with, models that load and
 * fail, nodes and agents that are lost, by mouse, by keyboard and for a machine reader.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { startApiServer } from '../../src/api/server.js';
import type { ApiServer } from '../../src/api/server.js';
import { RingError } from '../../src/core/errors.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { answerOf, KeptLog } from '../api/scripted-agent.js';
import { DESKTOP, overflow, PHONE, picture, SEEN_MS, TestBrowser, violations } from './browser.js';
import { instanceOf, LAPTOP, planFor, StagedAgent } from './staged-agent.js';

const FLOW = 'getComputedStyle(document.querySelector(".ring .flow")).animationName';

let browser: TestBrowser;
let agent: StagedAgent;
let server: ApiServer;
let port = 0;

function serve(): Promise<ApiServer> {
  return startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port, portExplicit: true, apiKeyFile: null });
}

beforeAll(async () => {
  browser = await TestBrowser.launch();
}, 60_000);
afterAll(() => browser.close());
beforeEach(async () => {
  port = 0;
  agent = new StagedAgent();
  server = await serve();
  port = Number(new URL(server.address).port);
});
afterEach(() => server.close(0));

function texts(page: Page, selector: string): Promise<readonly string[]> {
  return page.locator(selector).allInnerTexts();
}

it('shows a plan beside the rings that it was compared with, and runs the one that is chosen', async () => {
  const page = await browser.open(server.address, DESKTOP);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.locator('#plan .options').waitFor();
  expect(await texts(page, '#plan .options tbody th')).toEqual(['Alone', 'These 2best', 'All 3']);
  expect(await texts(page, '#plan .options tbody td:nth-child(2)')).toEqual(['tower', 'tower + studio', 'tower + studio + an-old-laptop-with-a-long-name']);
  expect((await texts(page, '#plan .options .number')).map((text) => text.trim())).toEqual(['12.3 tok/s', '14.1 tok/s', 'about 9.0 tok/s']);
  expect(await page.locator('#plan .shown th').innerText()).toContain('These 2');
  expect(await page.locator('#plan > p').nth(1).innerText()).toBe('a-model-8b-q4_k_m · 2 nodes · context 4096 · 8 at once · 4.8 GB · 14.1 tok/s predicted');
  expect(await texts(page, '#plan .left-out li')).toEqual(['an-old-laptop-with-a-long-name: the ring is faster without it (it reads 8.0 GB/s, 2.1 GB budget)']);
  expect(await texts(page, '#plan .notes li')).toHaveLength(2);
  expect(await violations(page)).toEqual([]);
  await picture(page, 'plan-light');

  // Another one, looked at before it runs.
  await page.getByRole('button', { name: 'Show the plan: all 3' }).click();
  await page.getByText('9.0 tok/s predicted').waitFor();
  expect(await page.locator('#plan-nodes').inputValue()).toBe('3');
  expect(await page.locator('#plan .shown th').innerText()).toContain('All 3');
  expect(await page.locator('#plan .left-out').count()).toBe(0);
  await page.getByRole('button', { name: 'Show the plan: these 2' }).click();
  await page.getByText('14.1 tok/s predicted').waitFor();
  await page.getByRole('button', { name: 'Run this plan' }).click();
  await page.getByRole('img', { name: 'Ring of a-model-8b-q4_k_m, active' }).waitFor();
  await page.getByText('this is what runs: active').waitFor();
  expect(await page.locator('#plan-run').isDisabled()).toBe(true);

  // What runs is replaced, not left as it is.
  await page.getByRole('button', { name: 'Show the plan: alone' }).click();
  await page.getByRole('button', { name: 'Run this instead' }).click();
  await page.getByRole('img', { name: 'with layers 0–31, and back' }).waitFor();
  expect(agent.unloaded).toEqual(['inst-1']);
  expect(agent.planRequests.at(-1)).toMatchObject({ model: 'a-model-8b-q4_k_m', policy: 'auto', nodes: 1 });
  await page.getByRole('button', { name: 'Plan a-model-8b-q4_k_m' }).click();

  // What cannot be is said.
  await page.getByLabel('Nodes', { exact: true }).fill('9');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('only 3 can take part').waitFor();

  const phone = await browser.open(server.address, { ...PHONE, colorScheme: 'dark' });
  await phone.getByRole('button', { name: 'Preview' }).click();
  await phone.locator('#plan .options').waitFor();
  expect(await overflow(phone)).toBe(0);
  expect(await violations(phone)).toEqual([]);
  await picture(phone, 'plan-phone');
  // On a tablet the chat has the whole width, below the ring.
  await phone.setViewportSize({ width: 820, height: 1180 });
  const [ring, chat] = await Promise.all(['.ring-card', '.chat-card'].map((card) => phone.locator(card).boundingBox()));
  expect(chat?.y).toBeGreaterThan((ring?.y ?? Infinity) + (ring?.height ?? 0));
  expect(chat?.width).toBe(ring?.width);
  expect(await overflow(phone)).toBe(0);
  await picture(phone, 'plan-tablet');
}, 90_000);

it('is used by keyboard alone: in the order that is seen, with the focus seen, Enter acts and Escape stops', async () => {
  const page = await browser.open(server.address, DESKTOP);
  const walked: string[] = [];
  for (;;) {
    await page.keyboard.press('Tab');
    const { name, seen } = await page.evaluate<{ name: string; seen: boolean }>(`(() => {
      const { activeElement } = document;
      const { outlineStyle, outlineWidth } = getComputedStyle(activeElement);
      return { name: activeElement.id || activeElement.getAttribute('aria-label') || activeElement.textContent, seen: outlineStyle !== 'none' && outlineWidth !== '0px' };
    })()`);
    if (walked.includes(name) || walked.length > 40 || name === '' || name.includes('\n')) break;
    expect(seen, name).toBe(true);
    walked.push(name);
  }
  expect(walked.map((name) => name.replace(/-[0-9a-f]{16}$/, ''))).toEqual([
    'Go to the chat', 'api-copy', 'theme', 'Nodes as a table', 'chat-model', 'chat-clear', 'Settings', 'chat-log', 'chat-text', 'chat-send',
    'plan-model', 'plan-policy', 'plan-nodes', 'plan-context', 'plan-preview', 'load', 'plan-of', 'Events, newest first',
  ]);
  await page.locator('#theme').focus();
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');

  let stopped = false;
  agent.script = async function* endless(_task, signal) {
    yield { kind: 'started', model: 'a-model-8b-q4_k_m', promptTokens: 3 };
    yield { kind: 'text', text: 'and so on', tokens: [1] };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    stopped = true;
  };
  await page.locator('#chat-text').focus();
  await page.keyboard.type('one');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('two');
  await page.keyboard.press('Enter');
  await page.getByRole('article', { name: 'Answer' }).getByText('and so on').waitFor();
  expect(await page.getByRole('article', { name: 'You' }).innerText()).toBe('You\n\none\ntwo');
  await page.keyboard.press('Escape');
  await page.getByText(/^stopped after/).first().waitFor();
  await expect.poll(() => stopped, { timeout: SEEN_MS }).toBe(true);
  expect(await page.evaluate('document.activeElement.id')).toBe('chat-text');

  await page.locator('#plan-nodes').focus();
  await page.keyboard.type('2');
  await page.keyboard.press('Enter');
  await page.locator('#plan .options').waitFor();
}, 90_000);

it('sends what the settings say, shows Markdown without running it, and offers to try again what failed', async () => {
  const page = await browser.open(server.address, DESKTOP);
  agent.script = () => {
    throw new RingError('unknown_model', 'no node of this cluster holds a model "x"');
  };
  await page.getByText('Settings').click();
  await page.getByLabel('System message').fill('Be short.');
  await page.getByLabel('Temperature').fill('0.5');
  await page.getByLabel('Most tokens').fill('9');
  await page.locator('#chat-text').fill('What is there?');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('no node of this cluster holds a model "x"').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  expect(await violations(page)).toEqual([]);
  agent.script = () => answerOf(['## Two\n\n', '1. **one**\n2. two\n   - in it\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n', '<img src=x onerror=alert(1)> [no](javascript:alert(1)) [yes](https://example.org/a) `<b>`\n```html\n<script>x</script>']);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: 'Copy the answer' }).waitFor();
  expect(agent.tasks.at(-1)).toMatchObject({ maxTokens: 9, sampling: { temperature: 0.5 }, prompt: { messages: [{ role: 'system', content: 'Be short.' }, { role: 'user', content: 'What is there?' }] } });
  const said = page.locator('.bubble.assistant .said');
  expect(await said.evaluate((element) => [...element.children].map((child) => child.outerHTML.replace(/<(\w+)[^>]*>/g, '<$1>')).map((html) => html.slice(0, 90)))).toEqual([
    '<p>Two</p>',
    '<ol><li><strong>one</strong></li><li>two<ul><li>in it</li></ul></li></ol>',
    '<blockquote><p>said</p></blockquote>',
    '<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></t',
    '<p>&lt;img src=x onerror=alert(1)&gt; [no](javascript:alert(1)) <a>yes</a> <code>&lt;b&gt;',
    '<div><div><span>html</span><button>Copy</button></div><pre><code>&lt;script&gt;x&lt;/scrip',
  ]);
  expect(await said.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual(['https://example.org/a']);
  expect(await page.locator('.bubble').count()).toBe(2);
  expect(await violations(page)).toEqual([]);
  await picture(page, 'chat');
}, 90_000);

it('says what to do where there is nothing, and what loads and what failed', async () => {
  agent.change({ held: [], nodes: agent.nodes.slice(0, 1) });
  const page = await browser.open(server.address, { ...DESKTOP, reducedMotion: 'reduce' });
  await page.getByText('No node holds a model yet.').waitFor();
  await page.getByText('There is no model to ask yet').waitFor();
  expect(await page.getByRole('button', { name: 'Preview' }).isDisabled()).toBe(true);
  expect(await violations(page)).toEqual([]);
  await picture(page, 'empty');

  const whole = new StagedAgent();
  const plan = planFor(null);
  agent.change({ held: whole.held, nodes: whole.nodes, instances: [instanceOf(plan, 'preparing')] });
  await page.getByRole('progressbar', { name: 'tower, layers 0–12: fetching' }).waitFor();
  expect(await page.getByRole('progressbar', { name: 'tower, layers 0–12: fetching' }).getAttribute('aria-valuenow')).toBe('40');
  await page.getByText('fetching 40 % · 1.2 GB').first().waitFor();
  expect(await violations(page)).toEqual([]);
  await picture(page, 'loading');

  agent.change({ instances: [instanceOf(plan, 'active', { activeSequences: 2, queuedSequences: 1 })] });
  await page.getByText('2 answering, 1 waiting').waitFor();
  await page.getByText('14.1 tok/s alone').waitFor();
  expect(await page.evaluate(FLOW)).toBe('none');
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  expect(await page.evaluate(FLOW)).toBe('flow');

  agent.change({ instances: [instanceOf(plan, 'failed', { reason: 'tower cannot hold its stage: 2.1 GB are free, 2.4 GB are needed' })] });
  await page.locator('#models').getByText('tower cannot hold its stage').waitFor();
  expect(await violations(page)).toEqual([]);
  agent.planError = new RingError('no_placement', 'it does not fit');
  agent.change({ instances: [] });
  await page.getByRole('button', { name: 'Load a-model-8b-q4_k_m' }).click();
  await page.locator('#models').getByText('it does not fit').waitFor();
}, 90_000);

it('keeps a lost node in view and says that it is gone, until it is back', async () => {
  const all = agent.nodes;
  agent.change({ instances: [instanceOf(planFor(3), 'active')] });
  const pages = await Promise.all([
    browser.open(server.address, DESKTOP), browser.open(server.address, { ...DESKTOP, colorScheme: 'dark' }), browser.open(server.address, PHONE),
  ]);
  for (const page of pages) await page.getByRole('img', { name: 'Ring of a-model-8b-q4_k_m, active' }).waitFor();
  agent.change({ nodes: all.filter(({ nodeId }) => nodeId !== LAPTOP), instances: [instanceOf(planFor(2), 'active')] });
  agent.say('membership', `an-old-laptop-with-a-long-name (${LAPTOP}) is gone`);
  agent.say('healed', 'a-model-8b-q4_k_m serves again, re-planned in 1.4 s');
  for (const [index, page] of pages.entries()) {
    await page.locator('#notice').getByText(/^an-old-laptop-with-a-long-name is gone \(.*\) · a-model-8b-q4_k_m serves again, re-planned in 1\.4 s$/).waitFor();
    await page.locator('.ring .node.lost').getByText(/^gone since/).waitFor();
    await page.locator('#events').getByText('an-old-laptop-with-a-long-name is gone', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    await picture(page, `staged-loss-${index}`);
  }
  agent.change({ nodes: all });
  const [first] = pages;
  await first?.locator('.ring .node.lost').waitFor({ state: 'detached' });
  await first?.getByText('cluster “home” · 3 nodes').waitFor();
}, 90_000);

it('says that its agent is gone, keeps what it showed, and goes on when there is one again', async () => {
  const page = await browser.open(server.address, DESKTOP);
  agent.say('membership', 'tower is here');
  await page.locator('#events li').first().waitFor();
  await server.close(0);
  await page.getByRole('alert').getByText(`The agent at 127.0.0.1:${port} `).waitFor();
  await page.getByText(/^agent (stopped|not reachable)$/).waitFor();
  await page.locator('#chat-text').fill('Is anybody there?');
  await page.keyboard.press('Enter');
  await page.getByText(`The agent at 127.0.0.1:${port} does not answer. Is it running`).waitFor();
  expect(await page.locator('.ring .node').count()).toBe(3);
  expect(await violations(page)).toEqual([]);
  await picture(page, 'agent-gone');

  server = await serve();
  await page.getByText('live', { exact: true }).waitFor();
  await page.locator('#agent-lost').waitFor({ state: 'hidden' });
  // What the agent tells again is shown once.
  expect(await page.locator('#events li').count()).toBe(1);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('article', { name: 'Answer' }).getByText('In the beginning').waitFor();
}, 90_000);

it('asks for a key where the agent has keys, again where it is wrong', async () => {
  const keyFile = join(temporaryDirectory('dashboard-keys'), 'keys');
  await writeFile(keyFile, 'a-key-of-this-test-0123456789\n', { mode: 0o600 });
  const closed = await startApiServer({ service: agent, agentVersion: '1.2.3', log: new KeptLog(), host: '127.0.0.1', port: 0, portExplicit: true, apiKeyFile: keyFile });
  try {
    const page = await browser.show(closed.address, DESKTOP);
    const dialog = page.getByRole('dialog', { name: 'This agent asks for a key' });
    await dialog.getByLabel('API key').fill('another');
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await dialog.waitFor();
    await dialog.getByLabel('API key').fill('a-key-of-this-test-0123456789');
    await dialog.getByRole('button', { name: 'Use this key' }).click();
    await page.getByText('live', { exact: true }).waitFor();
    await page.locator('.ring .node').first().waitFor();
  } finally {
    await closed.close(0);
  }
}, 90_000);

it('asks nobody but its agent', () => {
  expect(browser.foreign).toEqual([]);
  // What a browser says of refused calls, and of an agent that a test ended.
  expect(browser.complaints.filter((text) => !/Failed to load resource/.test(text))).toEqual([]);
});
