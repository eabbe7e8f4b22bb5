/** The hub behind a proxy: a real one on this machine, a real hub behind it. */
import { afterAll, describe, expect, it } from 'vitest';
import { HubClient, hubOptions } from '../../src/model/hub-client.js';
import { openModelLibrary } from '../../src/model/model-library.js';
import { smallFile } from '../support/small-gguf.js';
import { HubServer } from '../support/hub-server.js';
import { ProxyServer } from '../support/proxy-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const hub = await HubServer.start();
const proxy = await ProxyServer.start();
afterAll(async () => {
  await hub.stop();
  await proxy.stop();
});
hub.add('tiny/Small-GGUF', 'small-Q8_0.gguf', smallFile());
const QUIET = new AbortController().signal;

async function files(environment: Readonly<Record<string, string>>): Promise<number> {
  proxy.led.length = 0;
  const client = new HubClient({ ...hubOptions({ HF_ENDPOINT: hub.url, ...environment }), backoffMs: 5 });
  return (await client.revision('tiny/Small-GGUF', 'main', QUIET)).files.length;
}

describe('a proxy', () => {
  it('is gone through where it is named, in either spelling, with or without a scheme', async () => {
    for (const environment of [{ HTTP_PROXY: `http://${proxy.address}` }, { http_proxy: proxy.address }]) {
      expect(await files(environment)).toBe(1);
      expect(new Set(proxy.led)).toEqual(new Set([new URL(hub.url).host]));
    }
  });

  it('is shown its own credentials', async () => {
    await files({ HTTP_PROXY: `http://me:secret@${proxy.address}` });
    expect(proxy.credentials.at(-1)).toBe(`Basic ${Buffer.from('me:secret').toString('base64')}`);
  });

  it.each<Readonly<Record<string, string>>>([
    {}, { HTTP_PROXY: '' }, { HTTPS_PROXY: `http://${proxy.address}` }, { HTTP_PROXY: `http://${proxy.address}`, NO_PROXY: 'example.org,127.0.0.1' }, { HTTP_PROXY: `http://${proxy.address}`, no_proxy: '*' },
  ])('is left aside with %o', async (environment) => {
    expect(await files(environment)).toBe(1);
    expect(proxy.led).toEqual([]);
  });

  it('brings a whole model, ranges, redirects and broken transfers included', async () => {
    proxy.led.length = 0;
    hub.faults.push({ kind: 'cut', afterBytes: 100 });
    const options = { ...hubOptions({ HF_ENDPOINT: hub.url, HTTP_PROXY: proxy.address }), stallMs: 2000, backoffMs: 5 };
    const library = await openModelLibrary({ stateDirectory: temporaryDirectory(), modelPaths: [], builtIn: false, log: null, hub: options });
    expect(await library.upkeep(() => []).pull('hf:tiny/Small-GGUF', QUIET)).toMatchObject({ model: 'small-Q8_0', bytes: smallFile().length });
    expect(proxy.led.length).toBeGreaterThan(0);
  });

  it('that is none is named without its password', () => {
    expect(() => hubOptions({ HTTPS_PROXY: 'socks5://me:secret@host:1' })).toThrow(/HTTPS_PROXY is "socks5:\/\/…@host:1": give the address of an http proxy/);
  });
});
