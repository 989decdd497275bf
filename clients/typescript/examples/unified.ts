// Runs an agent and prints what it says and does, from unified events over server-sent events. Nobody can answer on this
// wire, so everything is allowed.

import type { UnifiedEvent } from "@switchboard/protocols/unified";
import { ask, session } from "./server.js";

const id = await session({ config: { approvalMode: "autoAll" } });
const stream = await ask(`/api/sessions/${id}/stream?dialect=unified`);
let text = "";
for await (const piece of stream.body!.pipeThrough(new TextDecoderStream())) {
  const lines = (text + piece).split("\n");
  text = lines.pop() ?? "";
  for (const line of lines.filter((line) => line.startsWith("data:"))) {
    const event = JSON.parse(line.slice(5)) as UnifiedEvent;
    if (event.type === "textChunk" && !event.channel) process.stdout.write(event.content);
    if (event.type === "toolStarted") console.log(`\n[${event.toolName}]`, event.arguments);
    if (event.type === "sessionEnded") console.log(`\n${event.reason}`);
  }
}
