/** Numbers and names as people read them. */

const UNITS = [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3]];
const NODE_ID = String.raw`[1-9A-HJ-NP-Za-km-z]{40,60}`;

/** Decimal units, as the command line prints them. */
export function bytes(count) {
  for (const [unit, size] of UNITS) if (count >= size) return `${(count / size).toFixed(count >= size * 100 ? 0 : 1)} ${unit}`;
  return `${count} B`;
}

/** `23 of 25 GB`, in the unit of the whole. */
export function share(part, whole) {
  const [unit, size] = UNITS.find(([, least]) => whole >= least) ?? ['B', 1];
  const number = (count) => (count / size).toFixed(whole >= size * 10 ? 0 : 1);
  return `${number(part)} of ${number(whole)} ${unit}`;
}

/** `[start, end)` as people count layers: first to last. */
export function layers(range) {
  return range.end - range.start === 1 ? `layer ${range.start}` : `layers ${range.start}–${range.end - 1}`;
}

export function micros(count) {
  return count >= 10_000 ? `${Math.round(count / 1000)} ms` : `${(count / 1000).toFixed(1)} ms`;
}

export function speed(tokensPerSecond) {
  return `${tokensPerSecond.toFixed(tokensPerSecond >= 100 ? 0 : 1)} tok/s`;
}

export function counted(count, what) {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

export function shortId(nodeId) {
  return nodeId.slice(-6);
}

/** A sentence of the agent with the names that this page gives nodes: `pc (12D3Koo…)` and a lone id become `pc`. */
export function withNames(text, names) {
  const named = text.replace(new RegExp(String.raw`(\S+) \((${NODE_ID})\)`, 'g'), (_, hostname, id) => names.get(id) ?? hostname);
  return named.replace(new RegExp(String.raw`\b${NODE_ID}\b`, 'g'), (id) => names.get(id) ?? `…${shortId(id)}`);
}

export function clockTime(date) {
  return date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** Host names; those that several nodes share get the end of their id. */
export function nodeNames(nodes) {
  const counts = new Map();
  for (const node of nodes) counts.set(node.capabilities?.hostname, (counts.get(node.capabilities?.hostname) ?? 0) + 1);
  return new Map(nodes.map((node) => {
    const hostname = node.capabilities?.hostname ?? 'unknown';
    return [node.nodeId, counts.get(node.capabilities?.hostname) > 1 ? `${hostname} …${shortId(node.nodeId)}` : hostname];
  }));
}
