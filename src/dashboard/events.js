/** The list of what happened, newest first. */
import { clockTime, withShortIds } from './format.js';
import { byId, make } from './page.js';

const SHOWN_MAX = 200;
const NAMES = { membership: 'node', coordinator: 'lead', desired: 'model', healed: 'healed', offence: 'offence' };

/** Serials of one agent process grow; a smaller one than before is another process. */
let lastSerial = 0;

export function showEvent({ what, text, serial, agoMs }) {
  if (serial === lastSerial || (serial < lastSerial && serial !== 1)) return;
  lastSerial = serial;
  const list = byId('events');
  const time = new Date(Date.now() - agoMs);
  list.prepend(make('li', { 'data-what': what },
    make('time', { datetime: time.toISOString() }, clockTime(time)),
    make('span', { class: `tag ${what}` }, NAMES[what] ?? what),
    make('span', {}, withShortIds(text))));
  while (list.children.length > SHOWN_MAX) list.lastElementChild.remove();
}
