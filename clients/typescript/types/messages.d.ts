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
/** A piece of a message. */
export type Content =
  TextContent | ToolUseContent | ToolResultContent | CodeContent | ImageContent | ThinkingContent | RefusalContent;
/** The bytes of an image. */
export type ImageSource = Base64Source;
/** What the agent may do without asking. */
export type ApprovalMode = "ask" | "askDangerous" | "autoEdit" | "autoAll";
/** How an MCP server is spoken with. */
export type McpTransport = "stdio" | "http" | "sse";
/** What the agent's processes can reach. */
export type SandboxMode = "none" | "readOnly" | "workspaceWrite" | "fullAccess";
/** How much a notice matters. */
export type Level = "debug" | "info" | "warning" | "error";
/** What began a turn. */
export type Origin = "prompt" | "background" | "command";
/** How far a step of a plan got. */
export type PlanStatus = "pending" | "in_progress" | "completed" | "failed";
/** What the session is doing. */
export type SessionStatus = "idle" | "running" | "requires_action" | "compacting" | "retrying";
/** What a change of status is about. */
export type StatusSubtype =
  "compaction" | "context" | "hook" | "plan" | "rate_limit" | "retry" | "status" | "step" | "task" | "warning";
/** How something ended. */
export type EndStatus = "completed" | "failed" | "declined" | "interrupted";
/** What a tool does in a team of agents: the types that have no messages of their own. */
export type TeamType = "team_message" | "team_task_update" | "team_state_change";
/** How a turn ended. */
export type TurnStatus = "completed" | "failed" | "interrupted";
/** Why the model stopped. */
export type Stop = "end_turn" | "max_tokens" | "max_turns" | "budget" | "refusal" | "cancelled" | "error";
/** What grows. */
export type EventType = "text_delta" | "thinking_delta";
/** What a request is about. */
export type About =
  "command" | "file_change" | "tool" | "question" | "plan" | "auth" | "permissions" | "elicitation" | "hook" | "other";
/** What happened to a file. */
export type ChangeKind = "add" | "modify" | "delete" | "move";
/** What choosing an option means. */
export type OptionKind = "allow_once" | "allow_session" | "allow_always" | "reject" | "cancel";
/** What the agent asks for. */
export type RequestSubtype = "auth" | "permissions" | "elicitation" | "hook" | "other" | "can_use_tool";
/** What sort of tool it is. */
export type CallKind =
  "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "mode" | "other";
/** How far a tool got that goes on. */
export type ProgressStatus = "running" | "pending";
/** How a run ended. */
export type EndReason = "completed" | "failed" | "cancelled" | "timeout";
/** What happened to a session. */
export type LifecycleSubtype = "session_ended" | "session_compacted" | "message_removed" | "message_part_removed";
/** Yes or no. */
export type Behavior = "allow" | "deny";
/** Who decided something. */
export type Decider = "client" | "policy" | "timeout" | "agent" | "switchboard";
/** What became of a request. */
export type Outcome = "allowed" | "declined" | "cancelled" | "answered" | "withdrawn" | "expired";
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
/** A run of the session began. */
export interface SessionInitMessage {
  type: "session_init";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: SessionInitMetadata;
}
export interface TextContent {
  type: "text";
  text: string;
}
export interface ToolUseContent {
  type: "tool_use";
  id: string;
  input: Record<string, unknown>;
  name: string;
}
export interface ToolResultContent {
  type: "tool_result";
  content: string;
  is_error?: boolean;
  tool_use_id: string;
}
export interface CodeContent {
  type: "code";
  code: string;
  language: string;
}
export interface ImageContent {
  type: "image";
  source: ImageSource;
}
export interface Base64Source {
  type: "base64";
  data: string;
  media_type: string;
}
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
}
export interface RefusalContent {
  type: "refusal";
  refusal: string;
}
/** A run of the session began. */
export interface SessionInitMetadata {
  agent: string;
  /** The agent's own id of the session. */
  agent_session?: string;
  agents?: Named[];
  capabilities?: unknown;
  commands?: Named[];
  /** The settings it was started with. */
  config: SessionConfig;
  /** How full the context is. */
  context?: Context;
  cwd?: string;
  mcp?: McpServer[];
  mode?: string;
  model?: string;
  models?: Model[];
  modes?: Mode[];
  options?: Selector[];
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  provider?: string;
  /** What it continues. */
  resumed?: Resumed;
  /** Which run of the session, from 1. */
  run: number;
  session_id: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  title?: string;
  tools?: string[];
  /** The number of the turn in the session. */
  turn?: number;
  version?: string;
}
/** Something with a name and a line about it. */
export interface Named {
  /** What it is. */
  description?: string;
  /** Its name. */
  name: string;
}
/** The settings of a session, as clients give and see them. */
export interface SessionConfig {
  /** The agent to run. */
  agentType?: string;
  /** Tools that need no approval. */
  allowedTools?: string[];
  /** What the agent may do without asking. */
  approvalMode?: ApprovalMode;
  /** Tools that never run. */
  blockedTools?: string[];
  /** How many turns the agent may take. */
  maxTurns?: number;
  /** MCP servers that the agent gets beside its own, by name. */
  mcpServers?: {
    [k: string]: McpServerConfig;
  };
  /** The agent's own mode, as it advertises them. */
  mode?: string;
  /** The model to use. */
  model?: string;
  /** Whether what the agent runs may use the network. */
  networkAccess?: boolean;
  /** The agent's own selectors, such as `reasoning_effort`, by their ids. */
  options?: {
    [k: string]: string;
  };
  /** A name for what the work belongs to; stored and shown. */
  projectId?: string;
  /** What its processes can reach. */
  sandboxMode?: SandboxMode;
  /** The folder to work in. */
  workingDirectory?: string;
  /** Folders that may be written beside the workspace, where only the workspace may be. */
  writableRoots?: string[];
}
/** An MCP server to offer to the agent: a program, or an address. */
export interface McpServerConfig {
  /** Its arguments. */
  args?: string[];
  /** The program to start. */
  command?: string;
  /** Its environment, beside what it inherits. */
  env?: {
    [k: string]: string;
  };
  /** The tools of it that the agent may not use. */
  excludeTools?: string[];
  /** Headers to send to it. */
  headers?: {
    [k: string]: string;
  };
  /** The only tools of it that the agent may use. */
  includeTools?: string[];
  /** Its tools need no approval. */
  trust?: boolean;
  /** How to speak with that address. */
  type?: McpTransport;
  /** The address of a server that runs already. */
  url?: string;
}
/** How full the context is. */
export interface Context {
  /** Tokens that fit. */
  size?: number;
  /** Tokens in it. */
  used?: number;
}
/** An MCP server of the session. */
export interface McpServer {
  /** Its name. */
  name: string;
  /** Its state, in the agent's words. */
  status?: string;
}
/** A model that can be set. */
export interface Model {
  /** It is used when none is named. */
  default?: boolean;
  /** What it is good for. */
  description?: string;
  /** What to set. */
  id: string;
  /** What to show. */
  name: string;
}
/** A mode that can be set. */
export interface Mode {
  /** What it does. */
  description?: string;
  /** What to set. */
  id: string;
  /** What to show. */
  name: string;
}
/** A setting with a fixed list of values. */
export interface Selector {
  /** What it does. */
  description?: string;
  /** Where it belongs in a list of settings. */
  group?: string;
  /** What to set. */
  id: string;
  /** What to show. */
  name: string;
  /** The current value. */
  value: string;
  /** The values it can have. */
  values: SelectorValue[];
}
/** One value of a `Selector`. */
export interface SelectorValue {
  /** What it does. */
  description?: string;
  /** What to set. */
  id: string;
  /** What to show. */
  name: string;
}
/** What a run continues. */
export interface Resumed {
  /** It continues a copy, under a new id. */
  fork: boolean;
  /** The session that it continues. */
  from?: string;
}
/** What the session is doing. */
export interface StatusChangeMessage {
  type: "status_change";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: StatusChangeMetadata;
}
/** What the session is doing. */
export interface StatusChangeMetadata {
  /** How full the context is. */
  context?: Context;
  detail?: unknown;
  /** What a person is told. */
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
  /** The agent's own name for it. */
  error_info?: string;
  /** Why the plan changed. */
  explanation?: string;
  /** The provider's HTTP status. */
  http_status?: number;
  /** Where compaction begins or ends. */
  is_compacting?: boolean;
  is_error?: boolean;
  level?: Level;
  /** The native name of what happened. */
  name?: string;
  /** What began the turn. */
  origin?: Origin;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  /** The plan as it is now. */
  plan?: PlanEntry[];
  plan_text?: string;
  prompt?: string;
  session_id: string;
  /** How far it got, where it has stages. */
  stage?: string;
  status: SessionStatus;
  /** What this is about, where it is not just another status. */
  subtype?: StatusSubtype;
  text?: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** A step of a plan. */
export interface PlanEntry {
  /** How far it got. */
  status: PlanStatus;
  /** What is to be done. */
  step: string;
}
/** What the agent said, thought or called: whole. */
export interface AssistantMessage {
  type: "assistant";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "assistant";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: AssistantMetadata;
}
/** What the agent said, thought or called. */
export interface AssistantMetadata {
  dropped_content_block_types?: string[];
  dropped_content_blocks?: unknown[];
  item_id: string;
  /** The model reply that it came with. */
  message_id?: string;
  model?: string;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  /** Whether it is a comment on the way or the answer. */
  phase?: string;
  /** The provider keeps the thoughts secret. */
  redacted?: boolean;
  session_id: string;
  /** How it ended; a tool call has not ended. */
  status?: EndStatus;
  /** The summary of thoughts that are there themselves. */
  summary?: string;
  /** What the tool call does in a team. */
  team_type?: TeamType;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The text is longer; the stream events had all of it. */
  truncated?: boolean;
  /** The number of the turn in the session. */
  turn?: number;
}
/** A turn ended. */
export interface ResultMessage {
  type: "result";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: ResultMetadata;
}
/** A turn ended. */
export interface ResultMetadata {
  cost_usd?: number;
  duration_ms: number;
  /** What a person is told. */
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
  /** The agent's own name for it. */
  error_info?: string;
  /** Everything that went wrong in the turn, the reason why it failed last. */
  errors?: string[];
  /** The provider's HTTP status. */
  http_status?: number;
  is_error: boolean;
  model?: string;
  /** How often the model was called. */
  num_turns?: number;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  permission_denials?: Denial[];
  /** The agent's answer, where it gives one beside its messages. */
  result?: string;
  session_id: string;
  status: TurnStatus;
  stop_reason: Stop;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
  usage: Tokens;
}
/** A tool that was not allowed to run. */
export interface Denial {
  input?: unknown;
  tool_name: string;
  tool_use_id?: string;
}
/** Tokens. Input is without the cache, output includes reasoning, the total is everything. */
export interface Tokens {
  cache_read_tokens: number;
  cache_write_tokens: number;
  cost_usd?: number;
  input_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  total_tokens: number;
}
/** What the agent is saying or thinking: a piece. */
export interface StreamEventMessage {
  type: "stream_event";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "assistant";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: StreamEventMetadata;
}
/** A piece of what the agent is saying or thinking. */
export interface StreamEventMetadata {
  event_type: EventType;
  item_id: string;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  session_id: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** The agent asks. */
export interface PermissionRequestMessage {
  type: "permission_request";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: PermissionRequestMetadata;
}
/** The agent asks. */
export interface PermissionRequestMetadata {
  /** What it is about. */
  about: About;
  changes?: FileChange[];
  command?: string;
  cwd?: string;
  /** Why the agent asks. */
  description?: string;
  /** When it is declined by itself: milliseconds since 1970. */
  expires_at?: number;
  /** What the tool would be given; always there for `can_use_tool`. */
  input?: Record<string, unknown>;
  options?: RequestOption[];
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  questions?: Question[];
  request_id: string;
  session_id: string;
  subtype: RequestSubtype;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  title: string;
  /** The tool that would run; always there for `can_use_tool`. */
  tool_name?: string;
  tool_use_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** The change of a file. */
export interface FileChange {
  diff: string;
  kind: ChangeKind;
  path: string;
  /** Where it was moved. */
  to?: string;
}
/** One way to answer. */
export interface RequestOption {
  /** What is sent back. */
  id: string;
  /** What it means. */
  kind: OptionKind;
  /** What is shown. */
  label: string;
}
/** One question to the user. */
export interface Question {
  /** The answers to choose from. */
  choices?: Choice[];
  /** An answer in own words is allowed. */
  free_text?: boolean;
  /** A word or two above it. */
  header?: string;
  /** The id to answer to; the question itself where the agent has none. */
  id: string;
  /** More than one may be chosen. */
  multiple?: boolean;
  /** The question. */
  question: string;
  /** The answer is a secret. */
  secret?: boolean;
}
/** One answer to choose. */
export interface Choice {
  /** What it means. */
  description?: string;
  /** What it is called, and what is sent back. */
  label: string;
}
/** Talk between host and agent. */
export interface ControlResponseMessage {
  type: "control_response";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: ControlResponseMetadata;
}
/** Talk between host and agent. */
export interface ControlResponseMetadata {
  detail?: unknown;
  /** What a person is told. */
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
  /** The agent's own name for it. */
  error_info?: string;
  /** The provider's HTTP status. */
  http_status?: number;
  is_error?: boolean;
  level?: Level;
  /** The native name of what happened. */
  name?: string;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  session_id: string;
  /** How far it got, where it has stages. */
  stage?: string;
  text?: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** A tool is going on. */
export interface ToolProgressMessage {
  type: "tool_progress";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "tool";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: ToolProgressMetadata;
}
/** A tool is going on. */
export interface ToolProgressMetadata {
  elapsed_time_seconds?: number;
  /** What it was given; when it begins, and when that changes. */
  input?: Record<string, unknown>;
  /** What sort of tool it is. */
  kind?: CallKind;
  /** What it printed since the last message. */
  output_delta?: string;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  /** How far, from 0 to 1. */
  progress?: number;
  session_id: string;
  status: ProgressStatus;
  /** What it does in a team. */
  team_type?: TeamType;
  /** What it is doing. */
  text?: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** One line for people. */
  title?: string;
  tool_name: string;
  tool_use_id: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** A tool came to its end. */
export interface ToolUseSummaryMessage {
  type: "tool_use_summary";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "tool";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: ToolUseSummaryMetadata;
}
/** A tool came to its end, or several tools in a few words. */
export interface ToolUseSummaryMetadata {
  /** The files that it changed. */
  changes?: FileChange[];
  dropped_content_block_types?: string[];
  dropped_content_blocks?: unknown[];
  duration_ms?: number;
  /** What a person is told. */
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
  /** The agent's own name for it. */
  error_info?: string;
  exit_code?: number;
  /** The provider's HTTP status. */
  http_status?: number;
  is_error: boolean;
  /** What sort of tool it is. */
  kind?: CallKind;
  /** What it gave back, where that is more than the text of the result. */
  output?: unknown;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  session_id: string;
  status: EndStatus;
  /** One line for people. */
  summary: string;
  /** What it does in a team. */
  team_type?: TeamType;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** One line for people. */
  title?: string;
  tool_name?: string;
  tool_use_id?: string;
  tool_use_ids: string[];
  /** There was more output. */
  truncated?: boolean;
  /** The number of the turn in the session. */
  turn?: number;
}
/** Logging in. */
export interface AuthStatusMessage {
  type: "auth_status";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: AuthStatusMetadata;
}
/** Logging in. */
export interface AuthStatusMetadata {
  detail?: unknown;
  /** What a person is told. */
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
  /** The agent's own name for it. */
  error_info?: string;
  /** The provider's HTTP status. */
  http_status?: number;
  is_error?: boolean;
  level?: Level;
  /** The native name of what happened. */
  name?: string;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  session_id: string;
  /** How far it got, where it has stages. */
  stage?: string;
  text?: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** The session is set up differently. */
export interface ConfigurationChangeMessage {
  type: "configuration_change";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: ConfigurationChangeMetadata;
}
/** The session is set up differently; only what changed is there. */
export interface ConfigurationChangeMetadata {
  agents?: Named[];
  capabilities?: unknown;
  commands?: Named[];
  cwd?: string;
  detail?: unknown;
  level?: Level;
  mcp?: McpServer[];
  mode?: string;
  model?: string;
  models?: Model[];
  modes?: Mode[];
  /** The native name of what happened. */
  name?: string;
  options?: Selector[];
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  provider?: string;
  session_id: string;
  /** How far it got, where it has stages. */
  stage?: string;
  /** The key that changed, or `several`. */
  subtype: string;
  text?: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  title?: string;
  tools?: string[];
  /** The number of the turn in the session. */
  turn?: number;
  version?: string;
}
/** Something happened to the session or to its history. */
export interface SessionLifecycleMessage {
  type: "session_lifecycle";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: SessionLifecycleMetadata;
}
/** Something happened to the session or to its history. */
export interface SessionLifecycleMetadata {
  detail?: unknown;
  duration_ms?: number;
  /** What a person is told. */
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
  /** The agent's own name for it. */
  error_info?: string;
  exit_code?: number;
  /** The provider's HTTP status. */
  http_status?: number;
  is_error?: boolean;
  /** The message or the part that is gone. */
  item_id?: string;
  level?: Level;
  /** The native name of what happened. */
  name?: string;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  /** How the run ended. */
  reason?: EndReason;
  session_id: string;
  signal?: number;
  /** How far it got, where it has stages. */
  stage?: string;
  subtype: LifecycleSubtype;
  text?: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** What the user said. */
export interface UserMessage {
  type: "user_message";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "user";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: UserMessageMetadata;
}
/** What the user said. */
export interface UserMessageMetadata {
  dropped_content_block_types?: string[];
  dropped_content_blocks?: unknown[];
  /** Nobody typed it. */
  is_synthetic?: boolean;
  item_id: string;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  /** It was said while a turn was running. */
  queued?: boolean;
  session_id: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** What the agent was answered. */
export interface PermissionResponseMessage {
  type: "permission_response";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "user";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: PermissionResponseMetadata;
}
/** What the agent was answered. */
export interface PermissionResponseMetadata {
  answers?: {
    [k: string]: string[];
  };
  behavior: Behavior;
  /** Who decided. */
  by: Decider;
  message?: string;
  /** The option that was chosen. */
  option?: string;
  outcome: Outcome;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  request_id: string;
  session_id: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  tool_use_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
  updated_input?: unknown;
}
/** Somebody interrupted the turn. */
export interface InterruptMessage {
  type: "interrupt";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "user";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: InterruptMetadata;
}
/** Somebody interrupted the turn. */
export interface InterruptMetadata {
  detail?: unknown;
  level?: Level;
  /** The native name of what happened. */
  name?: string;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  session_id: string;
  /** How far it got, where it has stages. */
  stage?: string;
  text?: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** A classification, see `team_type`: never a message of its own. */
export interface TeamMessage {
  type: "team_message";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: Place;
}
/** Where a message belongs. */
export interface Place {
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  session_id: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
/** A classification, see `team_type`: never a message of its own. */
export interface TeamTaskUpdateMessage {
  type: "team_task_update";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: Place;
}
/** A classification, see `team_type`: never a message of its own. */
export interface TeamStateChangeMessage {
  type: "team_state_change";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: Place;
}
/** Anything else. */
export interface UnknownMessage {
  type: "unknown";
  content: Content[];
  id: string;
  /** The message with the tool call that this one belongs to. */
  parentId?: string;
  role: "system";
  /** Milliseconds since 1970. */
  timestamp: number;
  metadata: UnknownMetadata;
}
/** Anything else. */
export interface UnknownMetadata {
  detail?: unknown;
  /** What a person is told. */
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
  /** The agent's own name for it. */
  error_info?: string;
  /** The provider's HTTP status. */
  http_status?: number;
  is_error?: boolean;
  level?: Level;
  /** The native name of what happened. */
  name?: string;
  /** The tool call under which a subagent works. */
  parent_tool_use_id?: string;
  session_id: string;
  /** How far it got, where it has stages. */
  stage?: string;
  /** What it is about. */
  subtype: Topic;
  text?: string;
  /** The subagent's thread: the message is not part of the answer. */
  thread_id?: string;
  /** The number of the turn in the session. */
  turn?: number;
}
