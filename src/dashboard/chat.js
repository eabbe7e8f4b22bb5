/** A chat with the cluster: streams, can be stopped, says how fast it was. */
import { callStream } from './api.js';
import { markdown } from './markdown.js';
import { byId, fillSelect, make } from './page.js';

/** Messages that go along with the next question. */
const KEPT_MESSAGES = 40;

export function startChat() {
  const log = byId('chat-log');
  const text = byId('chat-text');
  const figures = byId('chat-figures');
  let messages = [];
  let running = null;

  byId('chat-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void ask();
  });
  text.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void ask();
  });
  byId('chat-stop').addEventListener('click', () => running?.abort());
  byId('chat-clear').addEventListener('click', () => {
    running?.abort();
    messages = [];
    figures.textContent = '';
    empty();
    text.focus();
  });
  empty();

  function empty() {
    log.replaceChildren(make('p', { class: 'faint' }, 'What you ask stays between this page and the machines of your cluster.'));
  }

  async function ask() {
    const question = text.value.trim();
    if (question === '' || running !== null) return;
    if (messages.length === 0) log.replaceChildren();
    const asked = [...messages, { role: 'user', content: question }].slice(-KEPT_MESSAGES);
    messages = asked;
    text.value = '';
    bubble('user', 'You', question);
    const place = bubble('assistant', 'Answer', '');
    running = new AbortController();
    busy(true);
    try {
      const answer = await stream(asked, place, running.signal);
      if (messages === asked) messages = [...asked, { role: 'assistant', content: answer }];
    } finally {
      running = null;
      busy(false);
      text.focus();
    }
  }

  /** The answer as far as it came; what went wrong is shown and not thrown. */
  async function stream(asked, place, signal) {
    const begunMs = performance.now();
    let firstMs = 0;
    let pieces = 0;
    let answer = '';
    let ended = '';
    /** Above the answer, once the model thinks aloud. */
    let thoughts = null;
    try {
      const body = { model: byId('chat-model').value, messages: asked, stream: true, stream_options: { include_usage: true } };
      for await (const chunk of callStream('/v1/chat/completions', { method: 'POST', body, signal })) {
        const delta = chunk?.choices?.[0]?.delta;
        const piece = delta?.content ?? '';
        if (delta?.reasoning_content) {
          thoughts ??= thoughtsAbove(place);
          thoughts.lastChild.append(delta.reasoning_content);
          figures.textContent = 'thinking…';
        }
        if (piece !== '') {
          if (pieces === 0 && thoughts !== null) thoughts.open = false;
          if (pieces === 0) firstMs = performance.now();
          pieces += 1;
          answer += piece;
          show(place, answer);
          const seconds = (performance.now() - firstMs) / 1000;
          figures.textContent = pieces > 2 && seconds > 0 ? `${((pieces - 1) / seconds).toFixed(1)} tok/s` : 'answering…';
        }
        if (chunk?.usage) {
          const { predicted_per_second: speed, prompt_ms: waited } = chunk.timings;
          ended = `${chunk.usage.completion_tokens} tokens · ${speed.toFixed(1)} tok/s · first after ${(waited / 1000).toFixed(2)} s`;
        }
      }
      figures.textContent = ended;
    } catch (error) {
      if (signal.aborted) {
        figures.textContent = `stopped after ${((performance.now() - begunMs) / 1000).toFixed(1)} s`;
      } else {
        figures.textContent = '';
        place.append(make('p', { class: 'failure', role: 'alert' }, error.message));
      }
    }
    return answer;
  }

  /** Open while there is nothing else to read. */
  function thoughtsAbove(place) {
    const thoughts = make('details', { class: 'faint' }, make('summary', {}, 'Thoughts'), make('div', {}));
    thoughts.open = true;
    place.before(thoughts);
    return thoughts;
  }

  function bubble(kind, name, content) {
    const place = make('div', { class: 'said' });
    log.append(make('article', { class: `bubble ${kind}`, 'aria-label': name }, make('p', { class: 'who' }, name), place));
    show(place, content);
    log.scrollTop = log.scrollHeight;
    return place;
  }

  function show(place, content) {
    // Whoever has scrolled up to read is left there.
    const follow = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
    place.replaceChildren(...(content === '' ? [make('span', { class: 'waiting' }, '…')] : markdown(content.trimStart())));
    if (follow) log.scrollTop = log.scrollHeight;
  }

  function busy(now) {
    byId('chat-send').hidden = now;
    byId('chat-stop').hidden = !now;
    log.setAttribute('aria-busy', String(now));
    if (now) figures.textContent = 'waiting for the first token…';
  }

  return {
    show(models) {
      fillSelect(byId('chat-model'), [['', 'default'], ...models.map((model) => [model.name, model.loaded ? `${model.name} (loaded)` : model.name])]);
    },
  };
}
