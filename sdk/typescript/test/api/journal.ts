import type { Event, Interaction } from '../../src/generated/protocol.js';
import { type Answers, type FakeConnection, untilAborted } from './fake.js';

export const time = '2026-01-01T00:00:00Z';

export function event(number: number, type = 'turn_started'): Event {
  return { number, type, time, run: 's1-r1' } as unknown as Event;
}

export const delta = { type: 'text_delta', time, run: 's1-r1', data: { call: 1, attempt: 1, epoch: 1, from: 0, text: 'a' } } as const;

/** A runtime with events: each subscription gives those behind its number, `at` a time, and ends or waits. */
export function journal(events: readonly Event[], { at = 2, waits = false }: { at?: number; waits?: boolean } = {}): Answers {
  const places = new Map<string, Event[]>();
  return {
    'event/subscribe': ({ after = 0 }) => {
      const subscription = `e${places.size + 1}`;
      places.set(subscription, events.filter(({ number }) => number === undefined || number > after));
      return { subscription };
    },
    'event/next': ({ subscription }, { signal }) => {
      const left = places.get(subscription) ?? [];
      const given = left.splice(0, at);
      return given.length === 0 && waits ? untilAborted(signal) : { events: given, end: left.length === 0 && !waits };
    },
  };
}

export async function numbers(events: AsyncIterable<Event>): Promise<(number | undefined)[]> {
  const seen: (number | undefined)[] = [];
  for await (const { number } of events) {
    seen.push(number);
  }
  return seen;
}

/** Turns of the event loop, until something is so. */
export async function until(met: () => boolean): Promise<void> {
  while (!met()) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The same, where time must pass. */
export async function untilLater(met: () => boolean): Promise<void> {
  while (!met()) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

export const approval: Interaction = { id: 'i1', kind: 'approval', run: 's1-r1', asked: time };
export const question: Interaction = { id: 'i2', kind: 'question', run: 's1-r1', question: { text: 'Which?' }, asked: time };
export const unknown: Interaction = { id: 'i3', kind: 'unknown_outcome', run: 's1-r1', asked: time };

/** A run that waits for interactions until each is resolved. */
export function asking(open: Interaction[], resolve: (interaction: string) => void = () => undefined): Answers {
  let subscriptions = 0;
  return {
    'event/subscribe': () => ({ subscription: `e${++subscriptions}` }),
    'event/next': ({ subscription }) => ({ events: subscription === 'e1' ? [event(2, 'turn_accepted'), event(3, 'interaction_required')] : [event(9, 'turn_ended')], end: true }),
    'session/state': () => ({ interactions: [...open, { ...approval, id: 'of another run', run: 's1-r0' }] }),
    'interaction/resolve': ({ interaction }) => {
      open.splice(open.findIndex(({ id }) => id === interaction), 1);
      resolve(interaction);
    },
    'run/result': () => ({ run: 's1-r1', status: open.length > 0 ? 'interrupted' : 'completed', interactions: [...open], text: '', modelCalls: 1, auto_approved: 0, usage: {} }),
  };
}

export function answers(connection: FakeConnection): unknown[] {
  return (connection.of('interaction/resolve') as { interaction: string; answer: unknown }[]).map(({ interaction, answer }) => [interaction, answer]);
}
