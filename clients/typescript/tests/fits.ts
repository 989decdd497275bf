// What a type must let through, and what it must not: a line below `@ts-expect-error` that compiles is an error.

import type { HarnessMessage, ThreadItem } from "@switchboard/protocols/harness";
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
