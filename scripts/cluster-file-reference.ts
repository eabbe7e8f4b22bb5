/**
 * The cluster file's reference, docs/cluster-file.md, from the tables that the file is read by: keys, types, defaults,
 * ranges and meanings cannot differ from what the program does. A test compares the committed page with it.
 *
 * `npm run docs` writes it; it must not say what a key means: core/cluster-file-fields.ts does.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DEVICE_ALIASES } from '../src/core/backends.js';
import { clusterFields, clusterFileReference, nodeFields, placementFields } from '../src/core/cluster-file-fields.js';
import type { Field } from '../src/core/cluster-file-fields.js';
import { MAX_FILE_NODES } from '../src/core/cluster-file.js';
import { parsePrecision, PRECISION_NAMES, weightStorage } from '../src/core/precision.js';

/** The page, as it is committed. */
export function clusterFileManual(): string {
  return `# The cluster file

<!-- Made by "npm run docs" from src/core/cluster-file-fields.ts. Change it there. -->

One TOML file says which model runs where. One agent reads it; the others need not have it.

\`\`\`sh
agent plan --config cluster.toml     # what it would come to, without running it
agent start --config cluster.toml    # waits until every node of it is there, then serves its model
\`\`\`

- A missing key, a wrong type or a value that is not allowed is an error that names file, line and key.
- An unknown key is a warning, with the key that was probably meant. The file is used all the same.
- GB are decimal: 1 GB = 1e9 bytes. An integer is accepted where a number is meant.
- A node is found by its address. Only the nodes of the file take part in its model. A file has at most ${MAX_FILE_NODES.toLocaleString('en')} of them.
- A node that another machine is to start (\`ssh\`) needs \`agent\` in the PATH of a login without a terminal, and a key that asks for no password.

## Whole file

Every key, with an example. \`[[node]]\` is repeated for each node.

\`\`\`toml
${clusterFileReference().map((line) => line.replace(/ {2}#.*$/, '')).join('\n')}
\`\`\`

## Top level

${table(clusterFields)}

## [placement]

${table(placementFields)}

## [[node]]

${table(nodeFields)}

## Layers

Under policy \`manual\` the nodes with \`layers\` run exactly those. Together they must be all layers of the model, in the order of the
nodes, without a gap or an overlap. A node without \`layers\` is left out. Under another policy, \`layers\` pins that node, and the others get
the layers around it. A pin that is not possible is an error that names the nodes.

Layers are counted from 0, and the second number is the first layer that is no longer in: \`"0:12"\` is layers 0 to 11.

## Memory

What a node may use is \`max_ram_gb\`, or what is free without it, less \`reserve_ram_gb\`. A GPU with less memory than its machine limits it
to 85 % of that memory; \`"cuda+cpu"\` and its like let the rest of the stage lie in host memory. Agents that share a machine share its memory.

## Devices

Case does not matter. A device that the node does not have is an error of the plan that names both.

| name | also written as |
|---|---|
${[...new Set(DEVICE_ALIASES.values())].map((device) => `| \`${device}\` | ${aliases(device)} |`).join('\n')}

\`gpu\` is any but the cpu. The engine computes on Apple GPUs as \`metal\` and on AMD GPUs as \`vulkan\`: \`mlx\`, \`ane\` and \`rocm\` are understood,
and answered with that advice.

## Precisions

A node's weights are converted when its stage is made. Formats that the engine lacks are rounded to their grid and kept in a wider type.

| precision | kept as |
|---|---|
${PRECISION_NAMES.map((name) => `| \`${name}\` | ${storage(name)} |`).join('\n')}
| \`fNeXmY\` | ${storage('f4e3m0')}: N bits = 1 sign + X exponent + Y mantissa, N at most 8, X at least 1, e.g. \`f4e3m0\` |

Without the key, weights stay as the model stores them. The plan states the bytes that are used.
`;
}

function table(fields: readonly Field[]): string {
  const rows = fields.map((field) => `| \`${field.key}\` | ${valueText(field)} | ${stateText(field)} | ${field.meaning.replaceAll('|', '\\|')} |`);
  return ['| key | value | default | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function valueText({ type, values, range }: Field): string {
  if (values !== undefined) return values.map((value) => `\`"${value}"\``).join(', ');
  if (range !== undefined) return `${type}, ${range[0].toLocaleString('en')} to ${range[1].toLocaleString('en')}`;
  return type;
}

function stateText(field: Field): string {
  if (field.required === true) return 'required';
  return field.default === undefined ? 'none' : `\`${typeof field.default === 'string' ? `"${field.default}"` : String(field.default)}\``;
}

function aliases(device: string): string {
  return [...DEVICE_ALIASES].filter(([alias, meant]) => meant === device && alias !== device).map(([alias]) => `\`${alias}\``).join(', ');
}

function storage(name: string): string {
  const precision = parsePrecision(name);
  if (precision === null) throw new Error(`"${name}" is no precision`);
  return weightStorage(precision) ?? 'as the model stores them';
}

const [, script, target] = process.argv;
if (script === fileURLToPath(import.meta.url) && target !== undefined) writeFileSync(target, clusterFileManual());
