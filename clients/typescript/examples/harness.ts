// A client of the harness on stdio: gives an agent a prompt, prints what it says, and allows the commands that it asks for.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { HarnessClientMessage, HarnessMessage } from "@switchboard/protocols/harness";

const [agent = "script", text = "text hello"] = process.argv.slice(2);
const program = process.env.SWITCHBOARD ?? "switchboard";
const harness = spawn(program, ["harness", "--agent", agent], { stdio: ["pipe", "pipe", "inherit"] });
const send = (message: HarnessClientMessage) => harness.stdin.write(`${JSON.stringify(message)}\n`);

send({ id: 1, method: "initialize", params: { clientInfo: { name: "example", version: "1.0.0" } } });
send({ method: "initialized", params: {} });
send({ id: 2, method: "thread/start", params: { cwd: process.cwd(), approvalPolicy: "always" } });
for await (const line of createInterface(harness.stdout)) {
  const message = JSON.parse(line) as HarnessMessage;
  if (!("method" in message)) {
    if ("error" in message) throw new Error(message.error.message);
  } else if (message.method === "thread/started") {
    const threadId = message.params.thread.id;
    send({ id: 3, method: "turn/start", params: { threadId, input: [{ type: "text", text }] } });
  } else if (message.method === "item/agentMessage/delta") {
    process.stdout.write(message.params.delta);
  } else if (message.method === "item/commandExecution/requestApproval") {
    console.log(`\n[${message.params.command}]`);
    send({ id: message.id, result: { decision: "accept" } });
  } else if (message.method === "turn/completed") {
    console.log(`\n${message.params.turn.status}`);
    harness.stdin.end();
  }
}
