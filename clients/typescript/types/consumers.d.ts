// Made from `switchboard schema consumer` and `switchboard schema consumer:client` by `cargo xtask types`: not to be changed by hand.

/** A message with its place in the session. */
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
/** What the session is doing. */
export type SessionStatus = "idle" | "running" | "requires_action" | "compacting" | "retrying";
/** How far a step of a plan got. */
export type PlanStatus = "pending" | "in_progress" | "completed" | "failed";
/** What an agent is in a team. */
export type TeamRole = "lead" | "teammate";
/** What a member is doing. */
export type MemberStatus = "active" | "idle" | "shutdown";
/** How far a task got. */
export type TaskStatus = "pending" | "in_progress" | "completed" | "deleted";
/** What choosing an option means. */
export type OptionKind = "allow_once" | "allow_session" | "allow_always" | "reject" | "cancel";
/** A piece of a message. */
export type Block = TextBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock | CodeBlock | ImageBlock | RefusalBlock;
/** What is new. */
export type Delta = TextDelta | ThinkingDelta;
/** How a turn ended. */
export type ResultSubtype =
  | "success"
  | "error_during_execution"
  | "error_max_turns"
  | "error_max_budget_usd"
  | "error_max_structured_output_retries";
/** Where a process prints. */
export type Stream = "stdout" | "stderr";
/** What a consumer may do. */
export type Role = "participant" | "observer";
/** Who answered a slash command. */
export type SlashSource = "emulated" | "cli";
/** What consumers say. Each type is read by itself, so this enumeration is only the list of them. */
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
/** Yes or no. */
export type Behavior = "allow" | "deny";

/** The messages of the protocol. */
export interface Protocol {
  /** What Switchboard tells a client. */
  told: ConsumerMessage;
  /** What a client says. */
  said: ConsumerCommand;
}
/** What the session is like: to a newcomer at once, to all when a run begins. */
export interface SessionInitMessage {
  type: "session_init";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  session: State;
  /** The version of the protocol. */
  protocol_version: number;
  /** What the numbers of messages are good for; given back as `numbering`, it tells whether `after` still counts. */
  numbering?: string;
}
/** What a session is like now. It grows with what is open and what the agent offers, never with what has passed. */
export interface State {
  /** The session. */
  session_id: string;
  /** The agent. */
  agent: string;
  /** The agent's own id of the session. */
  agent_session?: string;
  /** The agent's version. */
  version?: string;
  /** Which run of the session this is, from 1. */
  run: number;
  /** The agent's process runs. A prompt takes up a session whose agent does not. */
  connected: boolean;
  /** The current model; empty while it is not known. */
  model: string;
  /** Who serves the model. */
  provider?: string;
  /** The folder that it works in. */
  cwd: string;
  /** A title for people. */
  title?: string;
  /** What it is doing; nothing before the agent said something. */
  status?: SessionStatus;
  /** It is making its context smaller. */
  is_compacting: boolean;
  /** The current mode, in the agent's words; empty while it is not known. */
  permissionMode: string;
  /** The modes that can be set. */
  modes: Mode[];
  /** The models that can be set. */
  models: Model[];
  /** The agent's own selectors. */
  options: Selector[];
  /** The tools that the agent has. */
  tools: string[];
  /** The slash commands that the agent knows. */
  commands: Named[];
  /** Their names. */
  slash_commands: string[];
  /** The agent's MCP servers. */
  mcp_servers: McpServer[];
  /** The subagents that it knows. */
  agents: string[];
  /** How full the context is. */
  context?: Context;
  /** The same in percent; 0 while it is not known. */
  context_used_percent: number;
  /** How many turns have ended. */
  num_turns: number;
  /** What all turns used, each counted once. */
  usage: Tokens;
  /** What all turns cost, as far as the agent says. */
  total_cost_usd: number;
  /** How long the last turn took. */
  last_duration_ms?: number;
  /** The plan as it was last told. */
  plan?: PlanEntry[];
  /** The team of agents, if there is one. */
  team?: Team;
  /** What the agent asks and nobody has answered, oldest first. */
  pending_permissions: Permission[];
}
/** A mode that can be set. */
export interface Mode {
  /** What to set. */
  id: string;
  /** What to show. */
  name: string;
  /** What it does. */
  description?: string;
}
/** A model that can be set. */
export interface Model {
  /** What to set. */
  id: string;
  /** What to show. */
  name: string;
  /** What it is good for. */
  description?: string;
  /** It is used when none is named. */
  default?: boolean;
}
/** A setting with a fixed list of values. */
export interface Selector {
  /** What to set. */
  id: string;
  /** What to show. */
  name: string;
  /** What it does. */
  description?: string;
  /** Where it belongs in a list of settings. */
  group?: string;
  /** The current value. */
  value: string;
  /** The values it can have. */
  values: SelectorValue[];
}
/** One value of a `Selector`. */
export interface SelectorValue {
  /** What to set. */
  id: string;
  /** What to show. */
  name: string;
  /** What it does. */
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
/** How full the context is. */
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
  /** What is to be done. */
  step: string;
  /** How far it got. */
  status: PlanStatus;
}
/** A team. */
export interface Team {
  /** What it is called. */
  name: string;
  /** What the session's agent is in it. */
  role: TeamRole;
  /** Who works in it, the oldest first. */
  members: TeamMember[];
  /** What there is to do, the oldest first. */
  tasks: TeamTask[];
  /** The latest of what they wrote to each other, the oldest first. */
  messages: TeamMessage[];
}
/** A member of a team. */
export interface TeamMember {
  /** What it is called. */
  name: string;
  /** The call that it works under. */
  agentId: string;
  /** What kind of agent it is. */
  agentType: string;
  /** What it is doing. */
  status: MemberStatus;
  /** Its model. */
  model?: string;
}
/** Something to do. */
export interface TeamTask {
  /** Its id. */
  id: string;
  /** What is to be done, in a few words. */
  subject: string;
  /** What is to be done. */
  description?: string;
  /** How far it got. */
  status: TaskStatus;
  /** Who does it. */
  owner?: string;
  /** What to show while it is done. */
  activeForm?: string;
  /** The tasks that must be done before. */
  blockedBy: string[];
  /** The tasks that wait for it. */
  blocks: string[];
}
/** What one wrote to another. */
export interface TeamMessage {
  /** The call that sent it. */
  id: string;
  /** For whom it is. */
  to: string;
  /** The message, the first thousand characters of it. */
  text: string;
  /** It in a few words. */
  summary?: string;
  /** When it was sent: milliseconds since 1970. */
  timestamp: number;
}
/** Something that the agent asks. */
export interface Permission {
  /** The id to answer to. */
  request_id: string;
  /** What sort of request: `can_use_tool`, or one that is about no tool. */
  subtype: string;
  /** The tool that would run. */
  tool_name: string;
  /** What it would be given. */
  input: Record<string, unknown>;
  /** Why the agent asks. */
  description?: string;
  /** The tool call that it is about; empty where the agent does not say. */
  tool_use_id: string;
  /** The subagent that asks. */
  agent_id?: string;
  /** When it was asked: milliseconds since 1970. */
  timestamp: number;
  /** What it is about: `command`, `file_change`, `tool`, `question`, `plan`, `auth`, … */
  about?: string;
  /** One line for people. */
  title?: string;
  /** The command that would run. */
  command?: string;
  /** Where it would run. */
  cwd?: string;
  /** The files that would change. */
  changes?: unknown[];
  /** The questions to answer. */
  questions?: Question[];
  /** The answers that the agent offers. */
  options?: RequestOption[];
  /** When it is declined by itself: milliseconds since 1970. */
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
/** What of the session is different now; `null` is gone. */
export interface SessionUpdateMessage {
  type: "session_update";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  session: StateUpdate;
}
/** What is different now. */
export interface StateUpdate {
  /** The session. */
  session_id?: string | null;
  /** The agent. */
  agent?: string | null;
  /** The agent's own id of the session. */
  agent_session?: string | null;
  /** The agent's version. */
  version?: string | null;
  /** Which run of the session this is, from 1. */
  run?: number | null;
  /** The agent's process runs. A prompt takes up a session whose agent does not. */
  connected?: boolean | null;
  /** The current model; empty while it is not known. */
  model?: string | null;
  /** Who serves the model. */
  provider?: string | null;
  /** The folder that it works in. */
  cwd?: string | null;
  /** A title for people. */
  title?: string | null;
  /** What it is doing; nothing before the agent said something. */
  status?: SessionStatus | null;
  /** It is making its context smaller. */
  is_compacting?: boolean | null;
  /** The current mode, in the agent's words; empty while it is not known. */
  permissionMode?: string | null;
  /** The modes that can be set. */
  modes?: Mode[] | null;
  /** The models that can be set. */
  models?: Model[] | null;
  /** The agent's own selectors. */
  options?: Selector[] | null;
  /** The tools that the agent has. */
  tools?: string[] | null;
  /** The slash commands that the agent knows. */
  commands?: Named[] | null;
  /** Their names. */
  slash_commands?: string[] | null;
  /** The agent's MCP servers. */
  mcp_servers?: McpServer[] | null;
  /** The subagents that it knows. */
  agents?: string[] | null;
  /** How full the context is. */
  context?: Context | null;
  /** The same in percent; 0 while it is not known. */
  context_used_percent?: number | null;
  /** How many turns have ended. */
  num_turns?: number | null;
  /** What all turns used, each counted once. */
  usage?: Tokens | null;
  /** What all turns cost, as far as the agent says. */
  total_cost_usd?: number | null;
  /** How long the last turn took. */
  last_duration_ms?: number | null;
  /** The plan as it was last told. */
  plan?: PlanEntry[] | null;
  /** The team of agents, if there is one. */
  team?: Team | null;
  /** What the agent asks and nobody has answered, oldest first. */
  pending_permissions?: Permission[] | null;
}
/** What the agent said, thought or called: whole. */
export interface AssistantMessage {
  type: "assistant";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  message: AssistantBody;
  parent_tool_use_id: string | null;
}
/** What the agent said, thought or called: whole. */
export interface AssistantBody {
  /** Its id. */
  id: string;
  /** Always `message`. */
  type: "message";
  /** Always `assistant`. */
  role: "assistant";
  /** The model; empty while it is not known. */
  model: string;
  /** What it says. */
  content: Block[];
  /** Why the model stopped, where that is told with a message. */
  stop_reason: string | null;
  /** What it used, where that is told with a message; else zeros, and `result` has the figures of the turn. */
  usage: Tokens;
  /** The item that `stream_event`s had the pieces of. */
  item_id?: string;
  /** How it ended: `completed`, `failed`, `declined` or `interrupted`; a tool call has not ended. */
  status?: string;
  /** Whether it is a comment on the way or the answer. */
  phase?: string;
  /** The summary of thoughts that are there themselves. */
  summary?: string;
  /** The provider keeps the thoughts secret. */
  redacted?: boolean;
  /** The text is longer; the stream events had all of it. */
  truncated?: boolean;
  /** What the tool call does in a team. */
  team_type?: string;
  /** Types of content that the protocol does not have: an empty text stands in their place. */
  dropped_content_block_types?: string[];
  /** And the content itself. */
  dropped_content_blocks?: unknown[];
}
/** Text. */
export interface TextBlock {
  type: "text";
  text: string;
}
/** A call of a tool. */
export interface ToolUseBlock {
  type: "tool_use";
  id: string;
  name: string;
  input: Record<string, unknown>;
}
/** What a tool gave back. */
export interface ToolResultBlock {
  type: "tool_result";
  tool_use_id: string;
  content: string | Block[];
  is_error?: boolean;
}
/** Thoughts. */
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
/** The model refused. */
export interface RefusalBlock {
  type: "refusal";
  refusal: string;
}
/** What the agent is saying or thinking: a piece. */
export interface StreamEventMessage {
  type: "stream_event";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** A piece as the protocol has it, or the agent's own event. */
  event: StreamPiece;
  parent_tool_use_id: string | null;
  /** What it is a piece of. */
  item_id?: string;
}
/** A piece of what the agent is saying or thinking. */
export interface StreamPiece {
  /** Always `content_block_delta`. */
  type: "content_block_delta";
  /** Always 0: each item streams apart, see `item_id`. */
  index: number;
  /** What is new. */
  delta: Delta;
}
/** More text. */
export interface TextDelta {
  type: "text_delta";
  text: string;
}
/** More thoughts. */
export interface ThinkingDelta {
  type: "thinking_delta";
  thinking: string;
}
/** A turn ended. */
export interface ResultMessage {
  type: "result";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  data: ResultData;
}
/** How a turn ended. */
export interface ResultData {
  /** How it ended, in the protocol's words. */
  subtype: ResultSubtype;
  /** It failed. */
  is_error: boolean;
  /** The agent's answer, where it gives one beside its messages. */
  result?: string;
  /** What went wrong on the way, the reason why it failed last. */
  errors?: string[];
  /** How long it took. */
  duration_ms: number;
  /** How long the model took; 0 where the agent does not say. */
  duration_api_ms: number;
  /** How often the model was called; 0 where the agent does not say. */
  num_turns: number;
  /** What the session cost so far, this turn included. */
  total_cost_usd: number;
  /** What this turn cost. */
  cost_usd?: number;
  /** Why the model stopped. */
  stop_reason: string | null;
  /** What this turn used. */
  usage: Tokens;
  /** What went wrong, for programs. */
  error_code?: string;
  /** What went wrong, for people. */
  error_message?: string;
  /** `completed`, `failed` or `interrupted`. */
  status?: string;
  /** The number of the turn in the session. */
  turn?: number;
  /** The model. */
  model?: string;
  /** Tools that were not allowed to run. */
  permission_denials?: unknown[];
}
/** The agent asks whether a tool may run. */
export interface PermissionRequestMessage {
  type: "permission_request";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  request: Permission;
}
/** The agent asks something that is about no tool. It is answered like a permission. */
export interface AgentRequestMessage {
  type: "agent_request";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  request: Permission;
}
/** What was asked needs no answer any more. */
export interface PermissionCancelledMessage {
  type: "permission_cancelled";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** The request. */
  request_id: string;
  /** What became of it: `allowed`, `declined`, `cancelled`, `answered`, `withdrawn` or `expired`. */
  outcome?: string;
  /** Who decided: `client`, `policy`, `timeout`, `agent` or `switchboard`. */
  by?: string;
  /** `allow` or `deny`. */
  behavior?: string;
  /** What the agent was told. */
  message?: string;
}
/** A tool is going on. */
export interface ToolProgressMessage {
  type: "tool_progress";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** The call. */
  tool_use_id: string;
  /** The tool. */
  tool_name: string;
  /** How long it has been going on; 0 where the agent does not say. */
  elapsed_time_seconds: number;
  /** `pending` while it waits for an answer, else `running`. */
  status?: string;
  /** One line for people. */
  title?: string;
  /** What sort of tool it is. */
  kind?: string;
  /** What it was given; when it begins, and when that changes. */
  input?: unknown;
  /** How far, from 0 to 1. */
  progress?: number;
  /** What it is doing. */
  text?: string;
  /** What it printed since the last message. */
  output_delta?: string;
  /** What it does in a team. */
  team_type?: string;
  /** The tool call below which it runs: a subagent's. */
  parent_tool_use_id?: string;
}
/** A tool came to its end. */
export interface ToolUseSummaryMessage {
  type: "tool_use_summary";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** One line for people. */
  summary: string;
  /** The calls. */
  tool_use_ids: string[];
  /** The call, if it is one. */
  tool_use_id?: string;
  /** The tool, if it is one. */
  tool_name?: string;
  /** `completed`, `failed`, `declined` or `interrupted`. */
  status?: string;
  /** It failed. */
  is_error?: boolean;
  /** What it was given. */
  input?: unknown;
  /** What it gave back: a text, or whatever it is. */
  output?: unknown;
  /** What it gave back beside that: images, say. */
  content?: Block[];
  /** Why it failed. */
  error?: string;
  /** The same for programs. */
  error_code?: string;
  /** One line for people about the call. */
  title?: string;
  /** What sort of tool it is. */
  kind?: string;
  /** The exit code of a command. */
  exit_code?: number;
  /** How long it took. */
  duration_ms?: number;
  /** The files that it changed. */
  changes?: unknown[];
  /** There was more output. */
  truncated?: boolean;
  /** What it does in a team. */
  team_type?: string;
  /** The tool call below which it ran: a subagent's. */
  parent_tool_use_id?: string;
  /** Types of content that the protocol does not have. */
  dropped_content_block_types?: string[];
}
/** What the session is doing. */
export interface StatusChangeMessage {
  type: "status_change";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** `idle`, `running`, `requires_action`, `compacting` or `retrying`. */
  status: string | null;
  metadata: Record<string, unknown>;
}
/** Logging in. */
export interface AuthStatusMessage {
  type: "auth_status";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** It is going on. */
  isAuthenticating: boolean;
  /** What was said about it, a line each. */
  output: string[];
  /** Why it failed. */
  error?: string;
  /** Where to log in. */
  validationLink?: string;
  /** All that is known. */
  metadata: Record<string, unknown>;
}
/** The session is set up differently. */
export interface ConfigurationChangeMessage {
  type: "configuration_change";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  subtype: string;
  metadata: Record<string, unknown>;
}
/** Something happened to the session or to its history. */
export interface SessionLifecycleMessage {
  type: "session_lifecycle";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  subtype: string;
  metadata: Record<string, unknown>;
}
/** What the user said. */
export interface UserMessage {
  type: "user_message";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** The text of it. */
  content: string;
  /** All of it, where it is more than text. */
  blocks?: Block[];
  /** The item. */
  item_id?: string;
  /** Nobody typed it. */
  is_synthetic?: boolean;
  /** It was said while a turn was running. */
  queued?: boolean;
  /** The tool call below which it was said: to a subagent. */
  parent_tool_use_id?: string;
}
/** The agent's process began to run. */
export interface CliConnectedMessage {
  type: "cli_connected";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** Which run of the session, from 1. */
  run: number;
}
/** The agent's process has ended. A prompt takes the session up again. */
export interface CliDisconnectedMessage {
  type: "cli_disconnected";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** How: `completed`, `failed`, `cancelled` or `timeout`. */
  reason?: string;
  error?: string;
}
/** The session has another title. */
export interface SessionNameUpdateMessage {
  type: "session_name_update";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  name: string;
}
/** The agent said which commands and models it has. */
export interface CapabilitiesReadyMessage {
  type: "capabilities_ready";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** Its slash commands. */
  commands: CommandOffer[];
  /** Its models. */
  models: ModelOffer[];
  /** Whose account is used: agents do not say. */
  account: string | null;
  /** Its skills, where it tells them apart from commands. */
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
/** A line that the agent's process printed beside its protocol. */
export interface ProcessOutputMessage {
  type: "process_output";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  stream: Stream;
  data: string;
}
/** Who you are. */
export interface IdentityMessage {
  type: "identity";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  /** Its id: given back as `consumer`, it is the same one again. */
  userId: string;
  /** What to call it. */
  displayName: string;
  /** What it may do. */
  role: Role;
  /** The same as `userId`. */
  consumer_id: string;
  /** The same as `displayName`. */
  name: string;
}
/** Who is there. */
export interface PresenceUpdateMessage {
  type: "presence_update";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  consumers: Consumer[];
}
/** Somebody who is connected to the session. */
export interface Consumer {
  /** Its id: given back as `consumer`, it is the same one again. */
  userId: string;
  /** What to call it. */
  displayName: string;
  /** What it may do. */
  role: Role;
  /** The same as `userId`. */
  consumer_id: string;
  /** The same as `displayName`. */
  name: string;
}
/** What has happened. */
export interface MessageHistoryMessage {
  type: "message_history";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  messages: ConsumerMessage[];
  /** There is more of it to come. */
  more?: boolean;
}
/** A message waits for the turn to end. */
export interface MessageQueuedMessage {
  type: "message_queued";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
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
  /** What kind, such as `image/png`. */
  media_type: string;
  /** The bytes as base64. */
  data: string;
}
/** The waiting message is another now. */
export interface QueuedMessageUpdatedMessage {
  type: "queued_message_updated";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  content: string;
  images?: ImageData[];
}
/** The waiting message was taken back, or could not be sent. */
export interface QueuedMessageCancelledMessage {
  type: "queued_message_cancelled";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  reason?: string;
}
/** The waiting message was sent. */
export interface QueuedMessageSentMessage {
  type: "queued_message_sent";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
}
/** A slash command was taken. */
export interface SlashCommandResultMessage {
  type: "slash_command_result";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  command: string;
  request_id?: string;
  content: string;
  source: SlashSource;
}
/** A slash command was not taken. */
export interface SlashCommandErrorMessage {
  type: "slash_command_error";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  command: string;
  request_id?: string;
  error: string;
}
/** The session could not be taken up again. */
export interface ResumeFailedMessage {
  type: "resume_failed";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  sessionId: string;
  error?: string;
}
/** What you sent was not done. */
export interface ErrorMessage {
  type: "error";
  /**
   * Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
   * concerns the consumers alone has none.
   */
  seq?: number;
  /** When it happened: milliseconds since 1970. */
  timestamp?: number;
  message: string;
  /** What went wrong, for programs. It stays the same. */
  code: string;
  hint?: string;
  /** The type of what you sent. */
  to?: string;
  /** The `request_id` of what you sent. */
  request_id?: string;
}
/** A prompt. While a turn runs, it waits for the turn to end. */
export interface UserMessageCommand {
  type: "user_message";
  /** What to do: 1 to 100,000 characters. */
  content?: string;
  /** Images to look at, together at most 20 MB. */
  images?: ImageData[];
}
/** The answer to what the agent asks. */
export interface PermissionResponseCommand {
  type: "permission_response";
  /** What is answered. */
  request_id: string;
  /** Yes or no. */
  behavior: Behavior;
  /** The input that is allowed instead of what was asked for. */
  updated_input?: {
    [k: string]: unknown;
  } | null;
  /** What the agent is told. */
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
/** Use another model from now on. */
export interface SetModelCommand {
  type: "set_model";
  /** Its id, one of `session.models`. */
  model: string;
}
/** Use another of the agent's modes from now on. */
export interface SetPermissionModeCommand {
  type: "set_permission_mode";
  /** Its id, one of `session.modes`. */
  mode: string;
}
/** Who is there? Open to observers too. */
export interface PresenceQueryCommand {
  type: "presence_query";
}
/** One of the agent's slash commands. */
export interface SlashCommand {
  type: "slash_command";
  /** The command, with or without `/`, and what follows it. */
  command?: string;
  /** What follows it, if that is not in `command`. */
  args?: string | null;
  /** Comes back with the answer. */
  request_id?: string | null;
}
/** A session keeps its agent: always refused. */
export interface SetAdapterCommand {
  type: "set_adapter";
  /** Which. */
  adapter: string;
}
/** A prompt that waits for the turn to end. One can wait. */
export interface QueueMessageCommand {
  type: "queue_message";
  /** What to do: 1 to 100,000 characters. */
  content?: string;
  /** Images to look at, together at most 20 MB. */
  images?: ImageData[];
}
/** Another text for the prompt that waits. */
export interface UpdateQueuedMessageCommand {
  type: "update_queued_message";
  /** What to do: 1 to 100,000 characters. */
  content?: string;
  /** Images to look at, together at most 20 MB. */
  images?: ImageData[];
}
/** Take the prompt that waits back. */
export interface CancelQueuedMessageCommand {
  type: "cancel_queued_message";
}
