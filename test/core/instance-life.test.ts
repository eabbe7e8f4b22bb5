import { describe, expect, it } from 'vitest';
import { FOR_EVER_MS, lifeAfter, LOADED_LIFE, NAMED_LIFE, PINNED_LIFE, requestLife } from '../../src/core/instance-life.js';
import { parseKeepAlive } from '../../src/core/keep-alive.js';
import { knows, toRemember, unite } from '../../src/core/remembered.js';
import type { DesiredState, Instance, InstanceLife } from '../../src/core/types.js';

function instance(instanceId: string, life: InstanceLife, model = instanceId): Instance {
  return { instanceId, state: 'active', reason: '', serial: 1, plan: null, request: { model, policy: 'auto', nodes: null, contextTokens: null, slots: null, life } };
}

function desired(instances: readonly Instance[], removed: readonly string[] = []): DesiredState {
  return { version: 3, instances, removed };
}

describe('how long a model stays', () => {
  it('is written as Ollama writes it', () => {
    expect(['5m', '1h30m', '90s', '1.5h', '300', '0', '0s', '250ms'].map((text) => parseKeepAlive(text))).toEqual([300_000, 5_400_000, 90_000, 5_400_000, 300_000, 0, 0, 250]);
    expect([300, 0, 0.5].map((seconds) => parseKeepAlive(seconds))).toEqual([300_000, 0, 500]);
    expect(['-1', '-1m', -1, 1e12, Infinity].map((value) => parseKeepAlive(value))).toEqual([null, null, null, null, null]);
    for (const text of ['', 'm', '5 m', '5x', 'five', '-', '1h30', NaN]) expect(parseKeepAlive(text), String(text)).toBeUndefined();
  });

  it('is never shortened by a request where somebody wants it to stay, and said anew by each request where not', () => {
    for (const life of [LOADED_LIFE, NAMED_LIFE, PINNED_LIFE]) expect(lifeAfter(life, requestLife(0))).toBe(life);
    expect(lifeAfter(requestLife(null), requestLife(5))).toEqual({ pinned: false, keepAliveMs: 5, returns: false });
    expect(requestLife(null).keepAliveMs).toBe(FOR_EVER_MS);
    expect(lifeAfter(requestLife(5), undefined)).toEqual(requestLife(5));
    expect(lifeAfter(requestLife(5), NAMED_LIFE)).toEqual(NAMED_LIFE);
    expect(lifeAfter(LOADED_LIFE, NAMED_LIFE)).toEqual(LOADED_LIFE);
    expect(lifeAfter(PINNED_LIFE, LOADED_LIFE)).toEqual(LOADED_LIFE);
    expect(lifeAfter(LOADED_LIFE, PINNED_LIFE)).toEqual(PINNED_LIFE);
  });
});

describe('what is remembered', () => {
  it('is what was pinned or loaded by hand, and what was unloaded', () => {
    const state = desired([instance('a', PINNED_LIFE), instance('b', LOADED_LIFE), instance('c', NAMED_LIFE), instance('d', requestLife(5))], ['x']);
    const kept = toRemember(state);
    expect(kept.instances.map(({ instanceId }) => instanceId)).toEqual(['a', 'b']);
    expect(kept.removed).toEqual(['x']);
  });

  it('is united without what either side unloaded, and without a second instance of a model', () => {
    const mine = desired([instance('a', LOADED_LIFE), instance('new', NAMED_LIFE, 'm')], ['gone']);
    const theirs = desired([instance('a', LOADED_LIFE), instance('gone', PINNED_LIFE), instance('old', PINNED_LIFE, 'm'), instance('b', PINNED_LIFE)], ['a']);
    expect(knows(mine, theirs)).toBe(false);
    const { state, returned, dropped } = unite(mine, theirs);
    expect(state.instances.map(({ instanceId, state: what }) => [instanceId, what])).toEqual([['new', 'active'], ['b', 'planning']]);
    expect([returned, dropped, [...state.removed ?? []].sort()]).toEqual([['b'], ['a'], ['a', 'gone']]);
    expect(knows(state, theirs)).toBe(true);
    expect(unite(state, theirs).state).toBe(state);
  });
});
