// What the product's first texts show in TypeScript, as they show it: changed are the name of the model and the paths of files.
import type { Agent, Harness, Input, Result, Run, Session } from '@openworkerai/harness-sdk';
import { Attachment } from '@openworkerai/harness-sdk';

/** Where the files are that the texts attach. */
export const files = { screen: '', report: '' };

export async function beforeARestart(agent: Agent): Promise<unknown> {
const session = await agent.newSession();
const reference = session.reference(); // Persist in the application's database.
await session.run('Investigate this support request.');
return reference;
}

export async function afterIt(agent: Agent, reference: Parameters<Agent['resumeSession']>[0]): Promise<Result> {
const session = await agent.resumeSession(reference);
const state = await session.state(); // Inspect pending work or interactions first.
// Submit a new message only when the session is ready for it.
const result = await session.run('What should we do next?');
if (state.activity !== 'idle') throw new Error(state.activity);
return result;
}

export async function limitsOfATurn(session: Session): Promise<Run> {
const run = await session.send("Suggest names for my app.", {
  submissionId: "naming-turn-42",
  instructionAddendum: "Prefer .ai domains. The application budget is $40.",
  limits: {
    maxModelCalls: 8,
    maxOutputTokens: 60000,
    maxOutputTokensPerCall: 24000,
    summaryTokens: 512,
  },
});
return run;
}

export async function guidance(agent: Agent): Promise<Session> {
const session = await agent.newSession({
  autoApproverContext: "Staging workspace. Ask before publishing.",
  compaction: { additionalInstructions: "Preserve decisions and unfinished tests." },
});
await session.run("Continue.", {
  autoApproverContext: "For this turn, changes must remain inside src/.",
  compaction: { additionalInstructions: "Keep the migration checklist." },
});
return session;
}

export async function imported(agent: Agent): Promise<Session> {
const session = await agent.newSession({ initialHistory: [
  { type: "user", text: "Check Atlas." },
  { type: "tool_call", callId: "old-lookup", name: "app__lookup",
    arguments: { name: "Atlas" } },
  { type: "tool_result", callId: "old-lookup", output: '{"available":false}' },
  { type: "assistant", text: "Atlas is taken." },
] });
return session;
}

export function namingAgent(harness: Harness): Agent {
const agent = harness.createAgent({
  name: "naming", instructions: "Help the user choose a name.",
  tools: ["app.lookup"],
  builtinTools: { askUser: false, readHistory: false },
  defaultModel: { provider: "OpenAI", name: "fake-model" },
});
return agent;
}

export async function filesBehindAMessage(session: Session): Promise<Result[]> {
const screen = await Attachment.fromFile(files.screen);
const report = await Attachment.fromFile(files.report);
const result = await session.run('Compare this screen with the report.', [screen, report]);
return [result, await session.run('Explain this.', report)];
}

export function bytesOfAnUpload(uploadedBytes: Uint8Array): Attachment {
const report = Attachment.fromBytes({
  name: 'report.pdf', mediaType: 'application/pdf', data: uploadedBytes,
});
return report;
}

export async function interleaved(session: Session, screen: Attachment, report: Attachment): Promise<{ run: Run; result: Result }> {
const input = { content: [
  { type: 'text' as const, text: 'Look at this screen.' }, screen,
  { type: 'text' as const, text: 'Compare it with this report.' }, report,
  { type: 'document' as const, name: 'notes.md', source: {
    type: 'text' as const, mediaType: 'text/plain' as const,
    data: 'The report covers the previous release.',
  } },
] };
const run = await session.send(input, { submissionId: 'review-42' });
// oxlint-disable-next-line no-unused-vars
for await (const event of run.events()) { /* update your UI */ }
const result = await run.result();
return { run, result };
}

export async function imageWithBase64(session: Session, imageBase64: string): Promise<Result> {
return session.run({ content: [
{ type: 'image', name: 'screen.png', source: {
  type: 'base64', mediaType: 'image/png', data: imageBase64,
} }
] });
}

/** A session of a service is sent to in the same way. */
export async function sentByKey(serviceSession: Session, input: Input): Promise<Run> {
const run = await serviceSession.send(input, { idempotencyKey: 'review-42' });
return run;
}
