/**
 * A real browser for the dashboard's tests: pages of several sizes and colours, what they complain of, whom they ask, and
 * what axe has against them. DASHBOARD_PICTURES names a directory for screenshots to look at.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
const PICTURES = process.env['DASHBOARD_PICTURES'];
/** For anything that is to be seen, on a busy machine. */
export const SEEN_MS = 30_000;
export const PHONE = { width: 390, height: 844 } as const;
export const DESKTOP = { width: 1280, height: 900 } as const;

export interface Violation {
  readonly id: string;
  readonly targets: readonly string[];
}

export interface PageOptions {
  readonly width: number;
  readonly height: number;
  readonly colorScheme?: 'dark' | 'light';
  readonly reducedMotion?: 'reduce';
}

export class TestBrowser {
  /** Errors of all pages. */
  readonly complaints: string[] = [];
  /** Requests to anybody but the page's own agent. */
  readonly foreign: string[] = [];

  private constructor(private readonly browser: Browser) {}

  static async launch(): Promise<TestBrowser> {
    if (CHROMIUM === undefined) throw new Error('no Chromium: install it (apt-get install chromium)');
    return new TestBrowser(await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] }));
  }

  close(): Promise<void> {
    return this.browser.close();
  }

  /** A page that shows what this agent says. */
  async open(address: string, options: PageOptions): Promise<Page> {
    const page = await this.show(address, options);
    await page.getByText('live', { exact: true }).waitFor();
    return page;
  }

  /** A page that may have nothing to show yet. */
  async show(address: string, { width, height, ...options }: PageOptions): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width, height }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(SEEN_MS);
    page.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(address)) this.foreign.push(request.url());
    });
    await page.goto(address);
    return page;
  }
}

/** The rules of WCAG 2.1 AA that axe can check, and its best practices. */
export async function violations(page: Page): Promise<readonly Violation[]> {
  // Given to the browser by the test, which the page's own policy does not bind.
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  return page.evaluate<readonly Violation[]>(`axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => ({ id, targets: nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary) })))`);
}

/** How far the page is wider than what it is seen through. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}
