import type { Event } from './generated/protocol.js';

/**
 * Keeps count of an answer's text that came live. A model may have spoken before anybody listened, or faster than was read: what
 * is missing then comes in one piece, in front of the event that has the whole, so that the pieces are always the answer.
 */
export class Spoken {
  #call = 0;
  #attempt = 0;
  #epoch = 0;
  #bytes = 0;

  /** The piece that is missing in front of an event. */
  missing(event: Event): Event | undefined {
    if (event.type === 'text_delta') {
      const { call, attempt, epoch, from, text } = event.data;
      [this.#call, this.#attempt, this.#epoch, this.#bytes] = [call, attempt, epoch, from + Buffer.byteLength(text)];
      return undefined;
    }
    if (event.type !== 'model_call_finished' || event.data.text === undefined || event.data.text === '') {
      return undefined;
    }
    const { call, attempt, text } = event.data;
    const heard = call === this.#call && attempt === this.#attempt;
    const whole = Buffer.from(text);
    const from = heard ? this.#bytes : 0;
    if (from >= whole.length) {
      return undefined;
    }
    [this.#call, this.#attempt, this.#bytes] = [call, attempt, whole.length];
    const data = { call, attempt, epoch: heard ? this.#epoch : 0, from, text: whole.subarray(from).toString() };
    return { type: 'text_delta', time: event.time, run: event.run, data };
  }
}
