/** What a cluster file's model means to the agent that starts with it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { fileStart } from '../../src/cli/cluster-run.js';
import { parseClusterFile } from '../../src/cli/config-file.js';

const directory = await mkdtemp(join(tmpdir(), 'cluster-run-'));
afterAll(() => rm(directory, { recursive: true, force: true }));

const PATH = join(directory, 'c.toml');

function start(model: string): ReturnType<typeof fileStart> {
  const text = `model = "${model}"\n[[node]]\naddr = "192.0.2.7:11501"\nckpt_dir = "/nowhere"\n`;
  return fileStart(parseClusterFile(text, PATH).file, PATH);
}

it('a file beside the cluster file is a path', async () => {
  await writeFile(join(directory, 'm.gguf'), '');
  const text = `model = "m.gguf"\ndraft = "m.gguf"\n[[node]]\naddr = "192.0.2.7:11501"\nckpt_dir = "/nowhere"\n`;
  expect((await fileStart(parseClusterFile(text, PATH).file, PATH)).draft).toBe(join(directory, 'm.gguf'));
  expect(await start('m.gguf')).toMatchObject({ model: join(directory, 'm.gguf'), modelPaths: [join(directory, 'm.gguf')], peers: ['192.0.2.7:11501'], own: null });
});

it.each(['hf:owner/repo', 'hf:owner/repo:Q8_0', 'https://host.example/m.gguf', 'qwen3-4b'])('%s stays as it is', async (model) => {
  expect(await start(model)).toMatchObject({ model, modelPaths: [] });
});

it('a path that leads nowhere, and a reference that is none, are errors', async () => {
  await expect(start('models/absent.gguf')).rejects.toMatchObject({ code: 'unknown_model' });
  await expect(start('hf:owner')).rejects.toMatchObject({ code: 'bad_config' });
});
