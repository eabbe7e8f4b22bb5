/** Models of the cluster: who holds them, how far their loading is; load, plan or unload with one click. */
import { callJson } from './api.js';
import { bytes, counted, layers, nodeNames, shortId } from './format.js';
import { byId, make, meter } from './page.js';

/** Names of holders before it is a number. */
const HOLDERS_NAMED = 3;
const FOR_EVER_MS = 100 * 365 * 24 * 3_600_000;

let shown = '';
/** What a button's call came to, by model or instance, until the next one. */
const failures = new Map();

export function showModels(status, models, plan) {
  const signature = JSON.stringify([models, status.instances.map(essentials), status.nodes.map((node) => node.capabilities?.hostname), [...failures]]);
  if (signature === shown) return;
  shown = signature;
  const list = byId('models');
  // A redraw must not take the focus from the button that somebody is on.
  const focused = list.contains(document.activeElement) ? document.activeElement.id : '';
  const names = nodeNames(status.nodes);
  const again = () => showModels(status, models, plan);
  const listed = models.map((model) => modelItem(model, status.instances.filter((instance) => instance.modelDigest === model.digest), { names, plan, again }));
  // Of one that is still planned only the name, or what it was asked for by, is known.
  const others = status.instances.filter((instance) => !models.some((model) => model.digest === instance.modelDigest));
  list.replaceChildren(...listed, ...others.map((instance) => make('li', {}, make('strong', {}, instance.model), ...instanceParts(instance, names, again))));
  if (list.children.length === 0) {
    list.append(make('li', { class: 'faint' }, 'No node holds a model yet. ', make('code', {}, 'agent models search'), ' finds open ones, ', make('code', {}, 'agent start --model FILE'), ' shares one of yours.'));
  }
  if (focused !== '') byId(focused)?.focus();
}

function essentials({ instanceId, model, modelDigest, state, reason, stages, contextTokens, slots, life, draft }) {
  return [instanceId, model, modelDigest, state, reason, contextTokens, slots, life, draft?.model, draft?.state, state === 'active' ? stages.length : stages];
}

function modelItem(model, instances, { names, plan, again }) {
  const short = model.digest.slice(0, 16);
  const holders = model.heldBy.length === 0 ? 'on the internet' : model.heldBy.length <= HOLDERS_NAMED ? `on ${model.heldBy.map((nodeId) => names.get(nodeId) ?? `…${shortId(nodeId)}`).join(', ')}` : `on ${counted(model.heldBy.length, 'node')}`;
  const context = model.trainedContext === undefined ? '' : ` · context ${model.trainedContext}`;
  return make('li', {},
    make('div', { class: 'model-head' },
      make('strong', { class: 'grow' }, model.name),
      instances.length > 0 ? null : make('button', { type: 'button', class: 'quiet', id: `load-${short}`, 'aria-label': `Load ${model.name}`, onclick: (event) => void load(model, event.currentTarget, again) }, 'Load'),
      make('button', { type: 'button', class: 'quiet', id: `plan-of-${short}`, 'aria-label': `Plan ${model.name}`, onclick: () => plan.preview(model.name) }, 'Plan')),
    make('p', { class: 'faint' }, `${bytes(model.sizeBytes)} · ${counted(model.layers, 'layer')} · ${model.architecture}${context} · ${holders}`),
    failurePart(model.digest),
    ...instances.flatMap((instance) => instanceParts(instance, names, again)));
}

function instanceParts(instance, names, again) {
  const { instanceId, model, state, reason, stages, contextTokens, slots, life, draft } = instance;
  const facts = stages.length === 0 ? '' : [`context ${contextTokens}`, `${slots} at once`, draft === undefined ? '' : `draft ${draft.model} ${draft.state}`, stayText(life)].filter((part) => part !== '').join(' · ');
  return [
    make('div', { class: 'model-head' },
      make('span', { class: `tag ${state}` }, state),
      make('span', { class: 'faint grow' }, facts),
      make('button', { type: 'button', class: 'quiet', id: `unload-${instanceId}`, 'aria-label': `Unload ${model}`, onclick: (event) => void unload(instanceId, event.currentTarget, again) }, 'Unload')),
    state === 'active' || reason === '' ? null : make('p', { class: state === 'failed' ? 'failure' : 'faint' }, reason),
    state === 'active' ? null : make('ul', { class: 'stages' }, ...stages.map((stage) => make('li', {},
      make('span', { class: 'stage-line' },
        make('span', { class: 'grow' }, `${names.get(stage.nodeId) ?? stage.hostname}: ${layers(stage.range)}`),
        make('span', { class: stage.error === null ? 'faint' : 'failure' }, stage.error ?? stageText(stage))),
      meter(stage.state === 'ready' ? 1 : stage.progress, `${stage.hostname}, ${layers(stage.range)}: ${stage.state}`, stage.state)))),
    failurePart(instanceId),
  ].filter((part) => part !== null);
}

function stageText({ state, progress, fetchedBytes }) {
  if (state !== 'fetching' && state !== 'loading') return state;
  return `${state} ${Math.round(progress * 100)} %${fetchedBytes > 0 ? ` · ${bytes(fetchedBytes)}` : ''}`;
}

function stayText({ pinned, keepAliveMs }) {
  if (pinned) return 'pinned';
  if (keepAliveMs === null || keepAliveMs >= FOR_EVER_MS) return '';
  return keepAliveMs >= 60_000 ? `unloads when idle for ${Math.round(keepAliveMs / 60_000)} min` : `unloads when idle for ${Math.round(keepAliveMs / 1000)} s`;
}

function failurePart(key) {
  return failures.has(key) ? make('p', { class: 'failure', role: 'alert' }, failures.get(key)) : null;
}

async function load(model, button, again) {
  await attempt(model.digest, button, again, () => callJson('/v1/cluster/load', { method: 'POST', body: { model: model.name } }));
}

async function unload(instanceId, button, again) {
  await attempt(instanceId, button, again, () => callJson(`/v1/cluster/instances/${encodeURIComponent(instanceId)}`, { method: 'DELETE' }));
}

async function attempt(key, button, again, act) {
  button.disabled = true;
  failures.delete(key);
  try {
    await act();
  } catch (error) {
    failures.set(key, error.message);
    again();
  } finally {
    button.disabled = false;
  }
}
