/** Which node would hold which layers, before anything moves; one click runs it. */
import { callJson } from './api.js';
import { bytes, layers, nodeNames, withShortIds } from './format.js';
import { byId, fillSelect, make } from './page.js';

const COLOURS = 6;

export function startPlan() {
  const place = byId('plan');
  let names = new Map();
  byId('plan-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void preview();
  });

  function request() {
    const number = (id) => (byId(id).value === '' ? null : Number(byId(id).value));
    return { model: byId('plan-model').value, policy: byId('plan-policy').value, nodes: number('plan-nodes'), contextTokens: number('plan-context') };
  }

  async function preview() {
    const wanted = request();
    place.setAttribute('aria-busy', 'true');
    try {
      const plan = await callJson('/v1/cluster/plan', { method: 'POST', body: wanted });
      place.replaceChildren(...planParts(plan, wanted));
    } catch (error) {
      place.replaceChildren(make('p', { class: 'failure', role: 'alert' }, error.message));
    } finally {
      place.removeAttribute('aria-busy');
    }
  }

  function planParts(plan, wanted) {
    const bar = make('div', { class: 'layers-bar', 'aria-hidden': 'true' });
    for (const [index, { range, nodeId }] of plan.stages.entries()) {
      const part = make('span', { class: `part colour-${index % COLOURS}`, title: `${names.get(nodeId) ?? nodeId}: ${layers(range)}` }, String(range.end - range.start));
      part.style.flexGrow = String(range.end - range.start);
      bar.append(part);
    }
    const said = make('p', { class: 'faint', role: 'status' });
    const run = make('button', { type: 'button', id: 'plan-run', onclick: () => void runPlan(wanted, run, said) }, 'Run this plan');
    return [
      make('p', {}, make('strong', {}, plan.model.name), ` on ${plan.stages.length} ${plan.stages.length === 1 ? 'node' : 'nodes'} · context ${plan.contextTokens} · ${plan.slots} at once`),
      bar,
      make('ol', { class: 'plan-stages' }, ...plan.stages.map((stage, index) => make('li', {},
        make('span', { class: `dot colour-${index % COLOURS}`, 'aria-hidden': 'true' }),
        make('span', { class: 'grow' }, names.get(stage.nodeId) ?? stage.nodeId),
        make('span', { class: 'faint' }, `${layers(stage.range)} · ${stage.backend ?? 'default'} · ${bytes(stage.predictedBytes)}`)))),
      plan.explanation.length === 0 ? null : make('ul', { class: 'notes' }, ...plan.explanation.map((note) => make('li', {}, withShortIds(note.nodeId === null ? note.text : `${names.get(note.nodeId) ?? note.nodeId}: ${note.text}`)))),
      make('div', { class: 'model-head' }, run, said),
    ].filter((part) => part !== null);
  }

  async function runPlan(wanted, button, said) {
    button.disabled = true;
    said.textContent = 'loading: the list of models shows how far it is';
    try {
      await callJson('/v1/cluster/load', { method: 'POST', body: wanted });
      said.textContent = 'running';
    } catch (error) {
      said.textContent = error.message;
      said.className = 'failure';
    } finally {
      button.disabled = false;
    }
  }

  return {
    show(status, models) {
      names = nodeNames(status.nodes);
      fillSelect(byId('plan-model'), models.map((model) => [model.name, model.name]));
    },
    /** From the list of models. */
    preview(model) {
      byId('plan-model').value = model;
      byId('plan-title').scrollIntoView({ block: 'start' });
      return preview();
    },
  };
}
