/** The dashboard's start: one stream of updates from the agent, shown in every part of the page. */
import { callStream, useKey } from './api.js';
import { startChat } from './chat.js';
import { showEvent } from './events.js';
import { showModels } from './models.js';
import { showNodes } from './nodes.js';
import { byId } from './page.js';
import { startPlan } from './plan.js';
import { startRing } from './ring.js';
import { startTheme } from './theme.js';

const AGAIN_MS = 1_000;
const WRONG_KEY = 401;

startTheme();
const ring = startRing();
const chat = startChat();
const plan = startPlan();
void watch();

/** Follows the agent for as long as the page is open; after a break it starts again. */
async function watch() {
  for (;;) {
    try {
      for await (const update of callStream('/v1/cluster/events')) {
        live('live', 'live');
        if (update === null) continue;
        if (update.kind === 'event') showEvent(update);
        else show(update);
      }
      live('lost', 'agent stopped');
    } catch (error) {
      if (error.status === WRONG_KEY) await askKey();
      live('lost', 'agent not reachable');
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

function show({ status, models, requests }) {
  const count = status.nodes.filter((node) => node.state === 'alive').length;
  byId('cluster').textContent = `cluster “${status.cluster}” · ${count} ${count === 1 ? 'node' : 'nodes'} · ${status.secured ? 'secured' : 'open: no secret'}`;
  ring.show(status, requests);
  showNodes(status);
  showModels(status, models, plan);
  plan.show(status, models);
  chat.show(models);
}

function live(state, text) {
  const place = byId('live');
  if (place.textContent === text) return;
  place.dataset.state = state;
  place.textContent = text;
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
