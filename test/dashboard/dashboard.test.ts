/**
 * The dashboard on three real agents: a person plans and runs a model, asks it and stops it, and sees within seconds that
 * a machine is gone while an answer goes on.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { AgentProcess } from '../support/agent-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { DESKTOP, overflow, PHONE, picture, SEEN_MS, TestBrowser, violations } from './browser.js';

const MODEL = 'kjv-q8_0';
/** The page promises 3 s from the loss of a node; the rest is for the load of a test machine. The time is printed. */
const LOSS_SEEN_MS = 15_000;

/** Notes in the page when it first shows fewer nodes. */
const WATCH_LOSS = `(() => {
  const cluster = document.getElementById('cluster');
  window.lossSeen = new Promise((resolve) => new MutationObserver((_, observer) => {
    if (!cluster.textContent.includes('2 nodes')) return;
    observer.disconnect();
    resolve(Date.now());
  }).observe(cluster, { childList: true, subtree: true, characterData: true }));
})()`;

describe('the dashboard', () => {
  let agents: AgentProcess[] = [];
  let browser: TestBrowser;
  let address = '';

  beforeAll(async () => {
    const args = ['--cluster', `dashboard-test-${process.pid}`, '--threads', '1', '--ctx', '1024', '--slots', '2'];
    agents = await Promise.all([0, 1, 2].map((index) => AgentProcess.start({ stateDir: temporaryDirectory(`dashboard${index}`), args })));
    const first = agentAt(0);
    address = `http://127.0.0.1:${first.http.port}/`;
    browser = await TestBrowser.launch();
    await first.statusWhen((status) => status.nodes.length === 3 && status.coordinator !== null, { timeoutMs: SEEN_MS, what: 'three nodes' });
  }, 120_000);

  afterAll(async () => {
    await browser.close();
    await Promise.all(agents.map((agent) => agent.kill9()));
  }, 60_000);

  function agentAt(index: number): AgentProcess {
    const agent = agents[index];
    if (agent === undefined) throw new Error(`no agent ${index}`);
    return agent;
  }

  async function ask(page: Page, question: string): Promise<void> {
    await page.getByLabel('Message', { exact: true }).focus();
    await page.keyboard.type(question);
    await page.keyboard.press('Enter');
  }

  it('plans and runs a model, answers, can be stopped, and sees a node go while it answers', async () => {
    const page = await browser.open(address, DESKTOP);
    await page.locator('#cluster').getByText('3 nodes').waitFor();

    await page.getByLabel('Nodes', { exact: true }).fill('3');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('button', { name: 'Run this plan' }).click();
    await page.getByRole('img', { name: `Ring of ${MODEL}, active` }).waitFor();

    await page.getByText('Settings').click();
    await page.getByLabel('Most tokens').fill('200');
    await ask(page, 'In the beginning');
    const answer = page.getByRole('article', { name: 'Answer' }).first().locator('.said');
    await expect.poll(async () => (await answer.innerText()).length, { timeout: SEEN_MS }).toBeGreaterThan(12);
    await page.locator('#chat-figures, .bubble .after').getByText(/tok\/s/).first().waitFor();
    await picture(page, 'light');
    const stop = page.getByRole('button', { name: 'Stop' });
    if (await stop.isVisible()) await stop.click({ timeout: 2_000 }).catch(() => undefined);
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(await violations(page)).toEqual([]);

    const dark = await browser.open(address, { ...DESKTOP, colorScheme: 'dark' });
    await dark.getByRole('img', { name: `Ring of ${MODEL}, active` }).waitFor();
    expect(await violations(dark)).toEqual([]);
    await picture(dark, 'dark');
    await dark.getByRole('button', { name: 'Switch to light colours' }).click();
    expect(await dark.evaluate('document.documentElement.dataset.theme')).toBe('light');

    const phone = await browser.open(address, PHONE);
    await phone.getByRole('img', { name: `Ring of ${MODEL}, active` }).waitFor();
    expect(await overflow(phone)).toBe(0);
    expect(await violations(phone)).toEqual([]);
    await picture(phone, 'phone');

    // Whoever this page asks is not the one that is lost.
    const lost = agentAt(2);
    await ask(page, 'And God said');
    const second = page.getByRole('article', { name: 'Answer' }).nth(1).locator('.said');
    await expect.poll(async () => (await second.innerText()).length, { timeout: SEEN_MS }).toBeGreaterThan(12);
    await page.evaluate(WATCH_LOSS);
    const killedMs = Date.now();
    await lost.kill9();
    await page.locator('#cluster').getByText('2 nodes').waitFor({ timeout: LOSS_SEEN_MS });
    const seenMs = await page.evaluate<number>('window.lossSeen');
    console.log(`the page showed the loss of a node ${((seenMs - killedMs) / 1000).toFixed(2)} s after it was killed`);
    await page.locator('#notice').getByText(/ is gone \(.* serves again, re-planned in/).waitFor();
    await page.locator('.ring .node.lost').first().waitFor();
    await page.getByRole('img', { name: `Ring of ${MODEL}, active` }).waitFor();
    await picture(page, 'lost');
    await page.getByRole('button', { name: 'Send' }).waitFor({ timeout: 2 * SEEN_MS });
    expect(await page.getByRole('alert').filter({ visible: true }).allInnerTexts()).toEqual([]);
    expect(await violations(page)).toEqual([]);

    expect(browser.complaints).toEqual([]);
    expect(browser.foreign).toEqual([]);
  }, 180_000);
});
