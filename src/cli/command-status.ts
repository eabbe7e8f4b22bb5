/** `agent status`: the cluster as a table, or as JSON; with `--watch` again whenever it changes. */
import type { ClusterStatus } from '../agent/service.js';
import { renderStatus } from './render.js';
import { requireAgent } from './require-agent.js';

const WATCH_INTERVAL_MS = 1_000;
/** Rows of a terminal that does not say how many it has. */
const ROWS_DEFAULT = 24;

export interface StatusOptions {
  readonly stateDir: string;
  readonly json?: boolean;
  /** Until the agent ends or somebody interrupts. */
  readonly watch?: boolean;
}

export async function statusCommand(options: StatusOptions): Promise<void> {
  const client = await requireAgent(options.stateDir);
  const read = async (): Promise<ClusterStatus> => await client.get('/v1/cluster') as ClusterStatus;
  if (options.watch !== true) {
    const status = await read();
    process.stdout.write(options.json === true ? `${JSON.stringify(status, null, 2)}\n` : `${renderStatus(status)}\n`);
    return;
  }
  let shown = '';
  // Another size of the window: it is drawn anew.
  process.stdout.on('resize', () => {
    shown = '';
  });
  for (;;) {
    const status = await read();
    // One line a change as JSON, so that programs can follow.
    const text = options.json === true ? JSON.stringify(status) : renderStatus(status);
    if (text !== shown) {
      const { isTTY, rows } = process.stdout;
      process.stdout.write(options.json !== true && isTTY ? screen(text, rows) : `${text}\n${options.json === true ? '' : '\n'}`);
    }
    shown = text;
    await new Promise((resolve) => setTimeout(resolve, WATCH_INTERVAL_MS));
  }
}

/** The text over what was there, without flicker: from the top, each line cleared behind its end, then everything below. */
export function screen(text: string, rows: number | undefined): string {
  const room = (rows ?? ROWS_DEFAULT) - 1;
  const lines = text.split('\n');
  const fitting = lines.length <= room ? lines : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines: make the window higher`];
  return `\u001b[H${fitting.map((line) => `${line}\u001b[K`).join('\n')}\u001b[J\n`;
}
