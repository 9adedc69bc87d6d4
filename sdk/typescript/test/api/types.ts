// What the compiler takes and refuses. Nothing here is run: a line that is marked as refused and is not fails the check.
import { z } from 'zod';

import { type Agent, Attachment, type Event, Harness, type Result, type Run, type RunStream, type Session, type SessionReference, type StreamedRun } from '@openworkerai/harness-sdk';

export function messages(session: Session, file: Attachment): void {
  void (session.run('x', file) satisfies Promise<Result>);
  void (session.run('x', [file, file], { submissionId: 's' }) satisfies Promise<Result>);
  void (session.run({ content: [{ type: 'text', text: 'x' }, file] }, { limits: { maxModelCalls: 1 } }) satisfies Promise<Result>);
  void (session.run({ content: [{ type: 'image', name: 'i', source: { type: 'base64', mediaType: 'image/png', data: '' } }] }) satisfies Promise<Result>);
  void (session.send('x', [{ type: 'document', name: 'd', source: { type: 'attachment', id: 'i' } }]) satisfies Promise<Run>);
  void (session.runWith('x', [file], { onApproval: ({ call }) => ({ decision: 'allow', by: call?.name }), submissionId: 's' }) satisfies Promise<Result>);
  void (session.runStreamed('x', file, { signal: new AbortController().signal }) satisfies StreamedRun);
  void (session.runStreamed('x') satisfies Promise<RunStream> & AsyncIterable<Event>);
  void (session.reference() satisfies SessionReference);
  // @ts-expect-error -- a file is awaited before it is sent
  void session.run('x', Attachment.fromFile('./a.png'));
  // @ts-expect-error -- content has its files within it
  void session.run({ content: [] }, file);
  // @ts-expect-error -- there is no such block
  void session.run({ content: [{ type: 'video', name: 'v' }] });
  // @ts-expect-error -- there are no addresses
  void session.run({ content: [{ type: 'image', name: 'i', source: { type: 'url', url: '' } }] });
  // @ts-expect-error -- there is no such option
  void session.run('x', { instructionAdendum: '' });
  // @ts-expect-error -- runWith needs what to do
  void session.runWith('x');
  // @ts-expect-error -- a denial has a reason and no output
  void session.resolve('i', { decision: 'deny', output: '' });
  // @ts-expect-error -- a question is answered with answers
  void session.resolve('i', { decision: 'answered' });
}

export function tools(harness: Harness): void {
  harness.registerTool({
    name: 't',
    inputSchema: z.object({ name: z.string(), count: z.string().transform(Number).optional() }),
    execute({ name, count }, { callId, signal }) {
      void (name satisfies string);
      void (count satisfies number | undefined);
      void (callId satisfies string);
      void (signal satisfies AbortSignal);
      return { any: 'value' };
    },
    inspect: () => ({ outcome: 'succeeded', output: '' }),
  });
  harness.registerTool({
    name: 't',
    inputSchema: { type: 'object', properties: { name: { type: 'string' } } },
    effect: 'readOnly',
    execute: async (input) => {
      void (input satisfies Record<string, unknown>);
      // @ts-expect-error -- what a JSON Schema says is not known to the compiler
      void (input['name'] satisfies string);
    },
  });
  // @ts-expect-error -- there is no such effect
  harness.registerTool({ name: 't', inputSchema: {}, effect: 'pure', execute: () => '' });
  // @ts-expect-error -- an inspection has an outcome of the list
  harness.registerTool({ name: 't', inputSchema: {}, execute: () => '', inspect: () => ({ outcome: 'done' }) });
  // @ts-expect-error -- a point is one of the list
  harness.registerGuardrail({ name: 'g', points: ['input'], check: () => ({ action: 'allow' }) });
  // @ts-expect-error -- a verdict is one of the list
  harness.registerGuardrail({ name: 'g', points: ['user_input'], check: () => ({ action: 'pass' }) });
}

export async function sessions(harness: Harness): Promise<void> {
  const agent: Agent = harness.createAgent({
    name: 'a',
    tools: ['t'] as readonly string[],
    approvals: { mode: 'auto', reviewerModel: { provider: 'P', name: 'm' } },
    builtinTools: { askUser: false, readHistory: false },
    defaultModel: { provider: 'P', name: 'm' },
  });
  const imported = [{ type: 'user', text: 'x' }] as const;
  await using session = await agent.newSession({ initialHistory: imported, compaction: { additionalInstructions: '' }, metadata: { a: 'b' } });
  for await (const event of session.events({ after: 3 })) {
    if (event.type === 'turn_ended') {
      void (event.data.model_calls satisfies number);
    } else if (event.type === 'text_delta') {
      void (event.data.text satisfies string);
    }
  }
  // @ts-expect-error -- a tool is named, and registered before
  harness.createAgent({ name: 'a', tools: [{ name: 't' }], defaultModel: { provider: 'P', name: 'm' } });
  // @ts-expect-error -- an agent has a model
  harness.createAgent({ name: 'a' });
  // @ts-expect-error -- a harness has a directory
  await Harness.open({});
  // @ts-expect-error -- bytes are no text
  Attachment.fromBytes({ name: 'a', data: 'text' });
}
