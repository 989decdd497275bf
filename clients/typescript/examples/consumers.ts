// One of several consumers of a session: prints what the agent said and says, allows what it asks, leaves after the turn.

import type { ConsumerCommand, ConsumerMessage } from "@switchboard/protocols/consumers";
import { session, socket } from "./server.js";

const wire = socket(`/ws/consumers/${await session({ stay: true })}`);
const send = (command: ConsumerCommand) => wire.send(JSON.stringify(command));

wire.onmessage = ({ data }) => {
  const message = JSON.parse(data) as ConsumerMessage;
  (message.type === "message_history" ? message.messages : [message]).forEach(show);
  if (message.type === "permission_request") {
    console.log(`[${message.request.tool_name}]`, message.request.input);
    send({ type: "permission_response", request_id: message.request.request_id, behavior: "allow" });
  } else if (message.type === "result") {
    console.log(message.data.subtype);
    wire.close();
  }
};

function show(message: ConsumerMessage) {
  if (message.type !== "assistant") return;
  for (const block of message.message.content) if (block.type === "text") console.log(block.text);
}
