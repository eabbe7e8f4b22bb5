/** `agent models info` and `search` as text for people, at most 80 columns wide where names allow. Data in, text out. */
import type { ModelView } from '../agent/service.js';
import type { HeldShard, LayerRange } from '../core/types.js';
import type { ModelCard } from '../model/catalogue.js';
import type { KeptModel } from '../ports.js';

export interface ModelHolder {
  readonly hostname: string;
  readonly whole: boolean;
  readonly shards: readonly HeldShard[];
}

export function renderModelInfo(model: ModelView, holders: readonly ModelHolder[], kept: KeptModel | null): string {
  const lines = [
    `${clean(model.name)}: ${clean(model.architecture)}, ${model.layers} layers, ${sizeText(model.sizeBytes)}${model.loaded ? ', being served' : ''}`,
    `digest ${model.digest}`,
    ...(kept?.internet === null || kept === null ? [] : [`internet ${clean(kept.internet)}`]),
    '',
    holders.length === 0 ? 'No node holds any of it: it is fetched when it is served.' : 'Held by',
    ...holders.map((holder) => `  ${clean(holder.hostname)}: ${holder.whole ? 'the whole model' : holder.shards.map(shardText).join(', ')}`),
    '',
    ...keptLines(kept),
  ];
  return lines.join('\n');
}

/** A card a line: name, size, context, licence and quantisations; `*` = restricted. */
export function renderCards(cards: readonly ModelCard[]): string {
  if (cards.length === 0) return 'The catalogue has no such model. Any GGUF of the hub can be named as hf:owner/repo.';
  const rows = cards.map((card) => [card.name, card.parameters, contextText(card.context), licenceText(card), card.quants.join(' ')]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ').trimEnd());
  const restricted = cards.some((card) => card.restricted) ? '\n* on terms that restrict use: read them on the hub before you fetch it.' : '';
  return `${lines.join('\n')}\n${restricted}\nUse a name as it is, or with a quantisation: ${cards[0]?.name ?? ''}:${cards[0]?.quants[0] ?? ''}`;
}

function contextText(tokens: number): string {
  return tokens % 1024 === 0 ? `${tokens / 1024}k` : String(tokens);
}

function licenceText(card: ModelCard): string {
  return `${card.licence.replace(/ (Community License|Terms of Use)$/, '')}${card.restricted ? '*' : ''}`;
}

function keptLines(kept: KeptModel | null): string[] {
  if (kept === null || (kept.path === null && kept.shards.length === 0)) return ['Nothing of it is on this machine.'];
  const file = kept.path === null ? [] : [`  ${clean(kept.path)}${kept.ours ? '' : ' (used in place)'}`];
  const shards = kept.shards.map((shard) => `  layers ${shardText(shard)}, ${sizeText(shard.bytes)}${shard.complete ? '' : ', half fetched'}${shard.inUse ? ', in use' : ''}`);
  const end = kept.inUse ? 'It is being served and cannot be removed now.' : `"agent models rm ${clean(kept.name)}" frees ${sizeText(kept.freesBytes)}.`;
  return ['On this machine', ...file, ...shards, end];
}

/** First to last layer, both included, and what the stage has besides. */
function shardText({ range, head, tail }: { readonly range: LayerRange; readonly head: boolean; readonly tail: boolean }): string {
  const layers = range.end - range.start === 1 ? String(range.start) : `${range.start}-${range.end - 1}`;
  const extras = [...(head ? ['the embedding'] : []), ...(tail ? ['the output'] : [])];
  return extras.length === 0 ? layers : `${layers} with ${extras.join(' and ')}`;
}

/** 1e9 bytes are 1.0 GB. */
export function sizeText(bytes: number): string {
  for (const [unit, size] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]] as const) {
    if (bytes >= size * 0.99995) return `${(bytes / size).toFixed(1)} ${unit}`;
  }
  return `${bytes} B`;
}

/** Names come from other nodes: no control characters reach the terminal. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}
