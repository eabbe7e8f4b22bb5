import { expect, it } from 'vitest';
import type { ClusterStatus, ClusterUpdate } from '../../src/agent/service.js';
import { Updates } from '../../src/agent/updates.js';
import type { WatchedInstance } from '../../src/agent/updates.js';
import { HandClock } from '../support/hand-clock.js';

const STATUS: ClusterStatus = { cluster: 'home', secured: true, nodeId: 'a', coordinator: null, term: null, nodes: [], instances: [] };

function statusOf(requests: number) {
  return { status: STATUS, models: [], requests };
}

function instance(state: WatchedInstance['state'], reason = ''): WatchedInstance {
  return { instanceId: 'i', model: 'kjv', state, reason, stages: state === 'planning' ? [] : [1, 2] };
}

/** What is kept of what happened. */
async function said(updates: Updates): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const update of updates.watch(new AbortController().signal, () => statusOf(0))) {
    if (update.kind === 'status') break;
    texts.push(update.text);
  }
  return texts;
}

async function take(updates: AsyncGenerator<ClusterUpdate>): Promise<ClusterUpdate | null> {
  const next = await updates.next();
  return next.done === true ? null : next.value;
}

it('tells what happened before, then the status, then only what is new, at most twice a second', async () => {
  const clock = new HandClock();
  const updates = new Updates(clock);
  updates.push('membership', 'pc joined');
  clock.pass(70);
  let requests = 0;
  const abort = new AbortController();
  const watch = updates.watch(abort.signal, () => statusOf(requests));
  expect(await take(watch)).toEqual({ kind: 'event', what: 'membership', text: 'pc joined', serial: 1, agoMs: 70 });
  expect(await take(watch)).toEqual({ kind: 'status', ...statusOf(0) });

  requests = 1;
  const next = take(watch);
  clock.pass(499);
  expect(clock.waiting).toBe(1);
  clock.pass(1);
  expect(await next).toEqual({ kind: 'status', ...statusOf(1) });

  const event = take(watch);
  updates.push('coordinator', 'pc leads');
  expect(await event).toMatchObject({ kind: 'event', text: 'pc leads', agoMs: 0 });

  const last = take(watch);
  abort.abort();
  expect(await last).toBeNull();
  expect(clock.waiting).toBe(0);
});

it('says how long a model was interrupted, and forgets one that was unloaded', () => {
  const clock = new HandClock();
  const updates = new Updates(clock);
  updates.instancesAre([instance('preparing')]);
  updates.instancesAre([instance('active')]);
  expect(updates.counts().healed).toBe(0);
  updates.instancesAre([instance('preparing')]);
  clock.pass(1_400);
  updates.instancesAre([instance('active')]);
  expect(updates.counts().healed).toBe(1);
  updates.instancesAre([instance('failed')]);
  updates.instancesAre([]);
  updates.instancesAre([instance('active')]);
  expect(updates.counts().healed).toBe(1);
});

it('says what becomes of models and who comes and goes, once, and leaves out news of nodes and the core\'s own steps', async () => {
  const updates = new Updates(new HandClock());
  updates.changed('membership', 'pc (12D3) is here');
  updates.changed('figures', 'pc (12D3) has news of itself');
  updates.changed('coordinator', 'pc coordinates');
  updates.changed('desired', 'i planning (plan 1)');
  for (const now of [instance('planning', 'waits for a plan'), instance('preparing'), instance('preparing'), instance('active'), instance('planning', 'pc does not answer'), instance('preparing'), instance('active'), instance('failed', 'too large')]) {
    updates.instancesAre([now]);
  }
  updates.instancesAre([]);
  expect(await said(updates)).toEqual([
    'pc (12D3) is here', 'pc coordinates', 'kjv: waits for a plan', 'kjv is being loaded on 2 nodes', 'kjv is ready on 2 nodes',
    'kjv: pc does not answer', 'kjv is being loaded on 2 nodes', 'kjv serves again, re-planned in 0.0 s', 'kjv cannot be served: too large', 'kjv is unloaded',
  ]);
});

it('keeps the newest 200 events for a watcher that comes late', async () => {
  const updates = new Updates(new HandClock());
  for (let index = 0; index < 250; index += 1) updates.push('desired', `event ${index}`);
  const first = await take(updates.watch(new AbortController().signal, () => statusOf(0)));
  expect(first).toMatchObject({ text: 'event 50', serial: 51 });
});
