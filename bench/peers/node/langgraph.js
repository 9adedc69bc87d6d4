// LangGraph's ready-made agent with the SQLite checkpointer: a checkpoint for each step, written while the next
// step already runs (durability "async", its default) or before it (mode "sync"). A side effect may so have
// happened before anything about it is stored. The checkpointer opens SQLite in WAL mode with what the library
// was compiled for: synchronous=NORMAL.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { options, serve } from "./protocol.js";

const { url, state, mode } = options();
const checkpointer = SqliteSaver.fromConnString(join(state, "langgraph.sqlite"));
const add = tool(async ({ a, b }) => String(a + b), {
  name: "add",
  description: "Adds two numbers.",
  schema: z.object({ a: z.number().int(), b: z.number().int() }),
});
const agent = createReactAgent({
  llm: new ChatOpenAI({ model: "bench-model", apiKey: "none", configuration: { baseURL: url } }),
  tools: [add],
  prompt: "Answer briefly.",
  checkpointer,
});

const session = (thread_id) => async () => {
  const { messages } = await agent.invoke(
    { messages: [{ role: "user", content: "What is one and two?" }] },
    { configurable: { thread_id }, durability: mode || "async" },
  );
  const text = messages.at(-1).content;
  if (!text.startsWith("The sum is")) throw new Error(`a turn ended with ${JSON.stringify(text)}`);
};

await serve({
  newSession: async () => session(randomUUID()),
  long: async () => session("long"),
  close: async () => checkpointer.db.close(),
});
