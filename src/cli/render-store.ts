/** `agent models info` and `search` as text for people, at most 80 columns wide where names allow. Data in, text out. */
import type { ModelView } from '../agent/service.js';
import type { HeldShard, LayerRange } from '../core/types.js';
import type { ModelCard } from '../model/catalogue.js';
import { licenceAddress } from '../model/catalogue.js';
import type { KeptModel } from '../ports.js';

/** The widest line where names allow. */
const COLUMNS = 80;

export interface ModelHolder {
  readonly hostname: string;
  readonly whole: boolean;
  readonly shards: readonly HeldShard[];
}

export function renderModelInfo(model: ModelView, holders: readonly ModelHolder[], kept: KeptModel | null): string {
  const lines = [
    headLine(model),
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

function headLine(model: ModelView): string {
  const name = `${clean(model.name)}:`;
  const facts = `${clean(model.architecture)}, ${model.layers} layers, ${sizeText(model.sizeBytes)}${model.loaded ? ', being served' : ''}`;
  return name.length + 1 + facts.length <= COLUMNS ? `${name} ${facts}` : `${name}\n  ${facts}`;
}

/** A card a line: name, size, context, licence and the usual quantisation; `*` = restricted. */
export function renderCards(cards: readonly ModelCard[]): string {
  if (cards.length === 0) return 'The catalogue has no such model. Any GGUF of the hub can be named as hf:owner/repo.';
  const rows = cards.map((card) => [card.name, card.parameters, contextText(card.context), licenceText(card), card.quants[0] ?? '']);
  const table = [['Model', 'Size', 'Context', 'Licence', 'Quant'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ').trimEnd());
  const restricted = cards.some((card) => card.restricted) ? '\n* on terms that restrict use, to be accepted before it is fetched.' : '';
  return `${lines.join('\n')}\n${restricted}\nA name can be used as it is; "agent models info NAME" says more.`;
}

/** Everything that the catalogue says of a model. */
export function renderCard(card: ModelCard): string {
  const { temperature, topP, topK, minP } = card.sampling;
  const sampling = [['temperature', temperature], ['top-p', topP], ['top-k', topK], ['min-p', minP]].filter(([, value]) => value !== undefined).map(([name, value]) => `${name} ${value}`);
  const checked = card.checked.length === 0 ? 'nothing yet' : card.checked.join(', ');
  const rows: readonly (readonly [string, string])[] = [
    ['parameters', card.parameters], ['context', `${card.context} tokens`], ['comes as', card.quants.map((quant) => `${card.name}:${quant}`).join('\n')], ['from', `hf:${card.repository}`],
    ['licence', card.restricted ? `${card.licence}\n${licenceAddress(card)}\nrestricts use: accept it with --accept-licence` : card.licence],
    ['template', card.template], ['sampling', sampling.join(', ')], ['backends', (card.backends ?? []).join(', ')], ['notes', card.notes], ['checked', checked],
  ];
  const lines = rows.filter(([, value]) => value !== '').map(([name, value]) => `  ${name.padEnd(11)} ${value.replace(/\n/g, `\n${' '.repeat(14)}`)}`);
  return `${card.name} in the catalogue\n${lines.join('\n')}`;
}

function contextText(tokens: number): string {
  return tokens % 1024 === 0 ? `${tokens / 1024}k` : String(tokens);
}

const LICENCE_WIDTH = 16;

/** `Llama 3.1*`, `Gemma*`, `Apache-2.0`, cut to the width of the column. */
function licenceText(card: ModelCard): string {
  const short = card.licence.replace(/ (Community License|Terms of Use|License( v?[\d.]+)?)$/, '');
  return `${short.length > LICENCE_WIDTH ? `${short.slice(0, LICENCE_WIDTH - 1)}…` : short}${card.restricted ? '*' : ''}`;
}

function keptLines(kept: KeptModel | null): string[] {
  if (kept === null || (kept.path === null && kept.shards.length === 0 && kept.partialBytes === 0)) return ['Nothing of it is on this machine.'];
  const file = kept.path === null ? [] : [`  ${clean(kept.path)}${kept.ours ? '' : ' (used in place)'}`];
  const half = kept.path !== null || kept.partialBytes === 0 ? [] : [`  ${sizeText(kept.partialBytes)} of the whole model: "agent models pull" goes on with it`];
  const shards = kept.shards.map((shard) => `  layers ${shardText(shard)}, ${sizeText(shard.bytes)}${shard.complete ? '' : ', half fetched'}${shard.inUse ? ', in use' : ''}`);
  const frees = kept.freesBytes === 0 ? 'A removal frees nothing: the file is not ours, and stays.' : `"agent models rm ${clean(kept.name)}" frees ${sizeText(kept.freesBytes)}.`;
  const end = kept.inUse ? 'It is being served: it cannot be removed before "agent models unload".' : frees;
  return ['On this machine', ...file, ...half, ...shards, end];
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
