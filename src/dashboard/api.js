/** The page's side of the agent's API: JSON calls and streams of events. Knows the key, if one is asked for. */

const KEY = 'ring-agent-key';

let key = sessionStorage.getItem(KEY) ?? '';

export function useKey(text) {
  key = text.trim();
  sessionStorage.setItem(KEY, key);
}

/** `status` 0: no answer, or one that broke off. */
export class ApiFailure extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function call(path, { method = 'GET', body = null, signal = null } = {}) {
  const response = await reached(fetch(path, {
    method,
    signal,
    headers: {
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
    },
    body: body === null ? null : JSON.stringify(body),
  }));
  if (response.ok) return response;
  const value = await response.json().catch(() => null);
  throw new ApiFailure(response.status, value?.error?.code ?? '', value?.error?.message ?? `The agent answered ${response.status}.`);
}

export async function callJson(path, options) {
  return reached((await call(path, options)).json());
}

/** Data of server-sent events, one JSON value each, until the stream or `[DONE]` ends it. Errors in the stream are thrown. */
export async function* callStream(path, options) {
  const reader = (await call(path, options)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reached(reader.read());
      if (done) return;
      rest += value;
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
        const line = rest.slice(0, end).trim();
        rest = rest.slice(end + 1);
        if (!line.startsWith('data:')) {
          // A comment: the agent is there and has nothing to say.
          if (line.startsWith(':')) yield null;
          continue;
        }
        const data = line.slice('data:'.length).trim();
        if (data === '[DONE]') return;
        const event = JSON.parse(data);
        if (event.error !== undefined) throw new ApiFailure(0, event.error.code, event.error.message);
        yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Browsers say "network error" of an agent that is gone. */
async function reached(answer) {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ApiFailure(0, 'unreachable', `The agent at ${location.host} does not answer. Is it running ("agent start")?`);
  }
}
