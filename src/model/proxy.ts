/**
 * `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` for what is read from the internet; other traffic of a node never goes through a
 * proxy. The names are read in lower case first, as other tools do. It must not know hubs.
 */
import { EnvHttpProxyAgent, fetch as proxiedFetch } from 'undici';
import { RingError } from '../core/errors.js';

/** The part of `fetch` that the hub's client uses. */
export type Fetch = (url: URL, options: { readonly redirect: 'manual'; readonly headers: Record<string, string>; readonly signal: AbortSignal }) => Promise<Response>;

/** Null = no proxy is named. Throws `bad_config` for an address that is none. */
export function fetchThroughProxy(environment: Readonly<Record<string, string | undefined>>): Fetch | null {
  const value = (name: string): string => (environment[name.toLowerCase()] ?? environment[name] ?? '').trim();
  const httpProxy = proxyAddress('HTTP_PROXY', value('HTTP_PROXY'));
  const httpsProxy = proxyAddress('HTTPS_PROXY', value('HTTPS_PROXY'));
  if (httpProxy === '' && httpsProxy === '') return null;
  const dispatcher = new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy: value('NO_PROXY') });
  return async (url, options) => {
    if ((url.protocol === 'https:' ? httpsProxy : httpProxy) === '') return fetch(url, options);
    const response = await proxiedFetch(url, { ...options, dispatcher });
    // The platform's own class: callers know no other.
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers: [...response.headers] });
  };
}

function proxyAddress(name: string, text: string): string {
  if (text === '') return '';
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new RingError('bad_config', `${name} is ${JSON.stringify(text.replace(/\/\/[^@]*@/, '//…@'))}: give the address of an http proxy, such as http://proxy:3128`);
}
