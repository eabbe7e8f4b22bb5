/**
 * Nodes that were there and are not: for a while they stay in the picture, and a line at the top says who is gone and that
 * the models serve again. Only compares what the agent says with what it said before.
 */
import { clockTime } from './format.js';
import { byId } from './page.js';

/** How long a lost node is shown. */
const SHOWN_MS = 60_000;
/** Older events are history to a page that was just opened. */
const NEWS_MS = 5_000;
const KEPT_MAX = 20;

export function startLosses() {
  const place = byId('notice');
  const text = byId('notice-text');
  /** By node id: `{ node, name, atMs, at }`. */
  const gone = new Map();
  let before = null;
  let healed = '';
  let healedMs = 0;
  let hide = 0;

  byId('notice-close').addEventListener('click', () => {
    place.hidden = true;
  });

  function say() {
    const who = [...gone.values()].map(({ name, at }) => `${name} is gone (${at})`);
    place.dataset.kind = healed === '' ? 'warn' : 'good';
    text.textContent = [...who, healed].filter((part) => part !== '').join(' · ');
    place.hidden = text.textContent === '';
    clearTimeout(hide);
    hide = setTimeout(() => {
      place.hidden = true;
      healed = '';
    }, SHOWN_MS);
  }

  return {
    /** The nodes of the status that are gone lately: `{ node, name, at }` each. */
    look(status, names) {
      const now = performance.now();
      const here = new Map(status.nodes.map((node) => [node.nodeId, { node, name: names.get(node.nodeId) }]));
      let news = false;
      for (const [nodeId, { node, name }] of before ?? []) {
        if (here.has(nodeId) || gone.has(nodeId) || gone.size >= KEPT_MAX) continue;
        gone.set(nodeId, { node, name, atMs: now, at: clockTime(new Date()) });
        news = true;
        // The sentence may have come before the status that shows the loss.
        if (now - healedMs > NEWS_MS) healed = '';
      }
      for (const [nodeId, { atMs }] of gone) {
        if (!here.has(nodeId) && now - atMs < SHOWN_MS) continue;
        gone.delete(nodeId);
        news ||= here.has(nodeId);
      }
      before = here;
      if (news) say();
      return [...gone.values()];
    },
    event({ what, text: words, agoMs }) {
      if (what !== 'healed' || agoMs > NEWS_MS) return;
      healed = words;
      healedMs = performance.now();
      say();
    },
    /** Another agent, or the same after a break, may know others: nobody is lost by that. */
    forget() {
      before = null;
      gone.clear();
    },
  };
}
