// Made from `switchboard schema message` by `cargo xtask types`: not to be changed by hand.

/** One message. */
export type UnifiedMessage =
  | SessionInitMessage
  | StatusChangeMessage
  | AssistantMessage
  | ResultMessage
  | StreamEventMessage
  | PermissionRequestMessage
  | ControlResponseMessage
  | ToolProgressMessage
  | ToolUseSummaryMessage
  | AuthStatusMessage
  | ConfigurationChangeMessage
  | SessionLifecycleMessage
  | UserMessage
  | PermissionResponseMessage
  | InterruptMessage
  | TeamMessage
  | TeamTaskUpdateMessage
  | TeamStateChangeMessage
  | UnknownMessage;
/** A part of a message. */
export type Content =
  TextContent | ToolUseContent | ToolResultContent | CodeContent | ImageContent | ThinkingContent | RefusalContent;
/** The bytes of an image. */
export type ImageSource = Base64Source;
/** What the agent may do without asking. */
export type ApprovalMode = "ask" | "askDangerous" | "autoEdit" | "autoAll";
/** What the agent's processes can reach. */
export type SandboxMode = "none" | "readOnly" | "workspaceWrite" | "fullAccess";
/** How an MCP server is spoken with. */
export type McpTransport = "stdio" | "http" | "sse";
/** The activity of the session. */
export type SessionStatus = "idle" | "running" | "requires_action" | "compacting" | "retrying";
/** What a change of status is about. */
export type StatusSubtype =
  "compaction" | "context" | "hook" | "plan" | "rate_limit" | "retry" | "status" | "step" | "task" | "warning";
/** What began a turn. */
export type Origin = "prompt" | "background" | "command";
/** The status of a step. */
export type PlanStatus = "pending" | "in_progress" | "completed" | "failed";
/** How much a notice matters. */
export type Level = "debug" | "info" | "warning" | "error";
/** The outcome. */
export type EndStatus = "completed" | "failed" | "declined" | "interrupted";
/** The effect of a tool in a team of agents: types without messages of their own. */
export type TeamType = "team_message" | "team_task_update" | "team_state_change";
/** How a turn ended. */
export type TurnStatus = "completed" | "failed" | "interrupted";
/** Why the model stopped. */
export type Stop = "end_turn" | "max_tokens" | "max_turns" | "budget" | "refusal" | "cancelled" | "error";
/** The kind of new text. */
export type EventType = "text_delta" | "thinking_delta";
/** What the agent asks for. */
export type RequestSubtype = "auth" | "permissions" | "elicitation" | "hook" | "other" | "can_use_tool";
/** What a request is about. */
export type About =
  "command" | "file_change" | "tool" | "question" | "plan" | "auth" | "permissions" | "elicitation" | "hook" | "other";
/** What happened to a file. */
export type ChangeKind = "add" | "modify" | "delete" | "move";
/** What choosing an option means. */
export type OptionKind = "allow_once" | "allow_session" | "allow_always" | "reject" | "cancel";
/** The kind of tool. */
export type CallKind =
  "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "mode" | "other";
/** The status of a tool that is in progress. */
export type ProgressStatus = "running" | "pending";
/** What happened to a session. */
export type LifecycleSubtype = "session_ended" | "session_compacted" | "message_removed" | "message_part_removed";
/** How a run ended. */
export type EndReason = "completed" | "failed" | "cancelled" | "timeout";
/** The decision. */
export type Behavior = "allow" | "deny";
/** What became of a request. */
export type Outcome = "allowed" | "declined" | "cancelled" | "answered" | "withdrawn" | "expired";
/** Who decided something. */
export type Decider = "client" | "policy" | "timeout" | "agent" | "switchboard";
/** What a notice is about. */
export type Topic =
  | "status"
  | "retry"
  | "rate_limit"
  | "warning"
  | "hook"
  | "auth"
  | "compaction"
  | "control"
  | "interrupt"
  | "retracted"
  | "late"
  | "echo"
  | "task"
  | "tool_summary"
  | "model_changed"
  | "step"
  | "snapshot"
  | "commands"
  | "stdout"
  | "stderr"
  | "heartbeat"
  | "unknown";

/** The messages of the protocol. */
export interface Protocol {
  /** What Switchboard tells a client. */
  told: UnifiedMessage;
}
/** A run of the session has started. */
export interface SessionInitMessage {
  type: "session_init";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: SessionInitMetadata;
}
export interface TextContent {
  type: "text";
  text: string;
}
export interface ToolUseContent {
  type: "tool_use";
  id: string;
  name: string;
  input: Record<string, unknown>;
}
export interface ToolResultContent {
  type: "tool_result";
  tool_use_id: string;
  content: string;
  is_error?: boolean;
}
export interface CodeContent {
  type: "code";
  language: string;
  code: string;
}
export interface ImageContent {
  type: "image";
  source: ImageSource;
}
export interface Base64Source {
  type: "base64";
  media_type: string;
  data: string;
}
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
}
export interface RefusalContent {
  type: "refusal";
  refusal: string;
}
/** A run of the session has started. */
export interface SessionInitMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  agent: string;
  /** The agent's own session ID. */
  agent_session?: string;
  /** The number of the run, from 1. */
  run: number;
  /** What it resumes. */
  resumed?: Resumed;
  /** The settings it was started with. */
  config: SessionConfig;
  cwd?: string;
  model?: string;
  provider?: string;
  mode?: string;
  title?: string;
  version?: string;
  tools?: string[];
  commands?: Named[];
  modes?: Mode[];
  models?: Model[];
  options?: Selector[];
  mcp?: McpServer[];
  agents?: Named[];
  capabilities?: unknown;
  authMethods?: unknown;
  /** The use of the context window. */
  context?: Context;
}
/** What a run continues. */
export interface Resumed {
  /** The session that it continues. */
  from?: string;
  /** It continues a copy, under a new id. */
  fork: boolean;
}
/** The settings of a session, as clients give and see them. */
export interface SessionConfig {
  /** The agent to run. */
  agentType?: string;
  /** A name for what the work belongs to; stored and shown. */
  projectId?: string;
  /** The folder to work in. */
  workingDirectory?: string;
  /** The model to use. */
  model?: string;
  /** What the agent may do without asking. */
  approvalMode?: ApprovalMode;
  /** What its processes can reach. */
  sandboxMode?: SandboxMode;
  /** Tools that need no approval. */
  allowedTools?: string[];
  /** Tools that never run. */
  blockedTools?: string[];
  /** How many turns the agent may take. */
  maxTurns?: number;
  /** MCP servers in addition to the agent's own, by name. */
  mcpServers?: {
    [k: string]: McpServerConfig;
  };
  /** The agent's own mode, as it advertises them. */
  mode?: string;
  /** The agent's own selectors, such as `reasoning_effort`, by their ids. */
  options?: {
    [k: string]: string;
  };
  /** Writable directories besides the workspace, if only the workspace is writable. */
  writableRoots?: string[];
  /** Protected paths that a confined agent may write all the same: absolute, or relative to the working directory. */
  writablePaths?: string[];
  /**
   * Whether a confined agent and what it runs may use the whole network. Otherwise they reach their model, their
   * login, the MCP servers of the session and `allowedDomains`.
   */
  networkAccess?: boolean;
  /**
   * Hosts that a confined agent may also reach: `example.com`, `*.example.com`, `localhost:8080`, or `@packages` for
   * the package registries.
   */
  allowedDomains?: string[];
  /** TCP ports inside a confined session that are forwarded from the same port of this machine's loopback address. */
  publishedPorts?: number[];
  /** The node of the cluster that runs a new session. By default it is the one that gets the request. */
  node?: string;
  /**
   * Labels of which the node that runs a new session has all. Of several such nodes, the least loaded one runs it.
   */
  labels?: string[];
}
/** An MCP server to offer to the agent: a program, or an address. */
export interface McpServerConfig {
  /** The program to start. */
  command?: string;
  /** Its arguments. */
  args?: string[];
  /** Environment variables in addition to the inherited ones. */
  env?: {
    [k: string]: string;
  };
  /** The address of a server that runs already. */
  url?: string;
  /** How to speak with that address. */
  type?: McpTransport;
  /** Headers to send to it. */
  headers?: {
    [k: string]: string;
  };
  /** Its tools need no approval. */
  trust?: boolean;
  /** The only tools of it that the agent may use. */
  includeTools?: string[];
  /** The tools of it that the agent may not use. */
  excludeTools?: string[];
}
/** Something with a name and a line about it. */
export interface Named {
  /** Its name. */
  name: string;
  /** What it is. */
  description?: string;
}
/** A mode that can be set. */
export interface Mode {
  /** The ID to set. */
  id: string;
  /** The name to display. */
  name: string;
  /** The description. */
  description?: string;
}
/** An available model. */
export interface Model {
  /** The ID to set. */
  id: string;
  /** The name to display. */
  name: string;
  /** The description. */
  description?: string;
  /** It is used when none is named. */
  default?: boolean;
}
/** A setting with a fixed list of values. */
export interface Selector {
  /** The ID to set. */
  id: string;
  /** The name to display. */
  name: string;
  /** The description. */
  description?: string;
  /** The group in a list of settings. */
  group?: string;
  /** The current value. */
  value: string;
  /** The available values. */
  values: SelectorValue[];
}
/** One value of a `Selector`. */
export interface SelectorValue {
  /** The ID to set. */
  id: string;
  /** The name to display. */
  name: string;
  /** The description. */
  description?: string;
}
/** An MCP server of the session. */
export interface McpServer {
  /** Its name. */
  name: string;
  /** Its state, in the agent's words. */
  status?: string;
}
/** The use of the context window. */
export interface Context {
  /** Tokens in it. */
  used?: number;
  /** Tokens that fit. */
  size?: number;
}
/** The activity of the session. */
export interface StatusChangeMessage {
  type: "status_change";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: StatusChangeMetadata;
}
/** The activity of the session. */
export interface StatusChangeMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  status: SessionStatus;
  /** What this is about, where it is not just another status. */
  subtype?: StatusSubtype;
  /** Where compaction begins or ends. */
  is_compacting?: boolean;
  /** What began the turn. */
  origin?: Origin;
  prompt?: string;
  /** The plan as it is now. */
  plan?: PlanEntry[];
  plan_text?: string;
  /** Why the plan changed. */
  explanation?: string;
  /** The use of the context window. */
  context?: Context;
  text?: string;
  /** The agent's own name of the event. */
  name?: string;
  /** The stage, if there are several. */
  stage?: string;
  level?: Level;
  detail?: unknown;
  is_error?: boolean;
  /** The error message. */
  error?: string;
  error_code?:
    | "provider_auth"
    | "api_error"
    | "context_overflow"
    | "output_length"
    | "aborted"
    | "rate_limit"
    | "max_turns"
    | "max_budget"
    | "execution_error"
    | "unknown";
  /** The provider's HTTP status. */
  http_status?: number;
  /** The agent's own name of the error. */
  error_info?: string;
}
/** A step of a plan. */
export interface PlanEntry {
  /** The step. */
  step: string;
  /** The status. */
  status: PlanStatus;
}
/** A complete message, reasoning text or tool call of the agent. */
export interface AssistantMessage {
  type: "assistant";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "assistant";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: AssistantMetadata;
}
/** A message, reasoning text or tool call of the agent. */
export interface AssistantMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  item_id: string;
  /** The model reply that it belongs to. */
  message_id?: string;
  model?: string;
  /** The outcome; absent for a tool call that is in progress. */
  status?: EndStatus;
  /** Whether it is a comment on the way or the answer. */
  phase?: string;
  /** The summary of reasoning whose text is included. */
  summary?: string;
  /** Whether the provider hides the reasoning text. */
  redacted?: boolean;
  /** Whether the text is truncated; the stream events had all of it. */
  truncated?: boolean;
  /** The effect of the tool call in a team. */
  team_type?: TeamType;
  dropped_content_block_types?: string[];
  dropped_content_blocks?: unknown[];
}
/** A turn has ended. */
export interface ResultMessage {
  type: "result";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: ResultMetadata;
}
/** A turn has ended. */
export interface ResultMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  status: TurnStatus;
  stop_reason: Stop;
  is_error: boolean;
  /** The error message. */
  error?: string;
  error_code?:
    | "provider_auth"
    | "api_error"
    | "context_overflow"
    | "output_length"
    | "aborted"
    | "rate_limit"
    | "max_turns"
    | "max_budget"
    | "execution_error"
    | "unknown";
  /** The provider's HTTP status. */
  http_status?: number;
  /** The agent's own name of the error. */
  error_info?: string;
  /** Everything that went wrong in the turn, the reason why it failed last. */
  errors?: string[];
  model?: string;
  usage: Tokens;
  cost_usd?: number;
  duration_ms: number;
  /** The number of model calls. */
  num_turns?: number;
  permission_denials?: Denial[];
  /** The agent's answer, if it is reported separately from messages. */
  result?: string;
}
/** Tokens. Input is without the cache, output includes reasoning, the total is everything. */
export interface Tokens {
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  /** Those of tool use, where the agent counts them apart. */
  tool_tokens?: number;
  total_tokens: number;
  cost_usd?: number;
}
/** A tool that was not allowed to run. */
export interface Denial {
  tool_name: string;
  tool_use_id?: string;
  input?: unknown;
}
/** New text of a message or of reasoning. */
export interface StreamEventMessage {
  type: "stream_event";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "assistant";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: StreamEventMetadata;
}
/** New text of a message or of reasoning. */
export interface StreamEventMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  item_id: string;
  event_type: EventType;
}
/** A request of the agent. */
export interface PermissionRequestMessage {
  type: "permission_request";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: PermissionRequestMetadata;
}
/** A request of the agent. */
export interface PermissionRequestMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  subtype: RequestSubtype;
  /** What it is about. */
  about: About;
  request_id: string;
  /** The tool that would run; always there for `can_use_tool`. */
  tool_name?: string;
  tool_use_id?: string;
  /** What the tool would be given; always there for `can_use_tool`. */
  input?: Record<string, unknown>;
  title: string;
  /** The reason for the request. */
  description?: string;
  command?: string;
  cwd?: string;
  changes?: FileChange[];
  questions?: Question[];
  options?: RequestOption[];
  /** Whether only a person may answer, and only for this request. */
  requires_person?: boolean;
  /** When the request is declined automatically, in milliseconds since 1970. */
  expires_at?: number;
}
/** A file change. */
export interface FileChange {
  path: string;
  kind: ChangeKind;
  /** The new path of a moved file. */
  to?: string;
  diff: string;
}
/** One question to the user. */
export interface Question {
  /** The id to answer to; the question itself where the agent has none. */
  id: string;
  /** The question. */
  question: string;
  /** A word or two above it. */
  header?: string;
  /** The answers to choose from. */
  choices?: Choice[];
  /** More than one may be chosen. */
  multiple?: boolean;
  /** An answer in own words is allowed. */
  free_text?: boolean;
  /** The answer is a secret. */
  secret?: boolean;
}
/** One answer to choose. */
export interface Choice {
  /** What it is called, and what is sent back. */
  label: string;
  /** What it means. */
  description?: string;
}
/** One way to answer. */
export interface RequestOption {
  /** What is sent back. */
  id: string;
  /** What is shown. */
  label: string;
  /** What it means. */
  kind: OptionKind;
}
/** A message between host and agent. */
export interface ControlResponseMessage {
  type: "control_response";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: ControlResponseMetadata;
}
/** A message between host and agent. */
export interface ControlResponseMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  text?: string;
  /** The agent's own name of the event. */
  name?: string;
  /** The stage, if there are several. */
  stage?: string;
  level?: Level;
  detail?: unknown;
  is_error?: boolean;
  /** The error message. */
  error?: string;
  error_code?:
    | "provider_auth"
    | "api_error"
    | "context_overflow"
    | "output_length"
    | "aborted"
    | "rate_limit"
    | "max_turns"
    | "max_budget"
    | "execution_error"
    | "unknown";
  /** The provider's HTTP status. */
  http_status?: number;
  /** The agent's own name of the error. */
  error_info?: string;
}
/** The progress of a tool. */
export interface ToolProgressMessage {
  type: "tool_progress";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "tool";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: ToolProgressMetadata;
}
/** The progress of a tool. */
export interface ToolProgressMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  tool_use_id: string;
  tool_name: string;
  /** A one-line title. */
  title?: string;
  /** The kind of tool. */
  kind?: CallKind;
  /** The effect in a team. */
  team_type?: TeamType;
  status: ProgressStatus;
  /** The input, at the start and when it changes. */
  input?: Record<string, unknown>;
  elapsed_time_seconds?: number;
  /** The progress, from 0 to 1. */
  progress?: number;
  /** The current activity. */
  text?: string;
  /** The output since the last message. */
  output_delta?: string;
}
/** A tool has ended. */
export interface ToolUseSummaryMessage {
  type: "tool_use_summary";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "tool";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: ToolUseSummaryMetadata;
}
/** The result of a tool, or a summary of several tools. */
export interface ToolUseSummaryMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  tool_use_id?: string;
  tool_name?: string;
  /** A one-line title. */
  title?: string;
  /** The kind of tool. */
  kind?: CallKind;
  /** The effect in a team. */
  team_type?: TeamType;
  tool_use_ids: string[];
  status: EndStatus;
  /** A one-line title. */
  summary: string;
  is_error: boolean;
  /** The error message. */
  error?: string;
  error_code?:
    | "provider_auth"
    | "api_error"
    | "context_overflow"
    | "output_length"
    | "aborted"
    | "rate_limit"
    | "max_turns"
    | "max_budget"
    | "execution_error"
    | "unknown";
  /** The provider's HTTP status. */
  http_status?: number;
  /** The agent's own name of the error. */
  error_info?: string;
  /** The output, if it is more than the text of the result. */
  output?: unknown;
  exit_code?: number;
  duration_ms?: number;
  /** The changed files. */
  changes?: FileChange[];
  /** Whether the output is truncated. */
  truncated?: boolean;
  dropped_content_block_types?: string[];
  dropped_content_blocks?: unknown[];
}
/** The progress of a login. */
export interface AuthStatusMessage {
  type: "auth_status";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: AuthStatusMetadata;
}
/** The progress of a login. */
export interface AuthStatusMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  text?: string;
  /** The agent's own name of the event. */
  name?: string;
  /** The stage, if there are several. */
  stage?: string;
  level?: Level;
  detail?: unknown;
  is_error?: boolean;
  /** The error message. */
  error?: string;
  error_code?:
    | "provider_auth"
    | "api_error"
    | "context_overflow"
    | "output_length"
    | "aborted"
    | "rate_limit"
    | "max_turns"
    | "max_budget"
    | "execution_error"
    | "unknown";
  /** The provider's HTTP status. */
  http_status?: number;
  /** The agent's own name of the error. */
  error_info?: string;
}
/** The configuration of the session has changed. */
export interface ConfigurationChangeMessage {
  type: "configuration_change";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: ConfigurationChangeMetadata;
}
/** The session is set up differently; only what changed is there. */
export interface ConfigurationChangeMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  /** The key that changed, or `several`. */
  subtype: string;
  cwd?: string;
  model?: string;
  provider?: string;
  mode?: string;
  title?: string;
  version?: string;
  tools?: string[];
  commands?: Named[];
  modes?: Mode[];
  models?: Model[];
  options?: Selector[];
  mcp?: McpServer[];
  agents?: Named[];
  capabilities?: unknown;
  authMethods?: unknown;
  text?: string;
  /** The agent's own name of the event. */
  name?: string;
  /** The stage, if there are several. */
  stage?: string;
  level?: Level;
  detail?: unknown;
}
/** A change of the session or its history. */
export interface SessionLifecycleMessage {
  type: "session_lifecycle";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: SessionLifecycleMetadata;
}
/** A change of the session or its history. */
export interface SessionLifecycleMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  subtype: LifecycleSubtype;
  /** The message or the part that is gone. */
  item_id?: string;
  /** How the run ended. */
  reason?: EndReason;
  exit_code?: number;
  signal?: number;
  duration_ms?: number;
  text?: string;
  /** The agent's own name of the event. */
  name?: string;
  /** The stage, if there are several. */
  stage?: string;
  level?: Level;
  detail?: unknown;
  is_error?: boolean;
  /** The error message. */
  error?: string;
  error_code?:
    | "provider_auth"
    | "api_error"
    | "context_overflow"
    | "output_length"
    | "aborted"
    | "rate_limit"
    | "max_turns"
    | "max_budget"
    | "execution_error"
    | "unknown";
  /** The provider's HTTP status. */
  http_status?: number;
  /** The agent's own name of the error. */
  error_info?: string;
}
/** A message of the user. */
export interface UserMessage {
  type: "user_message";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "user";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: UserMessageMetadata;
}
/** A message of the user. */
export interface UserMessageMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  item_id: string;
  /** Whether it was generated rather than typed. */
  is_synthetic?: boolean;
  /** Whether it was sent during a turn. */
  queued?: boolean;
  dropped_content_block_types?: string[];
  dropped_content_blocks?: unknown[];
}
/** The answer to a request. */
export interface PermissionResponseMessage {
  type: "permission_response";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "user";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: PermissionResponseMetadata;
}
/** The answer to a request. */
export interface PermissionResponseMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  request_id: string;
  behavior: Behavior;
  outcome: Outcome;
  /** Who decided. */
  by: Decider;
  tool_use_id?: string;
  /** The option that was chosen. */
  option?: string;
  updated_input?: unknown;
  answers?: {
    [k: string]: string[];
  };
  message?: string;
}
/** The turn was interrupted. */
export interface InterruptMessage {
  type: "interrupt";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "user";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: InterruptMetadata;
}
/** The turn was interrupted. */
export interface InterruptMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  text?: string;
  /** The agent's own name of the event. */
  name?: string;
  /** The stage, if there are several. */
  stage?: string;
  level?: Level;
  detail?: unknown;
}
/** A classification, see `team_type`; never a separate message. */
export interface TeamMessage {
  type: "team_message";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: Place;
}
/** What a message belongs to. */
export interface Place {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
}
/** A classification, see `team_type`; never a separate message. */
export interface TeamTaskUpdateMessage {
  type: "team_task_update";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: Place;
}
/** A classification, see `team_type`; never a separate message. */
export interface TeamStateChangeMessage {
  type: "team_state_change";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: Place;
}
/** Anything else. */
export interface UnknownMessage {
  type: "unknown";
  id: string;
  /** Milliseconds since 1970. */
  timestamp: number;
  role: "system";
  content: Content[];
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  metadata: UnknownMetadata;
}
/** Anything else. */
export interface UnknownMetadata {
  session_id: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The tool call that runs the subagent. */
  parent_tool_use_id?: string;
  /** What it is about. */
  subtype: Topic;
  text?: string;
  /** The agent's own name of the event. */
  name?: string;
  /** The stage, if there are several. */
  stage?: string;
  level?: Level;
  detail?: unknown;
  is_error?: boolean;
  /** The error message. */
  error?: string;
  error_code?:
    | "provider_auth"
    | "api_error"
    | "context_overflow"
    | "output_length"
    | "aborted"
    | "rate_limit"
    | "max_turns"
    | "max_budget"
    | "execution_error"
    | "unknown";
  /** The provider's HTTP status. */
  http_status?: number;
  /** The agent's own name of the error. */
  error_info?: string;
}
