/** Small helpers for making the page's elements. Text is always set as text: nothing here reads HTML. */

const SVG = 'http://www.w3.org/2000/svg';

/** The element with this id; the page always has it. */
export function byId(id) {
  return document.getElementById(id);
}

/** An HTML element with attributes (null = left out) and children (elements or text). */
export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Keeps the chosen option when it is still there. `options`: [value, text]. */
export function fillSelect(select, options) {
  const signature = JSON.stringify(options);
  if (select.dataset.signature === signature) return;
  const chosen = select.value;
  select.dataset.signature = signature;
  select.replaceChildren(...options.map(([value, text]) => make('option', { value }, text)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

/** A bar from 0 to 1 that says what it shows. */
export function meter(part, label, kind = '') {
  const percent = Math.round(Math.min(1, Math.max(0, part)) * 100);
  const fill = make('span', { class: 'fill' });
  fill.style.width = `${percent}%`;
  return make('span', { class: `meter ${kind}`, role: 'progressbar', 'aria-label': label, 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': percent }, fill);
}

/** True when it is on the clipboard. Browsers refuse it on pages that came over plain HTTP from another machine; the old way is left. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const place = make('textarea', { class: 'hidden', 'aria-hidden': 'true', tabindex: -1 });
    place.value = text;
    document.body.append(place);
    const focused = document.activeElement;
    place.select();
    const done = document.execCommand('copy');
    place.remove();
    focused?.focus();
    return done;
  }
}
