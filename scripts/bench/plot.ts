/** The serving table as a picture: tokens per second by number of answers, a bar for each ring. Pure: samples in, SVG out. */
export interface PlottedRates {
  readonly agents: number;
  readonly rates: readonly { readonly sequences: number; readonly tokensPerSecond: number }[];
}

const WIDTH = 640;
const HEIGHT = 320;
const MARGIN = { left: 56, right: 16, top: 40, bottom: 44 };
/** Readable on light and on dark paper. */
const COLOURS = ['#4c78a8', '#f58518', '#54a24b'];
const INK = '#777777';

export function servingPlot(samples: readonly PlottedRates[], caption: string): string {
  const groups = samples[0]?.rates.map(({ sequences }) => sequences) ?? [];
  const highest = Math.max(1, ...samples.flatMap(({ rates }) => rates.map(({ tokensPerSecond }) => tokensPerSecond)));
  const step = niceStep(highest / 5);
  const top = Math.ceil(highest / step) * step;
  const plotWidth = WIDTH - MARGIN.left - MARGIN.right;
  const plotHeight = HEIGHT - MARGIN.top - MARGIN.bottom;
  const y = (value: number): number => MARGIN.top + plotHeight * (1 - value / top);
  const groupWidth = plotWidth / Math.max(1, groups.length);
  const barWidth = (groupWidth * 0.7) / Math.max(1, samples.length);
  const parts: string[] = [];
  for (let value = 0; value <= top + step / 2; value += step) {
    parts.push(`<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}" stroke="${INK}" stroke-opacity="0.25"/>`);
    parts.push(text(MARGIN.left - 8, y(value) + 4, 'end', String(Math.round(value))));
  }
  groups.forEach((sequences, group) => {
    const left = MARGIN.left + groupWidth * group + groupWidth * 0.15;
    samples.forEach((sample, index) => {
      const value = sample.rates[group]?.tokensPerSecond ?? 0;
      const x = left + barWidth * index;
      parts.push(`<rect x="${x.toFixed(1)}" y="${y(value).toFixed(1)}" width="${(barWidth - 2).toFixed(1)}" height="${(y(0) - y(value)).toFixed(1)}" fill="${COLOURS[index % COLOURS.length]}"/>`);
      parts.push(text(x + barWidth / 2 - 1, y(value) - 4, 'middle', value.toFixed(value < 100 ? 1 : 0)));
    });
    parts.push(text(left + groupWidth * 0.35, HEIGHT - MARGIN.bottom + 18, 'middle', `${sequences} answer${sequences === 1 ? '' : 's'}`));
  });
  samples.forEach((sample, index) => {
    const x = MARGIN.left + 150 * index;
    parts.push(`<rect x="${x}" y="14" width="12" height="12" fill="${COLOURS[index % COLOURS.length]}"/>`);
    parts.push(text(x + 18, 24, 'start', `${sample.agents} node${sample.agents === 1 ? '' : 's'}, a core each`));
  });
  parts.push(text(WIDTH / 2, HEIGHT - 8, 'middle', caption));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img"><title>${escaped(caption)}</title>\n${parts.join('\n')}\n</svg>\n`;
}

function text(x: number, y: number, anchor: 'start' | 'middle' | 'end', content: string): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${INK}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** 1, 2 or 5 times a power of ten, at least `value`. */
function niceStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
