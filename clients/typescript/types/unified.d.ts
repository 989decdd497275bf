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
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  agentType: "claude" | "codex" | "gemini" | "opencode" | "acp" | "board" | "echo" | "script";
  config?: SessionConfig;
}
export interface SessionConfig {
  agentType?: string;
  projectId?: string;
  workingDirectory?: string;
  model?: string;
  approvalMode?: "ask" | "askDangerous" | "autoEdit" | "autoAll";
  sandboxMode?: "none" | "readOnly" | "workspaceWrite" | "fullAccess";
  allowedTools?: string[];
  blockedTools?: string[];
  maxTurns?: number;
}
/** Work on a prompt began. */
export interface TurnStartedEvent {
  type: "turnStarted";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  turnNumber: number;
  prompt?: string;
}
/** New text: joined in order, the chunks without a channel are the answer. */
export interface TextChunkEvent {
  type: "textChunk";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  content: string;
  isComplete?: boolean;
  /** Which text this is, if it is not the answer */
  channel?: "reasoning" | "plan" | "log" | "subagent" | "user";
  /** Text that the agent took back: remove it from the end of the channel's text */
  retracted?: string;
}
/** A tool was called. */
export interface ToolStartedEvent {
  type: "toolStarted";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  toolId: string;
  toolName: string;
  arguments?: Record<string, unknown>;
}
/** A tool is going on: what it printed since, or how far it is. */
export interface ToolProgressEvent {
  type: "toolProgress";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  toolId: string;
  output?: string;
  progress?: number;
}
/** A tool ran; success says how well. */
export interface ToolCompletedEvent {
  type: "toolCompleted";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  toolId: string;
  success: boolean;
  result?: unknown;
  error?: string;
  durationMs?: number;
}
/** A file was changed. */
export interface FileChangedEvent {
  type: "fileChanged";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  filePath: string;
  changeType: "created" | "modified" | "deleted";
  diff?: string;
  before?: string;
  after?: string;
}
/** The work on a prompt is done. */
export interface TurnCompletedEvent {
  type: "turnCompleted";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  turnNumber: number;
  usage: TokenUsage;
  durationMs?: number;
}
export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  cachedTokens?: number;
  reasoningTokens?: number;
  toolTokens?: number;
  totalTokens: number;
}
/** The agent's process ended: the last event of a run. */
export interface SessionEndedEvent {
  type: "sessionEnded";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  reason: "completed" | "failed" | "cancelled" | "timeout";
  error?: string;
  errorType?: ErrorType;
}
/** The work on a prompt failed. */
export interface TurnFailedEvent {
  type: "turnFailed";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  turnNumber: number;
  usage?: TokenUsage;
  durationMs?: number;
  error: string;
  errorType: ErrorType;
}
/** A tool did not run: declined, interrupted, or it died. */
export interface ToolFailedEvent {
  type: "toolFailed";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  toolId: string;
  error: string;
}
/** Something went wrong. */
export interface ErrorEvent {
  type: "error";
  /** Unique event identifier */
  id: string;
  /** Session this event belongs to */
  sessionId: string;
  /** ISO 8601 timestamp */
  timestamp: string;
  /** The tool call under which a subagent works */
  parentToolId?: string;
  message: string;
  errorType: ErrorType;
}
