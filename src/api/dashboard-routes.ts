/**
 * The dashboard: plain files of the package, served beside the API that they use. They say nothing about the cluster, so
 * they need no key; the page asks for one when the API does.
 *
 * The page may load and ask only this agent: no other site's script, style, picture or font, no inline code, no frame.
 */
import { readFile } from 'node:fs/promises';
import type { Context, Hono } from 'hono';
import type { ApiEnv } from './api-options.js';

const DIRECTORY = new URL('../dashboard/', import.meta.url);
const PAGE = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Every file that is served; nothing that a request says reaches the file system. */
const FILES = [
  'style.css', 'icon.svg', 'main.js', 'api.js', 'page.js', 'format.js', 'ring.js', 'ring-layout.js', 'nodes.js', 'models.js', 'plan.js', 'chat.js', 'markdown.js', 'events.js', 'losses.js', 'theme.js',
] as const;

const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
].join('; ');

/** Paths that need no key. */
export const DASHBOARD_PATHS: readonly string[] = FILES.map((name) => `/dashboard/${name}`);

export function addDashboardRoutes(app: Hono<ApiEnv>): void {
  for (const name of FILES) app.get(`/dashboard/${name}`, (context) => file(context, name));
}

/** Browsers say that they want HTML; everything else gets text. */
export function wantsPage(context: Context<ApiEnv>): boolean {
  return (context.req.header('accept') ?? '').includes('text/html');
}

export function dashboardPage(context: Context<ApiEnv>): Promise<Response> {
  return file(context, PAGE);
}

async function file(context: Context<ApiEnv>, name: string): Promise<Response> {
  const content = await readFile(new URL(name, DIRECTORY));
  const extension = name.slice(name.lastIndexOf('.') + 1);
  return context.body(new Uint8Array(content), 200, {
    'Content-Type': TYPES[extension] ?? 'application/octet-stream',
    'Content-Security-Policy': POLICY,
    'Referrer-Policy': 'no-referrer',
    // Another version of the agent may be started at this address any time.
    'Cache-Control': 'no-cache',
  });
}
