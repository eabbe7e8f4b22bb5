/** A chat with the cluster: streams, can be stopped, says how fast it was. What is kept is in this page alone. */
import { callStream } from './api.js';
import { speed } from './format.js';
import { markdown } from './markdown.js';
import { byId, copyText, fillSelect, make } from './page.js';

/** Messages that go along with the next question. */
const KEPT_MESSAGES = 40;
const HINT = 'Enter sends, Shift+Enter starts a new line.';

export function startChat() {
  const log = byId('chat-log');
  const text = byId('chat-text');
  const figures = byId('chat-figures');
  let messages = [];
  let running = null;
  let serves = true;
  /** What the ring is at while an answer waits for it; '' = it answers. */
  let trouble = '';

  byId('chat-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void ask(text.value.trim());
  });
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return running?.abort();
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return undefined;
    event.preventDefault();
    return void ask(text.value.trim());
  });
  byId('chat-stop').addEventListener('click', () => running?.abort());
  byId('chat-clear').addEventListener('click', () => {
    running?.abort();
    messages = [];
    figures.textContent = HINT;
    empty();
    text.focus();
  });
  figures.textContent = HINT;
  empty();

  function empty() {
    log.replaceChildren(make('div', { class: 'faint empty' },
      make('p', {}, serves ? 'Ask anything: a model that is not loaded is loaded by the first question.' : 'There is no model to ask yet: the list of models says how to get one.'),
      make('p', {}, 'What you ask stays between this page and the machines of your cluster.')));
  }

  async function ask(question) {
    if (question === '' || running !== null) return;
    if (messages.length === 0) log.replaceChildren();
    text.value = '';
    addBubble('user', 'You', question);
    await answer([...messages, { role: 'user', content: question }].slice(-KEPT_MESSAGES));
  }

  /** Messages that nothing answered are no part of what goes along later. */
  async function answer(asked) {
    const bubble = addBubble('assistant', 'Answer', '');
    running = new AbortController();
    const before = messages;
    messages = asked;
    busy(true);
    try {
      const { content, failure } = await stream(asked, bubble, running.signal);
      if (messages === asked) messages = content === '' ? before : [...asked, { role: 'assistant', content }];
      finish(bubble, content, failure, failure === null ? null : () => {
        bubble.element.remove();
        messages = before;
        void answer(asked);
      });
    } finally {
      running = null;
      busy(false);
      text.focus();
    }
  }

  function requestBody(asked) {
    const [system, temperature, most] = [byId('chat-system').value.trim(), byId('chat-temperature').value, byId('chat-tokens').value];
    return {
      model: byId('chat-model').value,
      messages: system === '' ? asked : [{ role: 'system', content: system }, ...asked],
      stream: true,
      stream_options: { include_usage: true },
      ...(temperature === '' ? {} : { temperature: Number(temperature) }),
      ...(most === '' ? {} : { max_tokens: Number(most) }),
    };
  }

  /** The answer as far as it came, and what went wrong. */
  async function stream(asked, bubble, signal) {
    const begunMs = performance.now();
    let firstMs = 0;
    let pieces = 0;
    let content = '';
    let ended = '';
    let drawing = 0;
    /** Above the answer, once the model thinks aloud. */
    let thoughts = null;
    const drawSoon = () => {
      // More tokens may come than pictures are drawn.
      drawing ||= requestAnimationFrame(() => {
        drawing = 0;
        show(bubble.place, content);
      });
    };
    try {
      for await (const chunk of callStream('/v1/chat/completions', { method: 'POST', body: requestBody(asked), signal })) {
        const delta = chunk?.choices?.[0]?.delta;
        const piece = delta?.content ?? '';
        if (chunk?.model) bubble.who.textContent = chunk.model;
        if (delta?.reasoning_content) {
          thoughts ??= thoughtsAbove(bubble.place);
          keepingUp(() => thoughts.lastChild.append(delta.reasoning_content));
          figures.textContent = 'thinking…';
        }
        if (piece !== '') {
          if (pieces === 0 && thoughts !== null) thoughts.open = false;
          if (pieces === 0) firstMs = performance.now();
          pieces += 1;
          content += piece;
          drawSoon();
          const seconds = (performance.now() - firstMs) / 1000;
          figures.textContent = pieces > 2 && seconds > 0 ? speed((pieces - 1) / seconds) : 'answering…';
        }
        if (chunk?.usage) {
          const { predicted_per_second: perSecond, prompt_ms: waited } = chunk.timings;
          ended = `${chunk.usage.completion_tokens} tokens · ${speed(perSecond)} · first after ${(waited / 1000).toFixed(2)} s`;
        }
      }
      return { content, failure: null };
    } catch (error) {
      if (signal.aborted) ended = `stopped after ${((performance.now() - begunMs) / 1000).toFixed(1)} s`;
      return { content, failure: signal.aborted ? null : error.message };
    } finally {
      cancelAnimationFrame(drawing);
      show(bubble.place, content, true);
      figures.textContent = HINT;
      bubble.ended = ended;
    }
  }

  /** What a finished answer offers. */
  function finish(bubble, content, failure, retry) {
    const line = make('div', { class: 'after' }, make('span', { class: 'faint grow' }, bubble.ended));
    if (content !== '') {
      const copy = make('button', { type: 'button', class: 'quiet small', 'aria-label': 'Copy the answer', onclick: async () => {
        copy.textContent = await copyText(content.trim()) ? 'Copied' : 'Not allowed';
      } }, 'Copy');
      line.append(copy);
    }
    if (retry !== null) line.append(make('button', { type: 'button', class: 'quiet small', onclick: () => running === null && retry() }, 'Try again'));
    keepingUp(() => {
      if (failure !== null) bubble.place.append(make('p', { class: 'failure', role: 'alert' }, failure));
      bubble.element.append(line);
    });
  }

  /** Open while there is nothing else to read. */
  function thoughtsAbove(place) {
    const thoughts = make('details', { class: 'faint' }, make('summary', {}, 'Thoughts'), make('div', {}));
    thoughts.open = true;
    place.before(thoughts);
    return thoughts;
  }

  function addBubble(kind, name, content) {
    const place = make('div', { class: 'said' });
    const who = make('p', { class: 'who' }, name);
    const element = make('article', { class: `bubble ${kind}`, 'aria-label': name }, who, place);
    log.append(element);
    if (kind === 'user') place.append(make('p', {}, content));
    else show(place, content);
    log.scrollTop = log.scrollHeight;
    return { element, who, place, ended: '' };
  }

  function show(place, content, over = false) {
    const nothing = over ? [] : [make('span', { class: 'waiting' }, '…')];
    keepingUp(() => place.replaceChildren(...(content === '' ? nothing : markdown(content.trimStart()))));
  }

  /** Whoever has scrolled up to read is left there. */
  function keepingUp(change) {
    const follow = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
    change();
    if (follow) log.scrollTop = log.scrollHeight;
  }

  function busy(now) {
    byId('chat-send').hidden = now;
    byId('chat-stop').hidden = !now;
    log.setAttribute('aria-busy', String(now));
    if (now) figures.textContent = trouble === '' ? 'waiting for the first token…' : trouble;
  }

  return {
    show(status, models) {
      fillSelect(byId('chat-model'), [['', 'default'], ...models.map((model) => [model.name, model.loaded ? `${model.name} (loaded)` : model.name])]);
      if (serves !== models.length > 0) {
        serves = models.length > 0;
        if (messages.length === 0 && running === null) empty();
      }
      const model = byId('chat-model').value;
      const instance = status.instances.find((one) => (model === '' ? true : one.model === model));
      trouble = { planning: 'the ring is planned; the answer goes on after that…', preparing: 'the model is being loaded; the answer goes on after that…' }[instance?.state] ?? '';
      if (running !== null && trouble !== '') figures.textContent = trouble;
    },
  };
}
