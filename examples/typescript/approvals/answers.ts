import type { Answer, Interaction } from '@openworkerai/harness-sdk';
import type { Terminal } from './terminal.js';

type Approval = Extract<Interaction, { kind: 'approval' }>;
type Question = Extract<Interaction, { kind: 'question' }>;
type UnknownOutcome = Extract<Interaction, { kind: 'unknown_outcome' }>;

/** Who answers, for the journal. */
const by = 'the terminal';

/** Asks a person. Undefined leaves the interaction open: nobody is there, or the turn is over. */
export function answerOf(terminal: Terminal, open: Interaction, signal: AbortSignal): Promise<Answer | undefined> {
  switch (open.kind) {
    case 'approval':
      return approve(terminal, open, signal);
    case 'question':
      return reply(terminal, open, signal);
    case 'unknown_outcome':
      return settle(terminal, open, signal);
  }
}

async function approve(terminal: Terminal, { call, review }: Approval, signal: AbortSignal): Promise<Answer | undefined> {
  terminal.line(`It wants to call ${call?.name ?? 'a tool'} with ${call?.arguments ?? 'arguments that are withheld'}`);
  if (review !== undefined) terminal.line(`  the reviewer is ${review.verdict}: ${review.reason ?? review.code ?? 'no reason given'}`);
  for (;;) {
    const answer = await terminal.ask('  y once, a always in this session, e other arguments, n no: ', signal);
    switch (answer) {
      case undefined:
        return undefined;
      case 'y':
        return { decision: 'allow', by };
      case 'a':
        return { decision: 'allow_session', by };
      case 'e': {
        const text = await terminal.ask('  arguments as a JSON object: ', signal);
        if (text === undefined) return undefined;
        const changed = objectOf(text);
        if (changed !== undefined) return { decision: 'allow', arguments: changed, by };
        terminal.line('  that is no JSON object');
        break;
      }
      case 'n': {
        const reason = await terminal.ask('  why not (the model is told): ', signal);
        if (reason === undefined) return undefined;
        return reason === '' ? { decision: 'deny', by } : { decision: 'deny', reason, by };
      }
      default:
        terminal.line('  one of y, a, e and n, please');
    }
  }
}

async function reply(terminal: Terminal, { question }: Question, signal: AbortSignal): Promise<Answer | undefined> {
  terminal.line(`It asks: ${question.text}`);
  const choices = question.choices ?? [];
  for (const [i, { label, description }] of choices.entries()) {
    terminal.line(`  ${i + 1} ${label}${description === undefined ? '' : `: ${description}`}`);
  }
  const how = choices.length === 0 ? 'your answer' : question.multiple === true ? 'numbers with commas, or your own words' : 'a number, or your own words';
  const text = await terminal.ask(`  ${how}, nothing to skip: `, signal);
  if (text === undefined) return undefined;
  if (text === '') return { decision: 'skipped', by };
  const chosen = question.multiple === true ? text.split(',').map((part) => part.trim()) : [text];
  return { decision: 'answered', answers: chosen.map((part) => choices[Number(part) - 1]?.label ?? part), by };
}

/** A side effect was under way when its process died. Only somebody who looks can say what became of it. */
async function settle(terminal: Terminal, { call }: UnknownOutcome, signal: AbortSignal): Promise<Answer | undefined> {
  terminal.line(`Nobody knows whether ${call?.name ?? 'a call'} with ${call?.arguments ?? 'withheld arguments'} took effect (call ${call?.call_id ?? '?'}). Look, then say:`);
  for (;;) {
    const answer = await terminal.ask('  s it did, f it did not, r try again, l later: ', signal);
    switch (answer) {
      case undefined:
      case 'l':
        return undefined;
      case 's': {
        const output = await terminal.ask('  what it returned: ', signal);
        return output === undefined ? undefined : { decision: 'succeeded', output, by };
      }
      case 'f':
        return { decision: 'failed', reason: 'it did not take effect', by };
      case 'r':
        return { decision: 'retry', by };
      default:
        terminal.line('  one of s, f, r and l, please');
    }
  }
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
