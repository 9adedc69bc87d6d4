import { AlreadyResolvedError, ArgumentsInvalidError, InteractionNotFoundError, type Event, type Interaction, type Result, type Run, type Session } from '@openworkerai/harness-sdk';
import { answerOf } from './answers.js';
import type { Terminal } from './terminal.js';

/**
 * Follows a run to its end and answers what comes up. A run stops where a person is asked, and goes on by itself once the answer
 * is stored: so this is a loop of watching, asking and watching again. It is the same for a run that was just sent and for one
 * that was found after a restart, since nothing that matters is held here.
 *
 * The signal ends the asking, not the run: it is for a turn that somebody has cancelled.
 */
export async function follow(session: Session, run: Run, terminal: Terminal, signal: AbortSignal): Promise<Result> {
  const screen = new Screen(terminal);
  const left = new Set<string>(); // what nobody here will answer
  for (;;) {
    let ended = false;
    for await (const event of run.events()) { // to where the run waits or ends
      screen.show(event);
      ended = event.type === 'turn_ended';
    }
    const result = await run.result();
    const open = (result.interactions ?? []).filter((interaction) => !left.has(interaction.id));
    // Without that event, and with nothing open, somebody else has answered: the rest is still to be shown.
    if (ended || (result.status === 'interrupted' && open.length === 0)) return result;
    for (const interaction of open) {
      // Each is answered on its own, in any order; what is done meanwhile comes with the next events.
      if (!signal.aborted && !(await resolved(session, interaction, terminal, signal))) left.add(interaction.id);
    }
  }
}

/** Asks until there is an answer that holds. False: it stays open. */
async function resolved(session: Session, interaction: Interaction, terminal: Terminal, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    const answer = await answerOf(terminal, interaction, signal);
    if (answer === undefined) return signal.aborted; // with the turn its interactions close
    try {
      await session.resolve(interaction.id, answer);
      return true;
    } catch (error) {
      if (error instanceof AlreadyResolvedError || error instanceof InteractionNotFoundError) {
        terminal.line('  it was answered elsewhere');
        return true;
      }
      if (!(error instanceof ArgumentsInvalidError)) throw error;
      terminal.line(`  ${error.message}`); // it is still open
    }
  }
}

/** Shows the events of a turn. */
class Screen {
  readonly #terminal: Terminal;
  readonly #names = new Map<string, string>(); // of calls, by ID
  #attempt = '';
  #shown = ''; // of the answer that comes

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(event: Event): void {
    if (event.type === 'text_delta') {
      this.#piece(event.data);
    } else if (event.type === 'model_call_finished') {
      this.#whole(event.data.text ?? '');
      for (const call of event.data.calls ?? []) this.#names.set(call.call_id, call.name);
    } else if (event.type === 'model_call_failed') {
      this.#shown = ''; // the live text of a failed attempt is void
      this.#terminal.line(`(the model: ${event.data.message}${event.data.retry_at === undefined ? '' : '; it is asked again'})`);
    } else if (event.type === 'tool_call_started') {
      this.#terminal.line(`> ${event.data.name} runs${event.data.attempt > 1 ? `, attempt ${event.data.attempt}` : ''}`);
    } else if (event.type === 'tool_call_finished') {
      const name = event.data.name ?? this.#names.get(event.data.call_id) ?? 'a call';
      this.#terminal.line(`< ${name}${event.data.code === undefined ? '' : ` (${event.data.code})`}: ${event.data.output}`);
    } else if (event.type === 'session_taken_over') {
      this.#terminal.line('(another process had this turn; it goes on here)');
    } // there are more, and later versions add some
  }

  /** Live text counts for one attempt of one call: when any of the three numbers changes, what was shown is void. */
  #piece({ call, attempt, epoch, from, text }: { call: number; attempt: number; epoch: number; from: number; text: string }): void {
    const of = `${call}/${attempt}/${epoch}`;
    if (of !== this.#attempt) {
      if (this.#shown !== '') this.#terminal.line('(that answer broke off; it begins again)');
      this.#attempt = of;
      this.#shown = '';
    }
    if (from !== Buffer.byteLength(this.#shown)) return; // a piece is missing, and the whole text will have it
    this.#shown += text;
    this.#terminal.write(text);
  }

  /** The stored answer is what counts. What was not live, for example before a restart, is shown now. */
  #whole(text: string): void {
    if (text.startsWith(this.#shown)) this.#terminal.write(text.slice(this.#shown.length));
    else this.#terminal.line(text);
    if (text !== '') this.#terminal.write('\n');
    this.#shown = '';
  }
}
