/**
 * The ring as a ring: nodes with stages around an ellipse in the order in which activations travel, the others below,
 * with those that are gone lately. Everything is in CSS pixels of the place it has, so that text stays readable on a phone.
 */
import { layers, micros, nodeNames, share, speed } from './format.js';
import { byId, draw, fillSelect } from './page.js';
import { ringLayout } from './ring-layout.js';

const CARD = { width: 176, narrowWidth: 140, height: 102 };
const NARROW = 560;
const GAP = 14;
/** One round of the moving dots (style.css). A new drawing goes on where the old one was. */
const FLOW_MS = 900;

export function startRing() {
  const place = byId('ring');
  const choice = byId('ring-model');
  let last = null;
  let signature = '';

  function redraw() {
    if (last === null || place.clientWidth === 0) return;
    const { status, requests, gone } = last;
    const instance = status.instances.find((one) => one.instanceId === choice.value) ?? null;
    byId('ring-legend').hidden = (instance?.stages.length ?? 0) < 2;
    const next = JSON.stringify([place.clientWidth, status.term, status.coordinator, instance, status.nodes.map(essentials), requests > 0, gone.map(({ name }) => name)]);
    if (next === signature) return;
    signature = next;
    place.replaceChildren(picture({ status, instance, requests, gone, width: place.clientWidth }));
  }

  choice.addEventListener('change', redraw);
  new ResizeObserver(redraw).observe(place);
  return {
    show(status, requests, gone) {
      last = { status, requests, gone };
      fillSelect(choice, status.instances.map((instance) => [instance.instanceId, instance.model]));
      byId('ring-choice').hidden = status.instances.length < 2;
      redraw();
    },
  };
}

function essentials({ nodeId, state, self, problem, capabilities }) {
  return capabilities === null
    ? [nodeId, state, problem]
    : [nodeId, state, problem, self, capabilities.hostname, capabilities.backends, Math.round((capabilities.ramAvailableBytes / capabilities.ramTotalBytes) * 50), capabilities.links];
}

function picture({ status, instance, requests, gone, width }) {
  const names = new Map([...gone.map(({ node, name }) => [node.nodeId, name]), ...nodeNames(status.nodes)]);
  const stages = instance?.stages ?? [];
  const staged = stages.map((stage) => ({ stage, node: status.nodes.find((node) => node.nodeId === stage.nodeId) ?? null }));
  const others = status.nodes.filter((node) => !stages.some((stage) => stage.nodeId === node.nodeId)).map((node) => ({ stage: null, node }));
  const ghosts = gone.filter(({ node }) => !stages.some((stage) => stage.nodeId === node.nodeId))
    .map(({ node, at }) => ({ stage: null, node: { ...node, state: 'lost', self: false, coordinator: false, capabilities: null }, goneAt: at }));
  const around = staged.length > 0 ? staged : others;
  const below = staged.length > 0 ? [...others, ...ghosts] : ghosts;

  const narrow = width < NARROW;
  const card = { width: narrow ? CARD.narrowWidth : CARD.width, height: CARD.height };
  const lines = middleLines(status, instance, names, around.length);
  const layout = ringLayout({ width, count: around.length, card, narrow, lines: lines.length });
  const perRow = Math.max(1, Math.floor((width - GAP) / (card.width + GAP)));
  const ringHeight = layout.bottom;
  const height = ringHeight + (below.length === 0 ? 0 : 26 + Math.ceil(below.length / perRow) * (card.height + GAP));
  const busy = requests > 0 || (instance?.activeSequences ?? 0) > 0;

  const svg = draw('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': inWords(status, instance, around, names), class: `${busy ? 'busy' : ''} ${instance?.state ?? 'idle'}` });
  svg.style.setProperty('--flow-delay', `${-Math.round(performance.now() % FLOW_MS)}ms`);
  if (staged.length > 1) {
    layout.edges.forEach((edge, index) => svg.append(...edgeParts(edge, around, index)));
  } else if (staged.length === 0 && around.length > 1 && layout.track !== null) {
    svg.append(draw('ellipse', { class: 'track', cx: layout.middle.x, cy: layout.middle.y, rx: layout.track.radiusX, ry: layout.track.radiusY }));
  }
  lines.forEach(([kind, text], index) => {
    svg.append(draw('text', { class: kind, x: layout.middle.x, y: layout.middle.y + (index - (lines.length - 1) / 2) * 21 + 4, 'text-anchor': 'middle' }, text));
  });
  around.forEach((entry, index) => svg.append(nodeCard(entry, layout.points[index], card, names)));
  if (below.length > 0) {
    svg.append(draw('text', { class: 'faint', x: width / 2, y: ringHeight + 12, 'text-anchor': 'middle' }, 'not in this ring'));
    below.forEach((entry, index) => {
      const row = Math.floor(index / perRow);
      const inRow = Math.min(perRow, below.length - row * perRow);
      const left = width / 2 - ((inRow - 1) * (card.width + GAP)) / 2;
      svg.append(nodeCard(entry, { x: left + (index % perRow) * (card.width + GAP), y: ringHeight + 26 + card.height / 2 + row * (card.height + GAP) }, card, names));
    });
  }
  return svg;
}

/** From one stage to the next; the last one's leads back to the head with the drawn token. */
function edgeParts({ path, arrow, degrees, label }, around, index) {
  const next = around[(index + 1) % around.length];
  const closing = index === around.length - 1;
  const link = around[index].node?.capabilities?.links?.find((figures) => figures.nodeId === next.node?.nodeId);
  const parts = [
    draw('path', { class: `edge ${closing ? 'closing' : ''}`, d: path }),
    draw('path', { class: 'flow', d: path }),
    draw('path', { class: 'arrow', d: 'M -7 -6 L 7 0 L -7 6 z', transform: `translate(${arrow.x} ${arrow.y}) rotate(${degrees})` }),
  ];
  if (link !== undefined) parts.push(draw('text', { class: 'faint small', ...label, 'text-anchor': 'middle' }, micros(link.roundTripMicros)));
  return parts;
}

/** `[class, text]` each. */
function middleLines(status, instance, names, count) {
  const leader = status.coordinator === null ? 'no coordinator yet' : `led by ${names.get(status.coordinator) ?? 'another node'}`;
  const led = ['faint small', status.term === null ? leader : `${leader} · term ${status.term.counter}`];
  if (instance === null) return [['title', count === 0 ? 'no node' : 'nothing loaded'], ['faint', 'plan a model, or just ask'], led];
  const lines = [['title', instance.model], [`state ${instance.state}`, instance.state]];
  const measured = instance.pace?.tokenMicros > 0 ? `${speed(1e6 / instance.pace.tokenMicros)} alone` : '';
  const hop = instance.stages.length > 1 && instance.hops?.samples > 0 ? `${micros(instance.hops.overheadMicros)} per hop` : '';
  const figures = [measured, hop].filter((part) => part !== '').join(' · ');
  if (figures !== '') lines.push(['small', figures]);
  if ((instance.activeSequences ?? 0) + (instance.queuedSequences ?? 0) > 0) {
    lines.push(['small', `${instance.activeSequences ?? 0} answering${instance.queuedSequences > 0 ? `, ${instance.queuedSequences} waiting` : ''}`]);
  }
  return [...lines, led];
}

function nodeCard({ node, stage, goneAt = null }, { x, y }, { width, height }, names) {
  const left = x - width / 2 + 12;
  const top = y - height / 2;
  const inner = width - 24;
  const capabilities = node?.capabilities ?? null;
  const name = (node === null ? stage?.hostname : names.get(node.nodeId)) ?? 'unknown';
  const state = node === null ? 'lost' : node.state;
  const backend = stage?.backend ?? capabilities?.backends[0] ?? '';
  const marks = state === 'alive' ? [node?.self ? 'this node' : '', backend].filter((mark) => mark !== '').join(' · ') : goneAt !== null ? 'gone since' : state === 'lost' || state === 'suspect' ? 'does not answer' : state;
  const parts = [
    draw('title', {}, `${name}: ${state}${node?.problem ? `, ${node.problem}` : ''}`),
    draw('rect', { class: 'box', x: x - width / 2, y: top, width, height, rx: 12 }),
    draw('text', { class: 'name', x: left, y: top + 22 }, fitted(name, (inner - (node?.coordinator ? 28 : 0)) / 8.9)),
    draw('text', { class: `small ${state === 'alive' ? 'faint' : 'trouble'}`, x: left, y: top + 40 }, fitted(marks, inner / 6.6)),
  ];
  const holds = stage === null ? goneAt ?? 'no layers' : stageText(stage);
  parts.push(draw('text', { class: stage === null ? 'faint small' : 'small strong', x: left, y: top + 57 }, fitted(holds, inner / 6.6)));
  if (node?.coordinator) {
    parts.push(draw('path', { class: 'crown', d: 'M 0 10 L -1 1 L 4 5 L 8 0 L 12 5 L 17 1 L 16 10 z', transform: `translate(${x + width / 2 - 29} ${top + 11})` }, draw('title', {}, 'coordinator')));
  }
  if (capabilities !== null) {
    const { ramAvailableBytes, ramTotalBytes } = capabilities;
    parts.push(
      draw('rect', { class: 'bar-back', x: left, y: top + 67, width: inner, height: 6, rx: 3 }),
      draw('rect', { class: 'bar-fill', x: left, y: top + 67, width: Math.max(3, inner * (1 - ramAvailableBytes / ramTotalBytes)), height: 6, rx: 3 }),
      draw('text', { class: 'faint small', x: left, y: top + 90 }, `${share(ramAvailableBytes, ramTotalBytes)} free`),
    );
  }
  return draw('g', { class: `node ${state} ${node?.coordinator ? 'coordinator' : ''}` }, ...parts);
}

function stageText(stage) {
  if (stage.state === 'fetching' || stage.state === 'loading') return `${layers(stage.range).replace(/^layers? /, '')} · ${stage.state} ${Math.round(stage.progress * 100)} %`;
  return stage.state === 'ready' ? layers(stage.range) : `${layers(stage.range)} · ${stage.state}`;
}

function fitted(text, characters) {
  const most = Math.floor(characters);
  if (text.length <= most) return text;
  // The end tells machines with like names apart.
  const tail = Math.min(8, Math.floor(most / 2));
  return `${text.slice(0, most - tail - 1)}…${text.slice(-tail)}`;
}

function inWords(status, instance, around, names) {
  const nodes = `${status.nodes.length} ${status.nodes.length === 1 ? 'node' : 'nodes'}`;
  if (instance === null || around.length === 0) return `${nodes}; no model is loaded. The table below says more.`;
  const order = around.map(({ stage }) => `${names.get(stage.nodeId) ?? stage.hostname} with ${layers(stage.range)}`).join(', then ');
  return `Ring of ${instance.model}, ${instance.state}: ${order}, and back. ${nodes} in the cluster.`;
}
