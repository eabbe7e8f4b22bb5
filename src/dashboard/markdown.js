/**
 * A safe little Markdown: paragraphs, headings, lists, quotes, tables, rules, code, bold, italic and links. It makes
 * elements, never HTML from text, so an answer can show anything and run nothing. Links open elsewhere and only lead to
 * http(s).
 */
import { copyText, make } from './page.js';

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\s][^*\n]*\*)|(~~[^~\n]+~~)|(\[[^\]\n]+\]\(https?:\/\/[^\s)]+\))/g;
const FENCE = /^\s*```/;
const HEADING = /^#{1,6} /;
const ITEM = /^(\s*)(?:[-*+]|(\d+)[.)]) (.*)$/;
const QUOTE = /^> ?/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const TABLE_LINE = /^\s*\|?( *:?-+:? *\|)+ *:?-* *:?\s*$/;
/** Lists and quotes in each other; deeper is text. */
const DEPTH_MAX = 6;

/** Elements for a whole text, which may end in the middle of anything. */
export function markdown(text) {
  return blocksOf(text.split('\n'), 0);
}

function blocksOf(lines, depth) {
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    const nested = depth < DEPTH_MAX;
    if (FENCE.test(line)) {
      const end = lines.findIndex((other, index) => index > at && FENCE.test(other));
      const stop = end < 0 ? lines.length : end;
      blocks.push(codeBlock(lines.slice(at + 1, stop).join('\n'), line.replace(FENCE, '').trim()));
      at = stop + 1;
    } else if (line.trim() === '') {
      at += 1;
    } else if (HEADING.test(line)) {
      blocks.push(make('p', { class: 'heading' }, ...inline(line.replace(HEADING, ''))));
      at += 1;
    } else if (RULE.test(line)) {
      blocks.push(make('hr'));
      at += 1;
    } else if (nested && QUOTE.test(line)) {
      const end = endOf(lines, at, (other) => QUOTE.test(other));
      blocks.push(make('blockquote', {}, ...blocksOf(lines.slice(at, end).map((other) => other.replace(QUOTE, '')), depth + 1)));
      at = end;
    } else if (nested && ITEM.test(line)) {
      const [list, end] = listAt(lines, at, depth);
      blocks.push(list);
      at = end;
    } else if (line.includes('|') && TABLE_LINE.test(lines[at + 1] ?? '')) {
      const end = endOf(lines, at + 2, (other) => other.includes('|'));
      blocks.push(table(line, lines.slice(at + 2, end)));
      at = end;
    } else {
      const end = endOf(lines, at + 1, (other) => other.trim() !== '' && !startsBlock(other));
      blocks.push(make('p', {}, ...inline(lines.slice(at, end).join('\n'))));
      at = end;
    }
  }
  return blocks;
}

function startsBlock(line) {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

function endOf(lines, from, belongs) {
  let end = from;
  while (end < lines.length && belongs(lines[end])) end += 1;
  return end;
}

/** The items of one list; what is indented further belongs to the item above it. Returns it and the line after it. */
function listAt(lines, from, depth) {
  const [, margin, number] = ITEM.exec(lines[from]);
  const items = [];
  let at = from;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (item === null || item[1].length > margin.length + 1 || (item[2] === undefined) !== (number === undefined)) break;
    const end = endOf(lines, at + 1, (other) => /^\s/.test(other) && other.trim() !== '' && indentOf(other) > margin.length + 1);
    const inner = lines.slice(at + 1, end);
    const least = Math.min(...inner.map(indentOf), Infinity);
    items.push(make('li', {}, ...inline(item[3]), ...blocksOf(inner.map((other) => other.slice(least)), depth + 1)));
    at = end;
    // Items with an empty line between them are one list.
    if (lines[at]?.trim() === '' && ITEM.test(lines[at + 1] ?? '')) at += 1;
  }
  return [make(number === undefined ? 'ul' : 'ol', number === undefined || number === '1' ? {} : { start: number }, ...items), at];
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

function table(head, rows) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim());
  const row = (line, name) => make('tr', {}, ...cells(line).map((cell) => make(name, {}, ...inline(cell))));
  return make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table' }, make('table', {}, make('thead', {}, row(head, 'th')), make('tbody', {}, ...rows.map((line) => row(line, 'td')))));
}

function codeBlock(code, language) {
  const copy = make('button', { type: 'button', class: 'quiet small', 'aria-label': 'Copy the code', onclick: async () => {
    copy.textContent = await copyText(code) ? 'Copied' : 'Not allowed';
  } }, 'Copy');
  return make('div', { class: 'code' },
    make('div', { class: 'code-head' }, make('span', { class: 'grow' }, language), copy),
    make('pre', { tabindex: 0, role: 'region', 'aria-label': language === '' ? 'Code' : `Code: ${language}` }, make('code', {}, code)));
}

function inline(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    const [whole, code, bold, italic, struck] = match;
    if (code !== undefined) parts.push(make('code', {}, whole.slice(1, -1)));
    else if (bold !== undefined) parts.push(make('strong', {}, whole.slice(2, -2)));
    else if (italic !== undefined) parts.push(make('em', {}, whole.slice(1, -1)));
    else if (struck !== undefined) parts.push(make('del', {}, whole.slice(2, -2)));
    else {
      const border = whole.lastIndexOf('](');
      parts.push(make('a', { href: whole.slice(border + 2, -1), target: '_blank', rel: 'noreferrer noopener' }, whole.slice(1, border)));
    }
  }
  return [...parts, text.slice(end)].filter((part) => part !== '');
}
