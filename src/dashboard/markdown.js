/**
 * A safe little Markdown: paragraphs, headings, lists, code, bold, italic and links. It makes elements, never HTML from
 * text, so an answer can show anything and run nothing. Links open elsewhere and only lead to http(s).
 */
import { make } from './page.js';

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\n]+\*)|(\[[^\]\n]+\]\(https?:\/\/[^\s)]+\))/g;

/** Elements for a whole text, which may end in the middle of anything. */
export function markdown(text) {
  const blocks = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    if (line.startsWith('```')) {
      const end = lines.findIndex((other, index) => index > at && other.startsWith('```'));
      const stop = end < 0 ? lines.length : end;
      blocks.push(make('pre', { tabindex: 0 }, make('code', {}, lines.slice(at + 1, stop).join('\n'))));
      at = stop + 1;
    } else if (line.trim() === '') {
      at += 1;
    } else if (/^#{1,4} /.test(line)) {
      blocks.push(make('p', { class: 'heading' }, ...inline(line.replace(/^#+ /, ''))));
      at += 1;
    } else if (/^\s*([-*]|\d+[.)]) /.test(line)) {
      const ordered = /^\s*\d/.test(line);
      const items = [];
      for (; at < lines.length && /^\s*([-*]|\d+[.)]) /.test(lines[at]); at += 1) {
        items.push(make('li', {}, ...inline(lines[at].replace(/^\s*([-*]|\d+[.)]) /, ''))));
      }
      blocks.push(make(ordered ? 'ol' : 'ul', {}, ...items));
    } else {
      const start = at;
      while (at < lines.length && lines[at].trim() !== '' && !/^(```|#{1,4} |\s*([-*]|\d+[.)]) )/.test(lines[at])) at += 1;
      blocks.push(make('p', {}, ...inline(lines.slice(start, at).join('\n'))));
    }
  }
  return blocks;
}

function inline(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    const [whole, code, bold, italic] = match;
    if (code !== undefined) parts.push(make('code', {}, whole.slice(1, -1)));
    else if (bold !== undefined) parts.push(make('strong', {}, whole.slice(2, -2)));
    else if (italic !== undefined) parts.push(make('em', {}, whole.slice(1, -1)));
    else {
      const border = whole.lastIndexOf('](');
      parts.push(make('a', { href: whole.slice(border + 2, -1), target: '_blank', rel: 'noreferrer noopener' }, whole.slice(1, border)));
    }
  }
  return [...parts, text.slice(end)];
}
