// A whole agent in Node: it asks the model, makes the calls, and says what the model said.
// Run it against the suite with: arh gate --agent "node examples/agents/support_agent.mjs"

import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const heard = async () => JSON.parse((await lines.next()).value);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const ask = async (message) => (say(message), heard());

async function work(task) {
  const messages = [{ role: "system", content: task.system_prompt }, ...task.messages];
  for (let step = 0; step < task.budgets.steps_max; step += 1) {
    const reply = await ask({ type: "complete", id: `m${step}`, messages });
    if (reply.decision !== "calls") {
      return { type: "final", answer: reply.answer ?? reply.message ?? null };
    }
    messages.push({ role: "assistant", content: "", calls: reply.calls });
    for (const call of reply.calls) {
      const outcome = await ask({ type: "call", id: call.call_id, ...call });
      messages.push({ role: "tool", content: "", outcome });
    }
  }
  return { type: "final", answer: null, termination: "step_budget" };
}

say(await work(await heard()));
process.exit(0);
