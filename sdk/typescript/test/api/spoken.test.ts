import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Event } from '../../src/generated/protocol.js';
import { Spoken } from '../../src/spoken.js';

const text = 'zwölf Boxkämpfer';
const time = '2026-01-01T00:00:00Z';

function delta(attempt: number, from: number, piece: string): Event {
  return { type: 'text_delta', time, run: 's-r1', data: { call: 1, attempt, epoch: 3, from, text: piece } };
}

function finished(attempt: number, whole: string): Event {
  const usage = { inputTokens: 1, outputTokens: 1 };
  return { type: 'model_call_finished', number: 9, time, run: 's-r1', data: { call: 1, attempt, text: whole, stop: 'end', usage } };
}

// RU3: whatever of an answer came live, the deltas that a run's reader gets are its text.
for (const [name, events, want] of [
  ['nothing came', [finished(1, text)], [[1, 0, text]]],
  ['all came', [delta(1, 0, text), finished(1, text)], [[1, 0, text]]],
  ['the beginning came', [delta(1, 0, 'zwölf '), finished(1, text)], [[1, 0, 'zwölf '], [1, 7, 'Boxkämpfer']]],
  ['another attempt came', [delta(1, 0, 'void'), finished(2, text)], [[1, 0, 'void'], [2, 0, text]]],
  ['the answer has no text', [finished(1, '')], []],
  ['it is read twice', [finished(1, text), finished(1, text)], [[1, 0, text]]],
] as const) {
  test(`deltas make up the answer where ${name}`, () => {
    const spoken = new Spoken();
    const heard = events
      .flatMap((event) => [spoken.missing(event) ?? [], event].flat())
      .flatMap((event) => (event.type === 'text_delta' ? [[event.data.attempt, event.data.from, event.data.text]] : []));
    assert.deepEqual(heard, want);
  });
}
