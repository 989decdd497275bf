// Made from `switchboard schema consumer` and `switchboard schema consumer:client` by `cargo xtask types`: not to be changed by hand.

/** A message with its number in the session. */
export type ConsumerMessage =
  | SessionInitMessage
  | SessionUpdateMessage
  | AssistantMessage
  | StreamEventMessage
  | ResultMessage
  | PermissionRequestMessage
  | AgentRequestMessage
  | PermissionCancelledMessage
  | ToolProgressMessage
  | ToolUseSummaryMessage
  | StatusChangeMessage
  | AuthStatusMessage
  | ConfigurationChangeMessage
  | SessionLifecycleMessage
  | UserMessage
  | CliConnectedMessage
  | CliDisconnectedMessage
  | SessionNameUpdateMessage
  | CapabilitiesReadyMessage
  | ProcessOutputMessage
  | IdentityMessage
  | PresenceUpdateMessage
  | MessageHistoryMessage
  | MessageQueuedMessage
  | QueuedMessageUpdatedMessage
  | QueuedMessageCancelledMessage
  | QueuedMessageSentMessage
  | SlashCommandResultMessage
  | SlashCommandErrorMessage
  | ResumeFailedMessage
  | ErrorMessage;
/** The activity of the session. */
export type SessionStatus = "idle" | "running" | "requires_action" | "compacting" | "retrying";
/** The status of a step. */
export type PlanStatus = "pending" | "in_progress" | "completed" | "failed";
/** The role of an agent in a team. */
export type TeamRole = "lead" | "teammate";
/** The state of a member. */
export type MemberStatus = "active" | "idle" | "shutdown";
/** The status of a task. */
export type TaskStatus = "pending" | "in_progress" | "completed" | "deleted";
/** What choosing an option means. */
export type OptionKind = "allow_once" | "allow_session" | "allow_always" | "reject" | "cancel";
/** A part of a message. */
export type Block = TextBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock | CodeBlock | ImageBlock | RefusalBlock;
/** The new text. */
export type Delta = TextDelta | ThinkingDelta;
/** How a turn ended. */
export type ResultSubtype =
  | "success"
  | "error_during_execution"
  | "error_max_turns"
  | "error_max_budget_usd"
  | "error_max_structured_output_retries";
/** The output stream of a process. */
export type Stream = "stdout" | "stderr";
/** The permitted actions of a consumer. */
export type Role = "participant" | "observer";
/** Who handled a slash command. */
export type SlashSource = "emulated" | "cli";
/** A message from a consumer. Each type is parsed separately; this is only the list of types. */
export type ConsumerCommand =
  | UserMessageCommand
  | PermissionResponseCommand
  | InterruptCommand
  | SetModelCommand
  | SetPermissionModeCommand
  | PresenceQueryCommand
  | SlashCommand
  | SetAdapterCommand
  | QueueMessageCommand
  | UpdateQueuedMessageCommand
  | CancelQueuedMessageCommand;
/** The decision. */
export type Behavior = "allow" | "deny";

/** The messages of the protocol. */
export interface Protocol {
  /** What Switchboard tells a client. */
  told: ConsumerMessage;
  /** What a client says. */
  said: ConsumerCommand;
}
/** The state of the session: sent first to new consumers, and to all when a run starts. */
export interface SessionInitMessage {
  type: "session_init";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  session: State;
  /** The version of the protocol. */
  protocol_version: number;
  /** Identifies the numbering of messages; sent back as `numbering`, it shows whether `after` is still valid. */
  numbering?: string;
}
/** The state of a session. Its size depends on what is open and what the agent offers, not on the history. */
export interface State {
  /** The session. */
  session_id: string;
  /** The agent. */
  agent: string;
  /** The agent's own session ID. */
  agent_session?: string;
  /** The agent's version. */
  version?: string;
  /** The number of the run, from 1. */
  run: number;
  /** Whether the agent's process runs. If not, a prompt resumes the session. */
  connected: boolean;
  /** The current model; empty if unknown. */
  model: string;
  /** The provider of the model. */
  provider?: string;
  /** The working directory. */
  cwd: string;
  /** The title. */
  title?: string;
  /** The current activity; absent before the first report of the agent. */
  status?: SessionStatus;
  /** Whether the agent compacts its context. */
  is_compacting: boolean;
  /** The agent's current mode; empty if unknown. */
  permissionMode: string;
  /** The available modes. */
  modes: Mode[];
  /** The available models. */
  models: Model[];
  /** The agent's own selectors. */
  options: Selector[];
  /** The agent's tools. */
  tools: string[];
  /** The agent's slash commands. */
  commands: Named[];
  /** The names of the slash commands. */
  slash_commands: string[];
  /** The agent's MCP servers. */
  mcp_servers: McpServer[];
  /** The agent's subagents. */
  agents: string[];
  /** The use of the context window. */
  context?: Context;
  /** The use of the context window in percent; 0 if unknown. */
  context_used_percent: number;
  /** The number of turns that have ended. */
  num_turns: number;
  /** The token usage of all turns, each counted once. */
  usage: Tokens;
  /** The cost of all turns, as far as the agent reports it. */
  total_cost_usd: number;
  /** The duration of the last turn. */
  last_duration_ms?: number;
  /** The current plan. */
  plan?: PlanEntry[];
  /** The team of agents, if there is one. */
  team?: Team;
  /** The open requests of the agent, oldest first. */
  pending_permissions: Permission[];
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
/** Something with a name and a line about it. */
export interface Named {
  /** Its name. */
  name: string;
  /** What it is. */
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
/** Tokens of several turns. Input is without the cache, output includes reasoning, the total is everything. */
export interface Tokens {
  input_tokens: number;
  output_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  reasoning_tokens: number;
  total_tokens: number;
}
/** A step of a plan. */
export interface PlanEntry {
  /** The step. */
  step: string;
  /** The status. */
  status: PlanStatus;
}
/** A team. */
export interface Team {
  /** The name. */
  name: string;
  /** The role of the session's agent. */
  role: TeamRole;
  /** The members, oldest first. */
  members: TeamMember[];
  /** The tasks, oldest first. */
  tasks: TeamTask[];
  /** The latest messages between members, oldest first. */
  messages: TeamMessage[];
}
/** A member of a team. */
export interface TeamMember {
  /** The name. */
  name: string;
  /** The tool call that runs the member. */
  agentId: string;
  /** The type of agent. */
  agentType: string;
  /** The current activity. */
  status: MemberStatus;
  /** The model. */
  model?: string;
}
/** A task of a team. */
export interface TeamTask {
  /** The ID. */
  id: string;
  /** A short description. */
  subject: string;
  /** The full description. */
  description?: string;
  /** The status. */
  status: TaskStatus;
  /** The member that works on it. */
  owner?: string;
  /** The text to display while it is in progress. */
  activeForm?: string;
  /** The tasks that it depends on. */
  blockedBy: string[];
  /** The tasks that depend on it. */
  blocks: string[];
}
/** A message between members of a team. */
export interface TeamMessage {
  /** The tool call that sent it. */
  id: string;
  /** The recipient. */
  to: string;
  /** The first thousand characters of the message. */
  text: string;
  /** A summary. */
  summary?: string;
  /** The time, in milliseconds since 1970. */
  timestamp: number;
}
/** A request of the agent. */
export interface Permission {
  /** The ID for the answer. */
  request_id: string;
  /** The type of request: `can_use_tool`, or another one that is not about a tool. */
  subtype: string;
  /** The tool to run. */
  tool_name: string;
  /** The input of the tool. */
  input: Record<string, unknown>;
  /** The reason for the request. */
  description?: string;
  /** The tool call; empty if the agent does not report it. */
  tool_use_id: string;
  /** The subagent that sent the request. */
  agent_id?: string;
  /** The time of the request, in milliseconds since 1970. */
  timestamp: number;
  /** The subject: `command`, `file_change`, `tool`, `question`, `plan`, `auth`, … */
  about?: string;
  /** A one-line title. */
  title?: string;
  /** The command to run. */
  command?: string;
  /** The directory of the command. */
  cwd?: string;
  /** The file changes. */
  changes?: unknown[];
  /** The questions to answer. */
  questions?: Question[];
  /** The options that the agent offers. */
  options?: RequestOption[];
  /** When the request is declined automatically, in milliseconds since 1970. */
  expires_at?: number;
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
/** The changed fields of the state; removed fields are `null`. */
export interface SessionUpdateMessage {
  type: "session_update";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  session: StateUpdate;
}
/** What is different now. */
export interface StateUpdate {
  /** The session. */
  session_id?: string | null;
  /** The agent. */
  agent?: string | null;
  /** The agent's own session ID. */
  agent_session?: string | null;
  /** The agent's version. */
  version?: string | null;
  /** The number of the run, from 1. */
  run?: number | null;
  /** Whether the agent's process runs. If not, a prompt resumes the session. */
  connected?: boolean | null;
  /** The current model; empty if unknown. */
  model?: string | null;
  /** The provider of the model. */
  provider?: string | null;
  /** The working directory. */
  cwd?: string | null;
  /** The title. */
  title?: string | null;
  /** The current activity; absent before the first report of the agent. */
  status?: SessionStatus | null;
  /** Whether the agent compacts its context. */
  is_compacting?: boolean | null;
  /** The agent's current mode; empty if unknown. */
  permissionMode?: string | null;
  /** The available modes. */
  modes?: Mode[] | null;
  /** The available models. */
  models?: Model[] | null;
  /** The agent's own selectors. */
  options?: Selector[] | null;
  /** The agent's tools. */
  tools?: string[] | null;
  /** The agent's slash commands. */
  commands?: Named[] | null;
  /** The names of the slash commands. */
  slash_commands?: string[] | null;
  /** The agent's MCP servers. */
  mcp_servers?: McpServer[] | null;
  /** The agent's subagents. */
  agents?: string[] | null;
  /** The use of the context window. */
  context?: Context | null;
  /** The use of the context window in percent; 0 if unknown. */
  context_used_percent?: number | null;
  /** The number of turns that have ended. */
  num_turns?: number | null;
  /** The token usage of all turns, each counted once. */
  usage?: Tokens | null;
  /** The cost of all turns, as far as the agent reports it. */
  total_cost_usd?: number | null;
  /** The duration of the last turn. */
  last_duration_ms?: number | null;
  /** The current plan. */
  plan?: PlanEntry[] | null;
  /** The team of agents, if there is one. */
  team?: Team | null;
  /** The open requests of the agent, oldest first. */
  pending_permissions?: Permission[] | null;
}
/** A complete message, reasoning text or tool call of the agent. */
export interface AssistantMessage {
  type: "assistant";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  message: AssistantBody;
  parent_tool_use_id: string | null;
}
/** A complete message, reasoning text or tool call of the agent. */
export interface AssistantBody {
  /** The ID. */
  id: string;
  /** Always `message`. */
  type: "message";
  /** Always `assistant`. */
  role: "assistant";
  /** The model; empty if unknown. */
  model: string;
  /** The content. */
  content: Block[];
  /** Why the model stopped, if the agent reports it with a message. */
  stop_reason: string | null;
  /** The usage, if the agent reports it with a message; otherwise zeros, and `result` has the usage of the turn. */
  usage: Tokens;
  /** The item whose text was in `stream_event`s. */
  item_id?: string;
  /** The outcome: `completed`, `failed`, `declined` or `interrupted`; absent for a tool call that is in progress. */
  status?: string;
  /** Whether it is a comment on the way or the answer. */
  phase?: string;
  /** The summary of reasoning whose text is included. */
  summary?: string;
  /** Whether the provider hides the reasoning text. */
  redacted?: boolean;
  /** Whether the text is truncated; the stream events had all of it. */
  truncated?: boolean;
  /** The effect of the tool call in a team. */
  team_type?: string;
  /** Types of content that the protocol lacks, replaced by empty texts. */
  dropped_content_block_types?: string[];
  /** The replaced content. */
  dropped_content_blocks?: unknown[];
}
/** Text. */
export interface TextBlock {
  type: "text";
  text: string;
}
/** A tool call. */
export interface ToolUseBlock {
  type: "tool_use";
  id: string;
  name: string;
  input: Record<string, unknown>;
}
/** The result of a tool. */
export interface ToolResultBlock {
  type: "tool_result";
  tool_use_id: string;
  content: string | Block[];
  is_error?: boolean;
}
/** Reasoning. */
export interface ThinkingBlock {
  type: "thinking";
  thinking: string;
  budget_tokens?: number;
}
/** Code. */
export interface CodeBlock {
  type: "code";
  language: string;
  code: string;
}
/** The bytes of an image, as base64. */
export interface ImageBlock {
  type: "image";
  media_type: string;
  data: string;
}
/** A refusal of the model. */
export interface RefusalBlock {
  type: "refusal";
  refusal: string;
}
/** New text of a message or of reasoning. */
export interface StreamEventMessage {
  type: "stream_event";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** An event of the protocol, or the agent's own event. */
  event: StreamPiece;
  parent_tool_use_id: string | null;
  /** The item that the text belongs to. */
  item_id?: string;
}
/** New text of a message or of reasoning. */
export interface StreamPiece {
  /** Always `content_block_delta`. */
  type: "content_block_delta";
  /** Always 0: items are streamed separately, see `item_id`. */
  index: number;
  /** The new text. */
  delta: Delta;
}
/** New text of a message. */
export interface TextDelta {
  type: "text_delta";
  text: string;
}
/** New reasoning text. */
export interface ThinkingDelta {
  type: "thinking_delta";
  thinking: string;
}
/** A turn has ended. */
export interface ResultMessage {
  type: "result";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  data: ResultData;
}
/** How a turn ended. */
export interface ResultData {
  /** The outcome, in terms of the protocol. */
  subtype: ResultSubtype;
  /** Whether it failed. */
  is_error: boolean;
  /** The agent's answer, if it is reported separately from messages. */
  result?: string;
  /** The errors of the turn; the last one is the reason why it failed. */
  errors?: string[];
  /** The duration. */
  duration_ms: number;
  /** The time of the model; 0 if the agent does not report it. */
  duration_api_ms: number;
  /** The number of model calls; 0 if the agent does not report it. */
  num_turns: number;
  /** The cost of the session up to this turn. */
  total_cost_usd: number;
  /** The cost of this turn. */
  cost_usd?: number;
  /** Why the model stopped. */
  stop_reason: string | null;
  /** The token usage of this turn. */
  usage: Tokens;
  /** The error code. */
  error_code?: string;
  /** The error message. */
  error_message?: string;
  /** `completed`, `failed` or `interrupted`. */
  status?: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The model. */
  model?: string;
  /** The tool calls that were denied. */
  permission_denials?: unknown[];
}
/** The agent requests permission to run a tool. */
export interface PermissionRequestMessage {
  type: "permission_request";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  request: Permission;
}
/** The agent sends a request that is not about a tool. It is answered like a permission request. */
export interface AgentRequestMessage {
  type: "agent_request";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  request: Permission;
}
/** A request was resolved. */
export interface PermissionCancelledMessage {
  type: "permission_cancelled";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** The request. */
  request_id: string;
  /** The outcome: `allowed`, `declined`, `cancelled`, `answered`, `withdrawn` or `expired`. */
  outcome?: string;
  /** Who decided: `client`, `policy`, `timeout`, `agent` or `switchboard`. */
  by?: string;
  /** `allow` or `deny`. */
  behavior?: string;
  /** The message for the agent. */
  message?: string;
}
/** The progress of a tool. */
export interface ToolProgressMessage {
  type: "tool_progress";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** The tool call. */
  tool_use_id: string;
  /** The tool. */
  tool_name: string;
  /** The time since the start; 0 if the agent does not report it. */
  elapsed_time_seconds: number;
  /** `pending` while it waits for an answer, otherwise `running`. */
  status?: string;
  /** A one-line title. */
  title?: string;
  /** The kind of tool. */
  kind?: string;
  /** The input, at the start and when it changes. */
  input?: unknown;
  /** The progress, from 0 to 1. */
  progress?: number;
  /** The current activity. */
  text?: string;
  /** The output since the last message. */
  output_delta?: string;
  /** The effect in a team. */
  team_type?: string;
  /** The tool call of the subagent that runs it. */
  parent_tool_use_id?: string;
}
/** A tool has ended. */
export interface ToolUseSummaryMessage {
  type: "tool_use_summary";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** A one-line title. */
  summary: string;
  /** The tool calls. */
  tool_use_ids: string[];
  /** The tool call, if there is only one. */
  tool_use_id?: string;
  /** The tool, if there is only one. */
  tool_name?: string;
  /** `completed`, `failed`, `declined` or `interrupted`. */
  status?: string;
  /** Whether it failed. */
  is_error?: boolean;
  /** The input. */
  input?: unknown;
  /** The output: text or any other JSON. */
  output?: unknown;
  /** Additional output, for example images. */
  content?: Block[];
  /** The reason for a failure. */
  error?: string;
  /** The error code. */
  error_code?: string;
  /** A one-line title of the tool call. */
  title?: string;
  /** The kind of tool. */
  kind?: string;
  /** The exit code of a command. */
  exit_code?: number;
  /** The duration. */
  duration_ms?: number;
  /** The changed files. */
  changes?: unknown[];
  /** Whether the output is truncated. */
  truncated?: boolean;
  /** The effect in a team. */
  team_type?: string;
  /** The tool call of the subagent that ran it. */
  parent_tool_use_id?: string;
  /** Types of content that the protocol lacks. */
  dropped_content_block_types?: string[];
}
/** The activity of the session. */
export interface StatusChangeMessage {
  type: "status_change";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** `idle`, `running`, `requires_action`, `compacting` or `retrying`. */
  status: string | null;
  metadata: Record<string, unknown>;
}
/** The progress of a login. */
export interface AuthStatusMessage {
  type: "auth_status";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** Whether the login is in progress. */
  isAuthenticating: boolean;
  /** The output, one line per element. */
  output: string[];
  /** The reason for a failure. */
  error?: string;
  /** The URL to log in at. */
  validationLink?: string;
  /** All available information. */
  metadata: Record<string, unknown>;
}
/** The configuration of the session has changed. */
export interface ConfigurationChangeMessage {
  type: "configuration_change";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  subtype: string;
  metadata: Record<string, unknown>;
}
/** A change of the session or its history. */
export interface SessionLifecycleMessage {
  type: "session_lifecycle";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  subtype: string;
  metadata: Record<string, unknown>;
}
/** A message of the user. */
export interface UserMessage {
  type: "user_message";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** The text. */
  content: string;
  /** The full content, if it is more than text. */
  blocks?: Block[];
  /** The item. */
  item_id?: string;
  /** Whether it was generated rather than typed. */
  is_synthetic?: boolean;
  /** Whether it was sent during a turn. */
  queued?: boolean;
  /** The tool call of the subagent that got the message. */
  parent_tool_use_id?: string;
}
/** The agent's process has started. */
export interface CliConnectedMessage {
  type: "cli_connected";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** The number of the run, from 1. */
  run: number;
}
/** The agent's process has ended. A prompt resumes the session. */
export interface CliDisconnectedMessage {
  type: "cli_disconnected";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** The reason: `completed`, `failed`, `cancelled` or `timeout`. */
  reason?: string;
  error?: string;
}
/** The title of the session has changed. */
export interface SessionNameUpdateMessage {
  type: "session_name_update";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  name: string;
}
/** The agent has reported its commands and models. */
export interface CapabilitiesReadyMessage {
  type: "capabilities_ready";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** The slash commands. */
  commands: CommandOffer[];
  /** The models. */
  models: ModelOffer[];
  /** The account; never reported by agents. */
  account: string | null;
  /** The skills, if the agent distinguishes them from commands. */
  skills: string[];
}
/** A slash command. */
export interface CommandOffer {
  name: string;
  description: string;
}
/** A model. */
export interface ModelOffer {
  value: string;
  displayName: string;
  description?: string;
}
/** A line of the agent's process that is not part of its protocol. */
export interface ProcessOutputMessage {
  type: "process_output";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  stream: Stream;
  data: string;
}
/** The identity of this consumer. */
export interface IdentityMessage {
  type: "identity";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  /** The ID; sent back as `consumer`, it identifies the same consumer again. */
  userId: string;
  /** The display name. */
  displayName: string;
  /** The permitted actions. */
  role: Role;
  /** The same as `userId`. */
  consumer_id: string;
  /** The same as `displayName`. */
  name: string;
}
/** The connected consumers. */
export interface PresenceUpdateMessage {
  type: "presence_update";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  consumers: Consumer[];
}
/** A consumer that is connected to the session. */
export interface Consumer {
  /** The ID; sent back as `consumer`, it identifies the same consumer again. */
  userId: string;
  /** The display name. */
  displayName: string;
  /** The permitted actions. */
  role: Role;
  /** The same as `userId`. */
  consumer_id: string;
  /** The same as `displayName`. */
  name: string;
}
/** A part of the history. */
export interface MessageHistoryMessage {
  type: "message_history";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  messages: ConsumerMessage[];
  /** Whether more history follows. */
  more?: boolean;
}
/** A prompt was queued until the turn ends. */
export interface MessageQueuedMessage {
  type: "message_queued";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  consumer_id: string;
  display_name: string;
  content: string;
  images?: ImageData[];
  /** Milliseconds since 1970. */
  queued_at: number;
}
/** An image. */
export interface ImageData {
  /** The media type, such as `image/png`. */
  media_type: string;
  /** The data, base64-encoded. */
  data: string;
}
/** The queued prompt was changed. */
export interface QueuedMessageUpdatedMessage {
  type: "queued_message_updated";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  content: string;
  images?: ImageData[];
}
/** The queued prompt was cancelled, or could not be sent. */
export interface QueuedMessageCancelledMessage {
  type: "queued_message_cancelled";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  reason?: string;
}
/** The queued prompt was sent. */
export interface QueuedMessageSentMessage {
  type: "queued_message_sent";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
}
/** A slash command was accepted. */
export interface SlashCommandResultMessage {
  type: "slash_command_result";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  command: string;
  request_id?: string;
  content: string;
  source: SlashSource;
}
/** A slash command was refused. */
export interface SlashCommandErrorMessage {
  type: "slash_command_error";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  command: string;
  request_id?: string;
  error: string;
}
/** The connection cannot continue after the last message seen. */
export interface ResumeFailedMessage {
  type: "resume_failed";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  sessionId: string;
  error?: string;
}
/** A message of this consumer was refused. */
export interface ErrorMessage {
  type: "error";
  /**
   * The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
   * message once. Messages about consumers have none.
   */
  seq?: number;
  /** The time of the event, in milliseconds since 1970. */
  timestamp?: number;
  message: string;
  /** Identifies the error for programs. Codes are stable. */
  code: string;
  hint?: string;
  /** The type of the refused message. */
  to?: string;
  /** The `request_id` of the refused message. */
  request_id?: string;
}
/** A prompt. It waits for the end of the current turn. */
export interface UserMessageCommand {
  type: "user_message";
  /** The prompt: 1 to 100,000 characters. */
  content?: string;
  /** Images to attach, at most 20 MB in total. */
  images?: ImageData[];
}
/** The answer to a request of the agent. */
export interface PermissionResponseCommand {
  type: "permission_response";
  /** The request to answer. */
  request_id: string;
  /** The decision. */
  behavior: Behavior;
  /** A changed input to allow instead of the requested one. */
  updated_input?: {
    [k: string]: unknown;
  } | null;
  /** A message for the agent. */
  message?: string | null;
  /** The answers, by question. */
  answers?: {
    [k: string]: string[];
  };
  /** One of the options that the agent offered. */
  option?: string | null;
}
/** Stop the turn. */
export interface InterruptCommand {
  type: "interrupt";
}
/** Change the model. */
export interface SetModelCommand {
  type: "set_model";
  /** The ID of the model, one of `session.models`. */
  model: string;
}
/** Change the agent's mode. */
export interface SetPermissionModeCommand {
  type: "set_permission_mode";
  /** The ID of the mode, one of `session.modes`. */
  mode: string;
}
/** List the connected consumers. Observers may send it, too. */
export interface PresenceQueryCommand {
  type: "presence_query";
}
/** Run one of the agent's slash commands. */
export interface SlashCommand {
  type: "slash_command";
  /** The command, with or without `/`, and its arguments. */
  command?: string;
  /** The arguments, if they are not in `command`. */
  args?: string | null;
  /** Repeated in the response. */
  request_id?: string | null;
}
/** Change the agent. Always refused. */
export interface SetAdapterCommand {
  type: "set_adapter";
  /** Which. */
  adapter: string;
}
/** Queue a prompt until the turn ends. One prompt can be queued. */
export interface QueueMessageCommand {
  type: "queue_message";
  /** The prompt: 1 to 100,000 characters. */
  content?: string;
  /** Images to attach, at most 20 MB in total. */
  images?: ImageData[];
}
/** Change the queued prompt. */
export interface UpdateQueuedMessageCommand {
  type: "update_queued_message";
  /** The prompt: 1 to 100,000 characters. */
  content?: string;
  /** Images to attach, at most 20 MB in total. */
  images?: ImageData[];
}
/** Cancel the queued prompt. */
export interface CancelQueuedMessageCommand {
  type: "cancel_queued_message";
}
