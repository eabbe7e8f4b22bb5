import { describe, expect, it } from 'vitest';
import { MAX_RESUMING, WaitingLine } from '../../src/core/waiting-line.js';
import type { Waiting } from '../../src/core/waiting-line.js';

interface Named extends Waiting {
  readonly name: string;
}

const fresh = (client: string, name: string): Named => ({ client, name, resuming: false });
const resuming = (client: string, name: string): Named => ({ client, name, resuming: true });

function order(line: WaitingLine<Named>): string[] {
  const names: string[] = [];
  for (let first = line.first(); first !== null; first = line.first()) {
    expect(line.takeFirst()).toBe(first);
    names.push(first.name);
  }
  expect(line.size).toBe(0);
  return names;
}

describe('the line of those that wait for a slot', () => {
  it('lets clients take turns, each in its own order', () => {
    const line = new WaitingLine<Named>();
    for (const name of ['a1', 'a2', 'a3', 'a4']) line.add(fresh('a', name));
    for (const name of ['b1', 'b2']) line.add(fresh('b', name));
    line.add(fresh('c', 'c1'));
    expect(line.size).toBe(7);
    expect(order(line)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('does not let a client that comes back jump the line', () => {
    const line = new WaitingLine<Named>();
    line.add(fresh('a', 'a1'));
    line.add(fresh('b', 'b1'));
    line.add(fresh('b', 'b2'));
    expect(line.takeFirst()?.name).toBe('a1');
    line.add(fresh('a', 'a2'));
    expect(order(line)).toEqual(['b1', 'a2', 'b2']);
  });

  it('puts answers under way before everything that has not begun', () => {
    const line = new WaitingLine<Named>();
    line.add(fresh('a', 'a1'));
    line.add(resuming('b', 'b1'));
    line.add(resuming('a', 'a2'));
    expect(line.all().map(({ name }) => name)).toEqual(['b1', 'a2', 'a1']);
    expect(order(line)).toEqual(['b1', 'a2', 'a1']);
  });

  it('forgets who goes away, and nobody else', () => {
    const line = new WaitingLine<Named>();
    const [gone, stays, resumed] = [fresh('a', 'gone'), fresh('a', 'stays'), resuming('b', 'resumed')];
    for (const waiting of [gone, stays, resumed]) line.add(waiting);
    line.remove(gone);
    line.remove(gone);
    line.remove(resumed);
    expect(line.size).toBe(1);
    line.remove(stays);
    expect([line.size, line.first(), line.takeFirst()]).toEqual([0, null, null]);
  });

  it('is bounded for answers under way too', () => {
    const line = new WaitingLine<Named>();
    for (let index = 0; index < MAX_RESUMING; index += 1) line.add(resuming('a', `${index}`));
    expect(line.refusal(resuming('a', 'more'))).toContain('wait to go on');
    expect(line.refusal(fresh('a', 'new'))).toBeNull();
  });
});
