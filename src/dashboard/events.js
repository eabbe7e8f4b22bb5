/** The list of what happened, newest first. */
import { clockTime, withNames } from './format.js';
import { byId, make } from './page.js';

const SHOWN_MAX = 200;
const NAMES = { membership: 'node', coordinator: 'lead', desired: 'model', healed: 'healed', offence: 'offence' };

/** After a break the agent tells again what it told; another process counts from 1 again. */
const SAME_MS = 10_000;
let shown = [];
let names = new Map();

/** Ids in events are replaced by these, also in those that are shown already. */
export function nameEvents(known) {
  if (JSON.stringify([...known]) === JSON.stringify([...names])) return;
  // Who has left keeps the name that it had.
  names = new Map([...names, ...known]);
  for (const place of byId('events').querySelectorAll('[data-text]')) place.textContent = withNames(place.dataset.text, names);
}

export function showEvent({ what, text, serial, agoMs }) {
  const atMs = Date.now() - agoMs;
  if (shown.some((other) => other.serial === serial && other.text === text && Math.abs(other.atMs - atMs) < SAME_MS)) return;
  shown = [...shown.slice(1 - SHOWN_MAX), { serial, text, atMs }];
  const list = byId('events');
  byId('events-none').hidden = true;
  const time = new Date(atMs);
  list.prepend(make('li', { 'data-what': what },
    make('time', { datetime: time.toISOString() }, clockTime(time)),
    make('span', { class: `tag ${what}` }, NAMES[what] ?? what),
    make('span', { 'data-text': text }, withNames(text, names))));
  while (list.children.length > SHOWN_MAX) list.lastElementChild.remove();
}
