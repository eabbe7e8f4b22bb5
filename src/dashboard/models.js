/** Models of the cluster: who holds them, how far their loading is, plan or unload with one click. */
import { callJson } from './api.js';
import { bytes, layers, nodeNames } from './format.js';
import { byId, make, meter } from './page.js';

let shown = '';

export function showModels(status, models, plan) {
  const signature = JSON.stringify([models, status.instances, status.nodes.map((node) => node.capabilities?.hostname)]);
  if (signature === shown) return;
  shown = signature;
  const list = byId('models');
  // A redraw must not take the focus from the button that somebody is on.
  const focused = list.contains(document.activeElement) ? document.activeElement.id : '';
  const names = nodeNames(status.nodes);
  const listed = models.map((model) => modelItem(model, status.instances.filter((instance) => instance.modelDigest === model.digest), names, plan));
  // Of one that is still planned only the name, or what it was asked for by, is known.
  const others = status.instances.filter((instance) => !models.some((model) => model.digest === instance.modelDigest));
  list.replaceChildren(...listed, ...others.map((instance) => make('li', {}, ...instanceParts(instance, names))));
  if (list.children.length === 0) list.append(make('li', { class: 'faint' }, 'No node holds a model yet.'));
  if (focused !== '') byId(focused)?.focus();
}

function modelItem(model, instances, names, plan) {
  const holders = model.heldBy.map((nodeId) => names.get(nodeId) ?? nodeId).join(', ');
  return make('li', {},
    make('div', { class: 'model-head' },
      make('strong', {}, model.name),
      make('button', { type: 'button', class: 'quiet', id: `plan-of-${model.digest.slice(0, 16)}`, 'aria-label': `Plan ${model.name}`, onclick: () => plan.preview(model.name) }, 'Plan')),
    make('p', { class: 'faint' }, `${bytes(model.sizeBytes)} · ${model.layers} layers · ${model.architecture} · on ${holders}`),
    ...instances.flatMap((instance) => instanceParts(instance, names)));
}

function instanceParts(instance, names) {
  const { instanceId, model, state, reason, stages, contextTokens, slots } = instance;
  return [
    make('div', { class: 'model-head' },
      make('span', { class: 'faint' }, make('span', { class: `tag ${state}` }, state), stages.length === 0 ? ` ${model}` : ` context ${contextTokens} · ${slots} at once`),
      make('button', { type: 'button', class: 'quiet', id: `unload-${instanceId}`, 'aria-label': `Unload ${model}`, onclick: (event) => void unload(instanceId, event.currentTarget) }, 'Unload')),
    state === 'active' || reason === '' ? null : make('p', { class: state === 'failed' ? 'failure' : 'faint' }, reason),
    state === 'active' ? null : make('ul', { class: 'stages' }, ...stages.map((stage) => make('li', {},
      make('span', {}, `${names.get(stage.nodeId) ?? stage.hostname}: ${layers(stage.range)}`),
      meter(stage.state === 'ready' ? 1 : stage.progress, `${stage.hostname}, ${layers(stage.range)}: ${stage.state}`, stage.state),
      make('span', { class: 'faint' }, stage.error ?? stage.state)))),
  ].filter((part) => part !== null);
}

async function unload(instanceId, button) {
  button.disabled = true;
  try {
    await callJson(`/v1/cluster/instances/${encodeURIComponent(instanceId)}`, { method: 'DELETE' });
  } catch (error) {
    button.disabled = false;
    button.after(make('span', { class: 'failure', role: 'alert' }, error.message));
  }
}
