// OpenAI Agents with a session in SQLite. The package has sessions in memory and at OpenAI, none in SQLite, so
// sqlite-session.js is one over its Session interface. Items are stored as the run goes; a run that a crash ends
// is not taken up again.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { options, serve } from "./protocol.js";
import { SQLiteItems } from "./sqlite-session.js";

const { url, state } = options();
setTracingDisabled(true);
const runner = new Runner({ modelProvider: new OpenAIProvider({ apiKey: "none", baseURL: url, useResponses: false }) });
const agent = new Agent({
  name: "bench",
  instructions: "Answer briefly.",
  model: "bench-model",
  tools: [
    tool({
      name: "add",
      description: "Adds two numbers.",
      parameters: z.object({ a: z.number().int(), b: z.number().int() }),
      execute: async ({ a, b }) => String(a + b),
    }),
  ],
});
const items = new SQLiteItems(join(state, "agents.sqlite"));

const begin = (id) => {
  const session = items.session(id);
  return async () => {
    const { finalOutput } = await runner.run(agent, "What is one and two?", { session });
    if (!finalOutput?.startsWith("The sum is")) throw new Error(`a turn ended with ${JSON.stringify(finalOutput)}`);
  };
};

await serve({
  newSession: async () => begin(randomUUID()),
  long: async () => begin("long"),
  close: async () => items.close(),
});
