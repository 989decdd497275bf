// Runs an agent and prints what it says and does, from unified messages over WebSocket; whatever it asks is allowed.

import type { UnifiedMessage } from "@switchboard/protocols/messages";
import { session, socket } from "./server.js";

const wire = socket(`/ws/sessions/${await session()}?dialect=message`);
wire.onmessage = ({ data }) => {
  const message = JSON.parse(data) as UnifiedMessage;
  for (const content of message.type === "assistant" ? message.content : []) {
    if (content.type === "text") console.log(content.text);
    if (content.type === "tool_use") console.log(`[${content.name}]`, content.input);
  }
  // Claude Code calls tools in content blocks; the calls of other agents are messages of their own.
  if (message.type === "tool_progress" && message.metadata.input !== undefined) {
    console.log(`[${message.metadata.tool_name}]`, message.metadata.input);
  }
  if (message.type === "permission_request") {
    wire.send(JSON.stringify({ type: "approval", id: message.metadata.request_id, decision: "accept" }));
  }
  if (message.type === "result") console.log(message.metadata.status);
};
