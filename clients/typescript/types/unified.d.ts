// Made from `switchboard schema unified` by `cargo xtask types`: not to be changed by hand.

/** One event of a session, the same for every agent. */
export type UnifiedEvent =
  | SessionStartedEvent
  | TurnStartedEvent
  | TextChunkEvent
  | ToolStartedEvent
  | ToolProgressEvent
  | ToolCompletedEvent
  | FileChangedEvent
  | TurnCompletedEvent
  | SessionEndedEvent
  | TurnFailedEvent
  | ToolFailedEvent
  | ErrorEvent;
export type ErrorType =
  | "connectionFailed"
  | "authenticationFailed"
  | "sessionNotFound"
  | "permissionDenied"
  | "toolExecutionFailed"
  | "timeout"
  | "protocolError"
  | "unknown";

/** The messages of the protocol. */
export interface Protocol {
  /** What Switchboard tells a client. */
  told: UnifiedEvent;
}
/** The agent runs. */
export interface SessionStartedEvent {
  type: "sessionStarted";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  agentType: "claude" | "codex" | "gemini" | "opencode" | "acp" | "board" | "echo" | "script";
  config?: SessionConfig;
}
export interface SessionConfig {
  agentType?: string;
  allowedTools?: string[];
  approvalMode?: "ask" | "askDangerous" | "autoEdit" | "autoAll";
  blockedTools?: string[];
  maxTurns?: number;
  model?: string;
  projectId?: string;
  sandboxMode?: "none" | "readOnly" | "workspaceWrite" | "fullAccess";
  workingDirectory?: string;
}
/** Work on a prompt began. */
export interface TurnStartedEvent {
  type: "turnStarted";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  prompt?: string;
  turnNumber: number;
}
/** New text: joined in order, the chunks without a channel are the answer. */
export interface TextChunkEvent {
  type: "textChunk";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** Which text this is, if it is not the answer */
  channel?: "reasoning" | "plan" | "log" | "subagent" | "user";
  content: string;
  isComplete?: boolean;
}
/** A tool was called. */
export interface ToolStartedEvent {
  type: "toolStarted";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  arguments?: Record<string, unknown>;
  toolId: string;
  toolName: string;
}
/** A tool is going on: what it printed since, or how far it is. */
export interface ToolProgressEvent {
  type: "toolProgress";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  output?: string;
  progress?: number;
  toolId: string;
}
/** A tool ran; success says how well. */
export interface ToolCompletedEvent {
  type: "toolCompleted";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  durationMs?: number;
  error?: string;
  result?: unknown;
  success: boolean;
  toolId: string;
}
/** A file was changed. */
export interface FileChangedEvent {
  type: "fileChanged";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  after?: string;
  before?: string;
  changeType: "created" | "modified" | "deleted";
  diff?: string;
  filePath: string;
}
/** The work on a prompt is done. */
export interface TurnCompletedEvent {
  type: "turnCompleted";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  durationMs?: number;
  turnNumber: number;
  usage: TokenUsage;
}
export interface TokenUsage {
  cachedTokens?: number;
  inputTokens: number;
  outputTokens: number;
  reasoningTokens?: number;
  totalTokens: number;
}
/** The agent's process ended: the last event of a run. */
export interface SessionEndedEvent {
  type: "sessionEnded";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  error?: string;
  errorType?: ErrorType;
  reason: "completed" | "failed" | "cancelled" | "timeout";
}
/** The work on a prompt failed. */
export interface TurnFailedEvent {
  type: "turnFailed";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  durationMs?: number;
  error: string;
  errorType: ErrorType;
  turnNumber: number;
  usage?: TokenUsage;
}
/** A tool did not run: declined, interrupted, or it died. */
export interface ToolFailedEvent {
  type: "toolFailed";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  error: string;
  toolId: string;
}
/** Something went wrong. */
export interface ErrorEvent {
  type: "error";
  /** Unique event identifier */
  id: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  errorType: ErrorType;
  message: string;
}
