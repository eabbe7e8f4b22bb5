/** The dashboard's start: one stream of updates from the agent, shown in every part of the page. */
import { callStream, useKey } from './api.js';
import { startChat } from './chat.js';
import { nameEvents, showEvent } from './events.js';
import { clockTime, nodeNames } from './format.js';
import { startLosses } from './losses.js';
import { showModels } from './models.js';
import { showNodes } from './nodes.js';
import { byId, copyText, make } from './page.js';
import { startPlan } from './plan.js';
import { startRing } from './ring.js';
import { startTheme } from './theme.js';

const AGAIN_MS = 1_000;
/** The agent says something at least every ten seconds. */
const SILENCE_MS = 25_000;
const WRONG_KEY = 401;

startTheme();
startAddress();
const losses = startLosses();
const ring = startRing();
const chat = startChat();
const plan = startPlan();
void watch();

/** Follows the agent for as long as the page is open; after a break it starts again. */
async function watch() {
  for (;;) {
    const abort = new AbortController();
    let timer = 0;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    heard();
    try {
      for await (const update of callStream('/v1/cluster/events', { signal: abort.signal })) {
        heard();
        here();
        if (update === null) continue;
        if (update.kind === 'event') {
          showEvent(update);
          losses.event(update);
        } else {
          show(update);
        }
      }
      lost('agent stopped', 'has ended');
    } catch (error) {
      if (error.status === WRONG_KEY) await askKey();
      else lost('agent not reachable', abort.signal.aborted ? 'says nothing any more' : 'does not answer');
    } finally {
      clearTimeout(timer);
    }
    losses.forget();
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

function show({ status, models, requests }) {
  const names = nodeNames(status.nodes);
  const count = status.nodes.filter((node) => node.state === 'alive').length;
  byId('cluster').replaceChildren(
    make('span', {}, `cluster “${status.cluster}” · ${count} ${count === 1 ? 'node' : 'nodes'}`),
    status.secured
      ? make('span', { class: 'tag good', title: 'Only agents with the cluster’s secret take part' }, 'secured')
      : make('span', { class: 'tag warn', title: 'Any agent on this network may join: “agent secret” shows how to close it' }, 'open: no secret'));
  document.title = `${names.get(status.nodeId) ?? 'ring-agent'} · ring-agent`;
  nameEvents(names);
  ring.show(status, requests, losses.look(status, names));
  showNodes(status);
  showModels(status, models, plan);
  plan.show(status, models);
  chat.show(status, models);
}

function here() {
  live('live', 'live');
  byId('agent-lost').hidden = true;
  delete document.body.dataset.agent;
}

/** What is shown stays, marked as old. */
function lost(short, what) {
  live('lost', short);
  if (document.body.dataset.agent === 'lost') return;
  document.body.dataset.agent = 'lost';
  const place = byId('agent-lost');
  place.hidden = false;
  place.replaceChildren(make('p', {}, `The agent at ${location.host} ${what}. What is below is as of ${clockTime(new Date())}. This page tries again every second; “agent start” starts an agent.`));
}

function live(state, text) {
  const place = byId('live');
  if (place.textContent === text) return;
  place.dataset.state = state;
  place.textContent = text;
}

function startAddress() {
  const button = byId('api-copy');
  const address = `${location.origin}/v1`;
  const usual = () => {
    button.textContent = address;
    button.setAttribute('aria-label', `${address}: copy the API’s address`);
  };
  usual();
  button.addEventListener('click', async () => {
    button.textContent = await copyText(address) ? 'copied' : 'not allowed to copy';
    setTimeout(usual, 1_500);
  });
}

function askKey() {
  const dialog = byId('key-dialog');
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      useKey(byId('key').value);
      resolve();
    }, { once: true });
  });
}
