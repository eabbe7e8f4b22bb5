/**
 * The dashboard in a real browser, on two real agents: what a person sees, that nothing else is asked for, and that a
 * machine reader and a keyboard can use it. DASHBOARD_PICTURES names a directory for screenshots to look at.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentProcess, temporaryDirectory } from '../support/agent-process.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
const MODEL = 'kjv-q8_0';
const READY_MS = 30_000;
/** The page promises three seconds from the loss of a node; the last one is for this machine's load. */
const LOSS_SEEN_MS = 3_000;
const PICTURES = process.env['DASHBOARD_PICTURES'];

interface Violation {
  readonly id: string;
  readonly targets: readonly string[];
}

describe('the dashboard', () => {
  let agents: AgentProcess[] = [];
  let browser: Browser | null = null;
  let address = '';
  const complaints: string[] = [];
  const foreign: string[] = [];

  async function openPage(options: { readonly width: number; readonly height: number; readonly colorScheme?: 'dark' | 'light' }): Promise<Page> {
    if (browser === null) throw new Error('no browser');
    const context = await browser.newContext({ viewport: { width: options.width, height: options.height }, colorScheme: options.colorScheme ?? 'light' });
    const page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(address)) foreign.push(request.url());
    });
    await page.goto(address, { timeout: READY_MS });
    await page.getByText('live', { exact: true }).waitFor({ timeout: READY_MS });
    return page;
  }

  async function picture(page: Page, name: string): Promise<void> {
    if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
  }

  /** The rules of WCAG 2.1 AA that axe can check. */
  async function violations(page: Page): Promise<readonly Violation[]> {
    // Given to the browser by the test, which the page's own policy does not bind.
    await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
    return page.evaluate<readonly Violation[]>(`axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] })
      .then(({ violations }) => violations.map(({ id, nodes }) => ({ id, targets: nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary) })))`);
  }

  beforeAll(async () => {
    if (CHROMIUM === undefined) throw new Error('no Chromium: install it (apt-get install chromium)');
    const args = ['--cluster', `dashboard-test-${process.pid}`, '--threads', '1', '--ctx', '512', '--slots', '2'];
    agents = await Promise.all([0, 1].map((index) => AgentProcess.start({ stateDir: temporaryDirectory(`dashboard${index}`), args })));
    const first = agentAt(0);
    address = `http://127.0.0.1:${first.http.port}/`;
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
    await first.statusWhen((status) => status.nodes.length === 2 && status.coordinator !== null, { timeoutMs: READY_MS, what: 'two nodes' });
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await Promise.all(agents.map((agent) => agent.kill9()));
  }, 60_000);

  function agentAt(index: number): AgentProcess {
    const agent = agents[index];
    if (agent === undefined) throw new Error(`no agent ${index}`);
    return agent;
  }

  it('plans and runs a model, answers, can be stopped, and sees a node go', async () => {
    const page = await openPage({ width: 1280, height: 900 });
    await page.getByText('2 nodes').waitFor({ timeout: READY_MS });

    await page.getByLabel('Nodes', { exact: true }).fill('2');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('button', { name: 'Run this plan' }).click({ timeout: READY_MS });
    await page.getByRole('img', { name: `Ring of ${MODEL}, active` }).waitFor({ timeout: READY_MS });

    // By keyboard: to the message, Enter sends.
    await page.getByLabel('Message').focus();
    await page.keyboard.type('In the beginning');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Stop' }).waitFor({ timeout: READY_MS });
    const answer = page.getByRole('article', { name: 'Answer' }).first();
    await expect.poll(async () => (await answer.innerText()).length, { timeout: READY_MS }).toBeGreaterThan(12);
    await page.getByText(/tok\/s/).waitFor({ timeout: READY_MS });
    await picture(page, 'light');
    if (await page.getByRole('button', { name: 'Stop' }).isVisible()) await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Send' }).waitFor({ timeout: READY_MS });
    expect(await violations(page)).toEqual([]);

    const dark = await openPage({ width: 1280, height: 900, colorScheme: 'dark' });
    await dark.getByRole('img', { name: `Ring of ${MODEL}, active` }).waitFor({ timeout: READY_MS });
    expect(await violations(dark)).toEqual([]);
    await picture(dark, 'dark');
    await dark.getByRole('button', { name: 'Switch to light colours' }).click();
    expect(await dark.evaluate('document.documentElement.dataset.theme')).toBe('light');

    const phone = await openPage({ width: 375, height: 800 });
    await phone.getByRole('img', { name: `Ring of ${MODEL}, active` }).waitFor({ timeout: READY_MS });
    expect(await phone.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375);
    await picture(phone, 'phone');

    await agentAt(1).kill9();
    await page.getByText('1 node ·').waitFor({ timeout: LOSS_SEEN_MS });
    await page.getByText(/serves again|is gone/).first().waitFor({ timeout: READY_MS });
    await picture(page, 'lost');

    // What a model says runs nothing.
    const hostile = '<img src=x onerror=alert(1)> **bold** [go](javascript:alert(1)) [ok](https://example.org/a) `<b>`\n```\n<script>x</script>';
    const rendered = await page.evaluate(`import('/dashboard/markdown.js').then(({ markdown }) => {
      const place = document.createElement('div');
      place.append(...markdown(${JSON.stringify(hostile)}));
      return { tags: [...place.querySelectorAll('*')].map((element) => element.localName), links: [...place.querySelectorAll('a')].map((link) => link.href) };
    })`);
    expect(rendered).toEqual({ tags: ['p', 'strong', 'a', 'code', 'pre', 'code'], links: ['https://example.org/a'] });

    expect(complaints).toEqual([]);
    expect(foreign).toEqual([]);
  }, 120_000);
});
