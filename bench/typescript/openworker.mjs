// OpenWorker through its TypeScript SDK as a system under measurement: the tool runs here, everything else in the
// runtime that the SDK starts. OPENWORKER_RUNTIME names it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Harness } from "../../sdk/typescript/dist/index.js";
import { options, serve } from "../peers/node/protocol.js";

const { url, state } = options();
mkdirSync(state, { recursive: true });
const harness = await Harness.open({
  stateDir: join(state, "state"),
  scratchDir: join(state, "scratch"),
  providers: [{ name: "OpenAI", protocol: "openai-chat", baseURL: url, keyOptional: true }],
});
harness.registerTool({
  name: "add",
  description: "Adds two numbers.",
  inputSchema: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"], additionalProperties: false },
  effect: "sideEffect",
  execute: ({ a, b }) => String(a + b),
});
const agent = harness.createAgent({
  name: "bench",
  instructions: "Answer briefly.",
  tools: ["add"],
  defaultModel: { provider: "OpenAI", name: "bench-model" },
  approvals: { mode: "never" },
});
await agent.ready();

const turnOf = (session) => async () => {
  const result = await session.run("What is one and two?");
  if (result.status !== "completed" || result.modelCalls !== 2) throw new Error(`a turn ended as ${JSON.stringify(result)}`);
};

await serve({
  newSession: async () => turnOf(await agent.newSession()),
  async long() {
    const file = join(state, "long.json");
    let kept;
    try {
      kept = JSON.parse(readFileSync(file, "utf8"));
    } catch {
      const session = await agent.newSession();
      writeFileSync(file, JSON.stringify(session.reference()));
      return turnOf(session);
    }
    return turnOf(await agent.resumeSession(kept));
  },
  close: () => harness.close(),
});
