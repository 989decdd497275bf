// What a type must let through, and what it must not: a line below `@ts-expect-error` that compiles is an error.

import type { ConsumerCommand, ConsumerMessage } from "@switchboard/protocols/consumers";
import type { HarnessClientMessage, HarnessMessage, Protocol, ThreadItem } from "@switchboard/protocols/harness";
import type { UnifiedMessage } from "@switchboard/protocols/messages";
import type { UnifiedEvent } from "@switchboard/protocols/unified";

const place = { threadId: "t", turnId: "turn_1", itemId: "i" };
void ({ method: "item/agentMessage/delta", params: { ...place, delta: "a" } } satisfies HarnessMessage);
// @ts-expect-error a delta is text
void ({ method: "item/agentMessage/delta", params: { ...place, delta: 1 } } satisfies HarnessMessage);
// @ts-expect-error there is no such method
void ({ method: "item/agentMessage/deltas", params: { ...place, delta: "a" } } satisfies HarnessMessage);
// @ts-expect-error a command has a folder and a status
void ({ type: "commandExecution", id: "i", command: "ls" } satisfies ThreadItem);

void ({ id: 1, method: "turn/start", params: { threadId: "t", input: [{ type: "text", text: "a" }] } } satisfies HarnessClientMessage);
void ({ id: "r", result: { decision: "accept" } } satisfies HarnessClientMessage);
// @ts-expect-error a turn belongs to a thread
void ({ id: 1, method: "turn/start", params: { input: [] } } satisfies HarnessClientMessage);
// @ts-expect-error a request has an id
void ({ method: "thread/start", params: {} } satisfies HarnessClientMessage);
// @ts-expect-error there is no such decision
void ({ id: "r", result: { decision: "yes" } } satisfies HarnessClientMessage);

/** What a method takes and is answered follows from its name. */
type Method = keyof Protocol["results"];
type Params<M extends Method> = Extract<HarnessClientMessage, { method: M }>["params"];
export async function start(call: <M extends Method>(method: M, params: Params<M>) => Promise<Protocol["results"][M]>) {
  const { thread } = await call("thread/start", { cwd: "/", approvalPolicy: "always" });
  const { turn } = await call("turn/start", { threadId: thread.id, input: [] });
  // @ts-expect-error a turn is not a thread
  void turn.preview;
  // @ts-expect-error this is what another method takes
  await call("thread/archive", { cwd: "/" });
}

const event = { id: "e", sessionId: "s", timestamp: "2026-01-01T00:00:00Z" };
void ({ ...event, type: "textChunk", content: "a", channel: "reasoning" } satisfies UnifiedEvent);
// @ts-expect-error the text is called content
void ({ ...event, type: "textChunk", text: "a" } satisfies UnifiedEvent);
// @ts-expect-error what is not known is left out
void ({ ...event, type: "textChunk", content: "a", channel: null } satisfies UnifiedEvent);

const said = { id: "m", timestamp: 0, content: [], metadata: { session_id: "s" } };
void ({ ...said, type: "interrupt", role: "user" } satisfies UnifiedMessage);
// @ts-expect-error it is the user who interrupts
void ({ ...said, type: "interrupt", role: "assistant" } satisfies UnifiedMessage);

void ({ type: "user_message", content: "a" } satisfies ConsumerCommand);
void ({ type: "session_name_update", name: "a", seq: 1 } satisfies ConsumerMessage);
// @ts-expect-error an answer says yes or no
void ({ type: "permission_response", request_id: "r" } satisfies ConsumerCommand);
// @ts-expect-error consumers do not say what the agent says
void ({ type: "assistant", content: "a" } satisfies ConsumerCommand);

/** A field tells what else is there, and no type is forgotten. */
export function told(item: ThreadItem): string {
  switch (item.type) {
    case "userMessage":
      return item.content.map((input) => (input.type === "text" ? input.text : "")).join("");
    case "agentMessage":
    case "subagentMessage":
    case "plan":
      return item.text;
    case "reasoning":
      return item.summary ?? item.content ?? "";
    case "commandExecution":
      return `${item.command}: ${item.exitCode ?? item.status}`;
    case "fileChange":
      return item.changes.map((change) => change.diff).join("");
    case "mcpToolCall":
      return `${item.server}.${item.tool}`;
    case "webSearch":
      return item.query;
    case "toolCall":
    case "subagent":
      return item.name;
    default:
      return item satisfies never;
  }
}
