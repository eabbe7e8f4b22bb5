/** `agent completion SHELL` prints a shell's script; the script asks `agent complete-models` for names. */
import type { Command } from 'commander';
import { completionScript } from './completion.js';
import type { Shell } from './completion.js';
import { requireAgent } from './require-agent.js';

export function completionCommand(root: Command, shell: Shell): void {
  process.stdout.write(completionScript(root, shell));
}

/** One name a line; nothing where no agent runs, because nobody reads an error under a half typed line. */
export async function completeModelsCommand(options: { readonly stateDir: string }): Promise<void> {
  const { data } = await requireAgent(options.stateDir).then((client) => client.get('/v1/models'), () => ({ data: [] })) as { readonly data: readonly { readonly id: string }[] };
  for (const { id } of data) process.stdout.write(`${id}\n`);
}
