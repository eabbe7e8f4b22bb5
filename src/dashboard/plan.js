/** Which node would hold which layers, before anything moves, beside the rings it was compared with; one click runs it. */
import { callJson } from './api.js';
import { bytes, counted, layers, nodeNames, shortId, speed, withNames } from './format.js';
import { byId, fillSelect, make } from './page.js';

const COLOURS = 6;
/** The note that the table says better (core/fastest-ring.ts). */
const COMPARISON = 'predicted decode speed of one answer:';

export function startPlan() {
  const place = byId('plan');
  let names = new Map();
  /** Who was there when the plan was made; '' = none is shown. */
  let madeFor = '';
  let here = '';
  let instances = [];
  /** The plan that is shown, what it was asked with, and whether it is being loaded. */
  let shown = null;
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
    const focused = place.contains(document.activeElement) ? document.activeElement.id : '';
    try {
      const plan = await planned(wanted);
      const options = plan.options ?? (wanted.nodes === null ? [] : await comparedWith(wanted));
      madeFor = here;
      shown = { plan, wanted, running: false };
      place.replaceChildren(...planParts(plan, options, wanted));
      showRun();
    } catch (error) {
      madeFor = '';
      shown = null;
      place.replaceChildren(make('p', { class: 'failure', role: 'alert' }, error.message));
    } finally {
      place.removeAttribute('aria-busy');
      if (focused !== '') (byId(focused) ?? byId('plan-run'))?.focus();
    }
  }

  function planned(wanted) {
    return callJson('/v1/cluster/plan', { method: 'POST', body: wanted });
  }

  /** Somebody chose a number of nodes: what the agent would compare by itself is still worth a look. */
  async function comparedWith(wanted) {
    try {
      return (await planned({ ...wanted, nodes: null })).options ?? [];
    } catch {
      // A plan of its own is shown; that the usual one fails is no news here.
      return [];
    }
  }

  function planParts(plan, options, wanted) {
    const inPlan = new Set(plan.stages.map((stage) => stage.nodeId));
    const left = plan.explanation.filter(({ nodeId }) => nodeId !== null && !inPlan.has(nodeId));
    const notes = plan.explanation.filter((note) => !left.includes(note) && !(options.length > 0 && note.text.startsWith(COMPARISON)));
    const facts = [
      counted(plan.stages.length, 'node'), `context ${plan.contextTokens}`, `${plan.slots} at once`,
      bytes(plan.stages.reduce((sum, stage) => sum + stage.predictedBytes, 0)),
      ...(plan.draft === undefined ? [] : [`draft ${plan.draft.model.name}`]),
      ...(plan.predictedTokensPerSecond === undefined ? [] : [`${speed(plan.predictedTokensPerSecond)} predicted`]),
    ];
    return [
      make('p', { id: 'plan-stale', class: 'failure', hidden: true }, 'Nodes have come or gone since: preview again.'),
      make('p', {}, make('strong', {}, plan.model.name), ` · ${facts.join(' · ')}`),
      layersBar(plan.stages),
      make('ol', { class: 'plan-stages' }, ...plan.stages.map((stage, index) => make('li', {},
        make('span', { class: `dot colour-${index % COLOURS}`, 'aria-hidden': 'true' }),
        make('span', { class: 'grow' }, nameOf(stage.nodeId)),
        make('span', { class: 'faint' }, `${layers(stage.range)} · ${stage.backend ?? 'default'} · ${bytes(stage.predictedBytes)}`)))),
      make('div', { class: 'model-head' },
        make('button', { type: 'button', id: 'plan-run', onclick: () => void runPlan() }, 'Run this plan'),
        make('p', { id: 'plan-said', class: 'faint grow', role: 'status' })),
      options.length === 0 ? null : comparison(options, wanted),
      left.length === 0 ? null : make('div', { class: 'left-out' }, make('h3', {}, 'Left out'),
        make('ul', { class: 'notes' }, ...left.map(({ nodeId, text }) => make('li', {}, make('strong', {}, nameOf(nodeId)), `: ${withNames(text, names).replace(/^(\S+ is )?left out: /, '')}`)))),
      notes.length === 0 ? null : make('div', {}, make('h3', {}, 'Notes'),
        make('ul', { class: 'notes' }, ...noteTexts(notes).map((text) => make('li', {}, text)))),
    ].filter((part) => part !== null);
  }

  /** What holds for several nodes is said once. */
  function noteTexts(notes) {
    const nodesOf = new Map();
    for (const { nodeId, text } of notes) nodesOf.set(text, [...nodesOf.get(text) ?? [], ...(nodeId === null ? [] : [nameOf(nodeId)])]);
    return [...nodesOf].map(([text, nodes]) => `${nodes.length === 0 ? '' : `${nodes.join(', ')}: `}${withNames(text, names)}`);
  }

  function layersBar(stages) {
    const bar = make('div', { class: 'layers-bar', 'aria-hidden': 'true' });
    for (const [index, { range, nodeId }] of stages.entries()) {
      const part = make('span', { class: `part colour-${index % COLOURS}`, title: `${nameOf(nodeId)}: ${layers(range)}` }, String(range.end - range.start));
      part.style.flexGrow = String(range.end - range.start);
      bar.append(part);
    }
    return bar;
  }

  /** What the agent chose from; each row can be looked at, and run. */
  function comparison(options, wanted) {
    const fastest = Math.max(...options.map((option) => option.tokensPerSecond ?? 0), 1e-9);
    const rows = options.map((option) => {
      const { nodeIds, tokensPerSecond, chosen } = option;
      const title = titleOf(option);
      const shown = wanted.nodes === null ? chosen : wanted.nodes === nodeIds.length;
      const bar = make('span', { class: 'meter', 'aria-hidden': 'true' }, make('span', { class: 'fill' }));
      bar.firstChild.style.width = `${((tokensPerSecond ?? 0) / fastest) * 100}%`;
      const pick = () => {
        byId('plan-nodes').value = chosen ? '' : String(nodeIds.length);
        void preview();
      };
      return make('tr', shown ? { class: 'shown' } : {},
        make('th', { scope: 'row' }, title, chosen ? make('span', { class: 'tag good' }, 'best') : null),
        make('td', {}, nodeIds.length === 0 ? 'fits on no node' : nodeIds.map(nameOf).join(' + ')),
        make('td', { class: 'number' }, tokensPerSecond === null ? '' : `${option.measured ? '' : 'about '}${speed(tokensPerSecond)}`, tokensPerSecond === null ? null : bar),
        make('td', {}, shown ? make('span', { class: 'faint' }, 'shown') : nodeIds.length === 0 ? '' : make('button', { type: 'button', class: 'quiet', id: `plan-option-${option.what}`, 'aria-label': `Show the plan: ${title.toLowerCase()}`, onclick: pick }, 'Show')));
    });
    return make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Rings compared' },
      make('table', { class: 'options' },
        make('caption', {}, `Compared by predicted speed of one answer${options.every(({ measured }) => measured) ? '' : ' (about: not every node is measured yet)'}`),
        make('thead', {}, make('tr', {}, ...['Ring', 'Nodes', 'Predicted'].map((text) => make('th', { scope: 'col' }, text)), make('td', {}))),
        make('tbody', {}, ...rows)));
  }

  function titleOf({ what, nodeIds }) {
    if (what === 'alone') return 'Alone';
    return what === 'all' ? `All ${nodeIds.length}` : `These ${nodeIds.length}`;
  }

  function nameOf(nodeId) {
    return names.get(nodeId) ?? `…${shortId(nodeId)}`;
  }

  /** The same model on other machines is another ring: a load alone would leave what runs as it is. */
  function showRun() {
    if (shown === null || shown.running) return;
    const now = instances.find((instance) => instance.modelDigest === shown.plan.model.digest && instance.state !== 'failed');
    const same = now !== undefined && sameRing(now.stages, shown.plan.stages);
    const button = byId('plan-run');
    button.disabled = same;
    button.textContent = now === undefined || same ? 'Run this plan' : 'Run this instead';
    const said = byId('plan-said');
    if (said.className.includes('failure')) return;
    said.textContent = same ? `this is what runs: ${now.state}` : now === undefined ? '' : `ends the ring of ${counted(now.stages.length, 'node')} that serves it now, and its answers`;
  }

  async function runPlan() {
    const { wanted, plan } = shown;
    const said = byId('plan-said');
    const saying = (text, kind = 'faint') => {
      said.textContent = text;
      said.className = `${kind} grow`;
    };
    shown.running = true;
    byId('plan-run').disabled = true;
    saying('loading: the list of models shows how far it is');
    try {
      for (const { instanceId } of instances.filter((instance) => instance.modelDigest === plan.model.digest && !sameRing(instance.stages, plan.stages))) {
        await callJson(`/v1/cluster/instances/${encodeURIComponent(instanceId)}`, { method: 'DELETE' });
      }
      await callJson('/v1/cluster/load', { method: 'POST', body: wanted });
      saying('running');
    } catch (error) {
      saying(error.message, 'failure');
    } finally {
      if (shown?.plan === plan) {
        shown.running = false;
        byId('plan-run').disabled = false;
        showRun();
      }
    }
  }

  return {
    show(status, models) {
      names = nodeNames(status.nodes);
      here = status.nodes.filter((node) => node.state === 'alive').map((node) => node.nodeId).sort().join(' ');
      const stale = byId('plan-stale');
      if (stale !== null) stale.hidden = madeFor === here;
      ({ instances } = status);
      showRun();
      fillSelect(byId('plan-model'), models.map((model) => [model.name, model.name]));
      byId('plan-preview').disabled = models.length === 0;
    },
    /** From the list of models. */
    preview(model) {
      byId('plan-model').value = model;
      byId('plan-title').scrollIntoView({ block: 'start' });
      return preview();
    },
  };
}

function sameRing(a, b) {
  return a.length === b.length && a.every(({ nodeId, range }, index) => nodeId === b[index].nodeId && range.start === b[index].range.start && range.end === b[index].range.end);
}
