// Made from `switchboard schema harness` and `switchboard schema harness:client` by `cargo xtask types`: not to be changed by hand.

/**
 * One message of the agent's side: a notification, a request with an id, or a response to a request of the client. `x-results` says which result each method has.
 */
export type HarnessMessage = ServerRequest | Notification | Response | ErrorResponse;
/** A message that needs a response with the same `id`. */
export type ServerRequest = CommandApprovalRequest | FileChangeApprovalRequest | SwitchboardRequest;
/** What choosing an option means. */
export type OptionKind = "allow_once" | "allow_session" | "allow_always" | "reject" | "cancel";
/** The kind of file change. A move is a deletion and an addition. */
export type FileChangeKind = "add" | "modify" | "delete";
/** What a request is about. */
export type About =
  "command" | "file_change" | "tool" | "question" | "plan" | "auth" | "permissions" | "elicitation" | "hook" | "other";
/** The kind of tool. */
export type CallKind =
  "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "mode" | "other";
/** What a tool does to a file. */
export type FileOp = "read" | "write" | "modify" | "delete" | "create" | "move";
/** What a piece of a message is. */
export type ContentType = "text" | "image" | "code" | "file" | "other";
/** What a tool does in a team of agents. */
export type Team = "message" | "task" | "state";
/** What happened to a file. */
export type ChangeKind = "add" | "modify" | "delete" | "move";
/** A message that needs no response. */
export type Notification =
  | ThreadStartedNotification
  | ThreadTokenUsageUpdatedNotification
  | TurnStartedNotification
  | TurnCompletedNotification
  | TurnPlanUpdatedNotification
  | ItemStartedNotification
  | ItemCompletedNotification
  | ItemAgentMessageDeltaNotification
  | ItemReasoningTextDeltaNotification
  | ItemReasoningSummaryTextDeltaNotification
  | ItemCommandExecutionOutputDeltaNotification
  | ItemFileChangeOutputDeltaNotification
  | ItemPlanDeltaNotification
  | SwitchboardItemDeltaNotification
  | SwitchboardItemProgressNotification
  | SwitchboardNoticeNotification
  | SwitchboardThreadUpdatedNotification
  | SwitchboardThreadEndedNotification
  | SwitchboardRequestResolvedNotification
  | SwitchboardReplayCompletedNotification;
/** The activity of the session. */
export type SessionStatus = "idle" | "running" | "requires_action" | "compacting" | "retrying";
/** The kind of setting. */
export type ConfigKind = "select";
/** The status of a turn. */
export type TurnStatus = "inProgress" | "completed" | "interrupted" | "failed";
/** One item. */
export type ThreadItem =
  | UserMessageItem
  | AgentMessageItem
  | ReasoningItem
  | SubagentMessageItem
  | CommandExecutionItem
  | FileChangeItem
  | McpToolCallItem
  | WebSearchItem
  | PlanItem
  | ToolCallItem
  | SubagentItem;
/** How far an item got. */
export type Status = "running" | "completed" | "failed" | "declined" | "interrupted" | "superseded";
/** A part of a user message. */
export type UserInput = TextInput | ImageInput | LocalImageInput;
/** The author of the text. */
export type SubagentRole = "user" | "agent" | "reasoning";
/** The status of a command, file change, tool call or subagent. */
export type ItemStatus = "inProgress" | "completed" | "failed" | "declined";
/** The status of an MCP tool call. */
export type McpStatus = "inProgress" | "completed" | "failed";
/** The status of a step. */
export type StepStatus = "pending" | "inProgress" | "completed" | "failed";
/** What went wrong, as fine as any protocol needs it. */
export type ErrorCode =
  | "provider_auth"
  | "api_error"
  | "rate_limit"
  | "quota"
  | "model_not_found"
  | "context_overflow"
  | "output_length"
  | "refused"
  | "max_turns"
  | "max_budget"
  | "aborted"
  | "connection_failed"
  | "session_not_found"
  | "permission_denied"
  | "tool_failed"
  | "timeout"
  | "protocol_error"
  | "execution_error"
  | "unknown";
/** What began a turn. */
export type Origin = "prompt" | "background" | "command";
/** Why the model stopped. */
export type Stop = "end_turn" | "max_tokens" | "max_turns" | "budget" | "refusal" | "cancelled" | "error";
/** A field of an item that grows. */
export type Field = "text" | "summary" | "output" | "input" | "diff";
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
/** How much a notice matters. */
export type Level = "debug" | "info" | "warning" | "error";
/** How a run ended. */
export type EndReason = "completed" | "failed" | "cancelled" | "timeout";
/** What became of a request. */
export type Outcome = "allowed" | "declined" | "cancelled" | "answered" | "withdrawn" | "expired";
/** Who decided something. */
export type Decider = "client" | "policy" | "timeout" | "agent" | "switchboard";
/** An empty result. */
export type Done = Record<string, unknown>;
/** What the agent may do without asking. */
export type ApprovalPolicy = "never" | "unlessTrusted" | "always";
/** The sandbox of the agent and its processes. */
export type SandboxPolicy = DangerFullAccessPolicy | ReadOnlyPolicy | WorkspaceWritePolicy | ExternalSandboxPolicy;
/** The network access in a client's own sandbox. */
export type NetworkAccess = "restricted" | "enabled";
/** What the agent may do without asking. */
export type ApprovalMode = "ask" | "askDangerous" | "autoEdit" | "autoAll";
/**
 * One message of a client: a request with an id, the notification `initialized`, or a response to a request of the agent.
 */
export type HarnessClientMessage =
  | InitializeRequest
  | ThreadStartRequest
  | ThreadResumeRequest
  | ThreadListRequest
  | ThreadArchiveRequest
  | ThreadUnarchiveRequest
  | TurnStartRequest
  | TurnInterruptRequest
  | ModelListRequest
  | ConfigListRequest
  | ConfigSetRequest
  | ConfigReadRequest
  | InitializedMessage
  | ClientResponse
  | ClientErrorResponse;
/** The client is ready. */
export type InitializedParams = Record<string, unknown>;
/** The decision. */
export type Decision = "accept" | "acceptForSession" | "decline" | "cancel";
/** The outcome of a request. */
export type ResponseOutcome = "allowed" | "answered" | "declined" | "cancelled";

/** The messages of the protocol. */
export interface Protocol {
  /** What Switchboard tells a client. */
  told: HarnessMessage | Extension;
  /** What a client says. */
  said: HarnessClientMessage;
  /** What each method is answered. */
  results: {
    initialize: InitializeResult;
    "thread/start": ThreadStartResult;
    "thread/resume": ThreadResumeResult;
    "thread/list": ThreadListResult;
    "thread/archive": Done;
    "thread/unarchive": Done;
    "turn/start": TurnStartResult;
    "turn/interrupt": Done;
    "model/list": ModelListResult;
    "config/list": ConfigListResult;
    "config/set": ConfigListResult;
    "config/read": ConfigReadResult;
  };
}
/** A request to run a command. */
export interface CommandApprovalRequest {
  method: "item/commandExecution/requestApproval";
  /** The ID of the response. */
  id: string;
  params: CommandApproval;
}
/** A request to run a command. The response is `{decision: "accept" | "decline"}`. */
export interface CommandApproval {
  threadId: string;
  turnId: string;
  /** The item, or the ID of the request if the agent names none. */
  itemId: string;
  command: string;
  cwd: string;
  reason?: string;
  _meta: ApprovalMeta;
}
/** Additional information about the request. */
export interface ApprovalMeta {
  /** A one-line title. */
  title?: string;
  /** The agent's name of the tool. */
  tool?: string;
  /** The input of the tool. */
  input?: unknown;
  /** The options that the agent offers. */
  options?: RequestOption[];
  /** Whether only a person may answer, and only for this request. */
  requiresPerson?: boolean;
  /** When the request is declined automatically. */
  expiresAt?: string;
  /** The subagent's thread. */
  thread?: string;
  /** The item that runs the subagent. */
  parentItemId?: string;
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
/** A request to change files. */
export interface FileChangeApprovalRequest {
  method: "item/fileChange/requestApproval";
  /** The ID of the response. */
  id: string;
  params: FileChangeApproval;
}
/** A request to change files. The response is `{decision: "accept" | "acceptForSession" | "decline"}`. */
export interface FileChangeApproval {
  threadId: string;
  turnId: string;
  /** The item, or the ID of the request if the agent names none. */
  itemId: string;
  changes: FileUpdateChange[];
  reason?: string;
  _meta: ApprovalMeta;
}
/** The change of one file. */
export interface FileUpdateChange {
  path: string;
  kind: FileChangeKind;
  diff: string;
  _meta?: ChangeMeta;
}
/** Additional information about a change. */
export interface ChangeMeta {
  /** The previous path. */
  movedFrom: string;
}
/** Ours: any other request. */
export interface SwitchboardRequest {
  method: "switchboard/request";
  /** The ID of the response. */
  id: string;
  params: OpenRequest;
}
/**
 * A request of the agent that is about neither a command nor file changes. The response is `{outcome, option?,
 * answers?, input?, message?}`.
 */
export interface OpenRequest {
  threadId: string;
  turnId: string;
  itemId?: string;
  request: RequestOpened;
}
/** The agent waits for an answer. */
export interface RequestOpened {
  /** The ID for the answer. */
  request: string;
  /** What it is about. */
  about: About;
  /** A one-line title. */
  title: string;
  /** The reason for the request. */
  reason?: string;
  /** The tool call it is about. */
  call?: Call;
  /** The command to run. */
  command?: string;
  /** The directory of the command. */
  cwd?: string;
  /** The file changes. */
  changes?: Change[];
  /** The questions to answer. */
  questions?: Question[];
  /** The options that the agent offers. */
  options?: RequestOption[];
  /** Only a person may answer: no mode, list or remembered answer decides it, and no is offered first. */
  requires_person?: boolean;
  /** When the request is declined automatically. */
  expires_at?: string;
  /** Whether the settings of the session decide the request, so that no client is asked. */
  decided?: boolean;
}
/** A call of a tool: what every protocol needs to show it without knowing the agent's tools. */
export interface Call {
  /** The agent's name of the tool. */
  name: string;
  /** A one-line title. */
  title?: string;
  /** The kind of tool. */
  kind: CallKind;
  /** The operation on a file. */
  op?: FileOp;
  /** What it was given, verbatim; an object wherever the agent gives one. */
  input?: unknown;
  /** The file locations. */
  locations?: Location[];
  /** Output other than text. */
  content?: Content[];
  /** Why it failed or was not allowed. */
  error?: string;
  /** What the agent shows people of what it gave back, where it says so. */
  display?: string;
  /** What a program that it ran ended with; that of a command is in its details. */
  exit_code?: number;
  /** The effect in a team of agents. */
  team?: Team;
  /** The agent writes the call as a block of the model's message, not as a record of its own. */
  is_block?: boolean;
}
/** A place in a file. */
export interface Location {
  /** The file. */
  path: string;
  /** The line, from 1. */
  line?: number;
}
/** A part of a message. */
export interface Content {
  /** What it is. */
  type: ContentType;
  /** Its text; of code, the code; of a file, its content or its name. */
  text?: string;
  /** The language of code. */
  language?: string;
  /** The media type of an image or a file. */
  media_type?: string;
  /** Its bytes as base64. */
  data?: string;
  /** Where it is. */
  url?: string;
}
/** The change of one file. */
export interface Change {
  /** The file; absolute where the folder is known. */
  path: string;
  /** What happened to it. */
  kind: ChangeKind;
  /** The new path of a moved file. */
  to?: string;
  /** A unified diff; empty where none is known. */
  diff: string;
  /** The file before, where the agent gives it. */
  before?: string;
  /** The file after, where the agent gives it. */
  after?: string;
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
/** A thread was created or resumed. */
export interface ThreadStartedNotification {
  method: "thread/started";
  params: ThreadStarted;
}
/** A thread was created or resumed. */
export interface ThreadStarted {
  thread: Thread;
}
/** A conversation. */
export interface Thread {
  /** The ID. */
  id: string;
  /** A short summary; empty before the first prompt. */
  preview: string;
  /** Empty if unknown. */
  modelProvider: string;
  /** Seconds since 1970. */
  createdAt: number;
  /** Additional information. */
  _meta?: ThreadMeta;
}
/** Additional information about a thread. */
export interface ThreadMeta {
  /** The agent. */
  agent: string;
  /** The number of the agent's process in the thread, from 1. */
  run?: number;
  /** The agent's own session ID. */
  agentSession?: string;
  /** What it resumes. */
  resumed?: Resumed;
  /** The agent's session info. */
  info?: ThreadInfo;
  /** The working directory. */
  cwd?: string;
  /** The state: `running`, `waiting`, `idle`, `done`, `failed` or `cancelled`. */
  state?: string;
  /** The display name. */
  title?: string;
  /** The number of turns. */
  turns?: number;
  /** The time of the last event, in seconds since 1970. */
  updatedAt?: number;
  /** Whether it is archived. */
  archived?: boolean;
}
/** What a run continues. */
export interface Resumed {
  /** The session that it continues. */
  from?: string;
  /** It continues a copy, under a new id. */
  fork: boolean;
}
/** Information that an agent reports about itself. Unknown and unchanged fields are absent. */
export interface ThreadInfo {
  cwd?: string;
  model?: string;
  modelProvider?: string;
  mode?: string;
  title?: string;
  version?: string;
  status?: SessionStatus;
  tools?: string[];
  commands?: Named[];
  modes?: Mode[];
  models?: Model[];
  options?: ConfigOption[];
  mcpServers?: McpServer[];
  agents?: Named[];
  /** The use of the context window. */
  context?: Context;
  /** Its capabilities in its own format. */
  capabilities?: unknown;
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
  displayName: string;
  /** The description. */
  description?: string;
  /** Whether it is the default. */
  isDefault: boolean;
}
/** A setting with a fixed list of values. */
export interface ConfigOption {
  /** The kind of setting. */
  type: ConfigKind;
  /** The ID to set. */
  id: string;
  /** The name to display. */
  name: string;
  /** The description. */
  description?: string;
  /** The group in a list of settings. */
  group?: string;
  /** The available values. */
  options: ConfigSelectOption[];
  /** The current value. */
  value: string;
}
/** One value of a setting. */
export interface ConfigSelectOption {
  id: string;
  name: string;
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
/** Tokens were used. */
export interface ThreadTokenUsageUpdatedNotification {
  method: "thread/tokenUsage/updated";
  params: TokenUsageUpdated;
}
/** The token usage of the turn so far. */
export interface TokenUsageUpdated {
  threadId: string;
  turnId: string;
  usage: TokenUsage;
}
/** Token counts. Input excludes the cache, output includes reasoning. */
export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  thinkingTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  /** Ours: tokens of tool use, if the agent counts them separately. */
  toolTokens?: number;
  _meta?: UsageMeta;
}
/** Additional information about the usage. */
export interface UsageMeta {
  /** The model of the latest usage. */
  model?: string;
  /** The cost reported by the agent. */
  costUsd?: number;
}
/** A turn has started. */
export interface TurnStartedNotification {
  method: "turn/started";
  params: TurnNotification;
}
/** A turn has started or ended. */
export interface TurnNotification {
  threadId: string;
  turn: Turn;
}
/** A prompt and everything that follows from it. */
export interface Turn {
  id: string;
  status: TurnStatus;
  /** When the turn ends: all its items in the order of their start. */
  items: ThreadItem[];
  error?: TurnError;
  _meta: TurnMeta;
}
/** A message of the user. */
export interface UserMessageItem {
  type: "userMessage";
  id: string;
  _meta?: ItemMeta;
  content: UserInput[];
}
/** Additional information about an item. */
export interface ItemMeta {
  /** The subagent's thread: the item is not part of the answer. */
  thread?: string;
  /** The item that runs the subagent. */
  parentItemId?: string;
  /** The outcome, if the item cannot express it. */
  status?: Status;
  /** The agent's name of the tool. */
  tool?: string;
  /** A one-line title. */
  title?: string;
  /** The kind of tool. */
  kind?: CallKind;
  /** The operation on a file. */
  op?: FileOp;
  /** The effect in a team of agents. */
  team?: Team;
  /** The file locations. */
  locations?: Location[];
  /** Content other than text. */
  content?: Content[];
  /** The error, if the item cannot express it. */
  error?: string;
  /** The output of a tool that changed files. */
  output?: string;
  /** The queries, if there are several. */
  queries?: string[];
  /** The results. */
  results?: unknown;
  /** Whether a message is a comment on the way or the answer. */
  phase?: string;
  /** The model reply that it belongs to. */
  reply?: string;
  /** The duration, if the item cannot express it. */
  durationMs?: number;
  /** Whether it is a refusal. */
  refusal?: boolean;
  /** Whether the provider hides the reasoning text. */
  redacted?: boolean;
  /** Whether it was generated rather than typed. */
  synthetic?: boolean;
  /** Whether it was sent during a turn. */
  queued?: boolean;
  /** Whether it continues in the background. */
  background?: boolean;
  /** Whether some of its text was removed. */
  truncated?: boolean;
}
/** Text. */
export interface TextInput {
  type: "text";
  /** The text. */
  text: string;
}
/** An image by URL. */
export interface ImageInput {
  type: "image";
  /** A `data:` URL; images of agents may have other URLs. */
  url: string;
}
/** An image by path. */
export interface LocalImageInput {
  type: "localImage";
  /** The absolute path. */
  path: string;
}
/** A message of the agent. */
export interface AgentMessageItem {
  type: "agentMessage";
  id: string;
  _meta?: ItemMeta;
  text: string;
}
/** Reasoning of the agent. */
export interface ReasoningItem {
  type: "reasoning";
  id: string;
  _meta?: ItemMeta;
  summary?: string;
  content?: string;
}
/** A message, reasoning text or prompt of a subagent; never part of the thread's answer. */
export interface SubagentMessageItem {
  type: "subagentMessage";
  id: string;
  _meta?: ItemMeta;
  role: SubagentRole;
  text: string;
}
/** A shell command. */
export interface CommandExecutionItem {
  type: "commandExecution";
  id: string;
  _meta?: ItemMeta;
  command: string;
  /** Empty if unknown. */
  cwd: string;
  status: ItemStatus;
  exitCode?: number;
  aggregatedOutput?: string;
  durationMs?: number;
}
/** File changes. */
export interface FileChangeItem {
  type: "fileChange";
  id: string;
  _meta?: ItemMeta;
  changes: FileUpdateChange[];
  status: ItemStatus;
}
/** A call of an MCP tool. */
export interface McpToolCallItem {
  type: "mcpToolCall";
  id: string;
  _meta?: ItemMeta;
  server: string;
  tool: string;
  arguments?: Record<string, unknown>;
  status: McpStatus;
  result?: unknown;
  error?: string;
}
export interface WebSearchItem {
  type: "webSearch";
  id: string;
  _meta?: ItemMeta;
  query: string;
}
export interface PlanItem {
  type: "plan";
  id: string;
  _meta?: ItemMeta;
  text: string;
  entries?: PlanEntry[];
}
/** A step of a plan. */
export interface PlanEntry {
  step: string;
  status: StepStatus;
}
/** Ours: any other tool, or an unknown item. */
export interface ToolCallItem {
  type: "toolCall";
  id: string;
  _meta?: ItemMeta;
  name: string;
  title?: string;
  arguments?: Record<string, unknown>;
  status: ItemStatus;
  result?: unknown;
  error?: string;
}
/** Ours: a subagent. Its items have `_meta.thread` and `_meta.parentItemId`. */
export interface SubagentItem {
  type: "subagent";
  id: string;
  _meta?: ItemMeta;
  name: string;
  label: string;
  prompt?: string;
  thread?: string;
  status: ItemStatus;
  result?: string;
  error?: string;
}
/** Why a turn failed. */
export interface TurnError {
  message: string;
  /** The kind of error, such as `ContextWindowExceeded`. */
  errorInfo?: string;
  httpStatusCode?: number;
  _meta?: ErrorMeta;
}
/** Additional information about an error. */
export interface ErrorMeta {
  code: ErrorCode;
  /** The agent's own name of the error. */
  info?: string;
  /** Whether a retry may help. */
  retryable?: boolean;
}
/** Additional information about a turn. */
export interface TurnMeta {
  /** What started the turn. */
  origin?: Origin;
  prompt?: string;
  /** The agent's own turn ID. */
  agentTurn?: string;
  /** Why the model stopped. */
  stop?: Stop;
  durationMs?: number;
  /** The number of model calls. */
  steps?: number;
  costUsd?: number;
  /** The tool calls that were denied. */
  denied?: Denied[];
  /** The agent's answer, if it is reported separately from messages. */
  result?: string;
  /** The number of first items that were dropped, because there were too many. */
  omittedItems?: number;
}
/** A tool call that was not allowed. */
export interface Denied {
  /** The tool. */
  tool: string;
  /** The item of the call. */
  item?: string;
  /** What it would have been given. */
  input?: unknown;
}
/** A turn has ended. */
export interface TurnCompletedNotification {
  method: "turn/completed";
  params: TurnNotification;
}
/** The plan has changed. */
export interface TurnPlanUpdatedNotification {
  method: "turn/plan/updated";
  params: PlanUpdated;
}
/** The plan has changed. */
export interface PlanUpdated {
  threadId: string;
  turnId: string;
  /** The reason for the change; empty if the agent does not report it. */
  explanation: string;
  plan: PlanEntry[];
}
/** An item has started. */
export interface ItemStartedNotification {
  method: "item/started";
  params: ItemNotification;
}
/** An item has started or is complete. */
export interface ItemNotification {
  threadId: string;
  turnId: string;
  item: ThreadItem;
}
/** An item is complete. */
export interface ItemCompletedNotification {
  method: "item/completed";
  params: ItemNotification;
}
/** New text of a message. */
export interface ItemAgentMessageDeltaNotification {
  method: "item/agentMessage/delta";
  params: ItemDelta;
}
/** New text of an item; the method determines the field. */
export interface ItemDelta {
  threadId: string;
  turnId: string;
  itemId: string;
  delta: string;
  _meta?: DeltaMeta;
}
/** The subagent that the text belongs to. */
export interface DeltaMeta {
  /** The subagent's thread. */
  thread?: string;
  /** The item that runs the subagent. */
  parentItemId?: string;
}
/** New reasoning text. */
export interface ItemReasoningTextDeltaNotification {
  method: "item/reasoning/textDelta";
  params: ItemDelta;
}
/** New text of a reasoning summary. */
export interface ItemReasoningSummaryTextDeltaNotification {
  method: "item/reasoning/summaryTextDelta";
  params: ItemDelta;
}
/** New output of a command. */
export interface ItemCommandExecutionOutputDeltaNotification {
  method: "item/commandExecution/outputDelta";
  params: ItemDelta;
}
/** New text of a diff. */
export interface ItemFileChangeOutputDeltaNotification {
  method: "item/fileChange/outputDelta";
  params: ItemDelta;
}
/** New text of a plan. */
export interface ItemPlanDeltaNotification {
  method: "item/plan/delta";
  params: ItemDelta;
}
/** Ours: new text of an item for which the specification has no method. */
export interface SwitchboardItemDeltaNotification {
  method: "switchboard/itemDelta";
  params: Growth;
}
/** New text of an item. */
export interface Growth {
  threadId: string;
  turnId: string;
  itemId: string;
  /** The field of the text. */
  field: Field;
  delta: string;
  _meta?: DeltaMeta;
}
/** Ours: the progress of an item. */
export interface SwitchboardItemProgressNotification {
  method: "switchboard/itemProgress";
  params: Progress;
}
/** The progress of an item. */
export interface Progress {
  threadId: string;
  turnId: string;
  itemId: string;
  /** The time since the start. */
  elapsedMs?: number;
  /** The progress, from 0 to 1. */
  ratio?: number;
  /** The current activity. */
  text?: string;
}
/** Ours: a notice. */
export interface SwitchboardNoticeNotification {
  method: "switchboard/notice";
  params: NoticeParams;
}
/** A notice. */
export interface NoticeParams {
  threadId: string;
  turnId?: string;
  itemId?: string;
  topic: Topic;
  level: Level;
  text?: string;
  /** The agent's own name of the event. */
  name?: string;
  /** The stage, if there are several. */
  status?: string;
  error?: TurnError;
  detail?: unknown;
}
/** Ours: the thread has changed. */
export interface SwitchboardThreadUpdatedNotification {
  method: "switchboard/threadUpdated";
  params: ThreadUpdated;
}
/** Changes of the thread; unchanged fields are absent. */
export interface ThreadUpdated {
  threadId: string;
  info: ThreadInfo;
  _meta?: UpdateMeta;
}
/** Information about the thread from a new process of the agent. */
export interface UpdateMeta {
  /** The agent's own session ID. */
  agentSession?: string;
  /** The number of the agent's process in the thread, from 1. */
  run?: number;
  /** What it resumes. */
  resumed?: Resumed;
  /** Empty if unknown. */
  modelProvider?: string;
}
/** Ours: the agent's process has ended. */
export interface SwitchboardThreadEndedNotification {
  method: "switchboard/threadEnded";
  params: ThreadEnded;
}
/** The agent's process ended. The thread can be resumed. */
export interface ThreadEnded {
  threadId: string;
  reason: EndReason;
  error?: TurnError;
  exitCode?: number;
  signal?: number;
  durationMs: number;
}
/** Ours: a request was resolved. */
export interface SwitchboardRequestResolvedNotification {
  method: "switchboard/requestResolved";
  params: Resolved;
}
/** A request was resolved. */
export interface Resolved {
  threadId: string;
  turnId: string;
  requestId: string;
  outcome: Outcome;
  by: Decider;
  option?: string;
  input?: unknown;
  answers?: {
    [k: string]: string[];
  };
  message?: string;
}
/** Ours: the history of a resumed thread was sent. */
export interface SwitchboardReplayCompletedNotification {
  method: "switchboard/replayCompleted";
  params: ReplayCompleted;
}
/** The history of a thread was sent; new messages follow. */
export interface ReplayCompleted {
  threadId: string;
}
export interface Response {
  id: string | number | null;
  result:
    | InitializeResult
    | ThreadStartResult
    | ThreadResumeResult
    | ThreadListResult
    | Done
    | TurnStartResult
    | ModelListResult
    | ConfigListResult
    | ConfigReadResult;
}
/** The agent and its capabilities. */
export interface InitializeResult {
  /** The agent. */
  agentInfo: AgentInfo;
  /** What it can do. */
  capabilities: Capabilities;
}
/** The agent of the connection; Switchboard itself if there is none. */
export interface AgentInfo {
  /** The name, as in `agent`. */
  name: string;
  /** The version of the program; `unknown` if it does not report one. */
  version: string;
  /** The maker. */
  provider: string;
}
/** The capabilities of the connection's agent. */
export interface Capabilities {
  /** Whether text is streamed. */
  streaming: boolean;
  /** Whether it has selectors: `config/list` and `config/set`. */
  configOptions: boolean;
  /** Whether it reports reasoning. */
  reasoning: boolean;
  /** Whether it reports plans. */
  plans: boolean;
  /** Whether `review/start` is available. */
  review: boolean;
}
/** A thread that was started. */
export interface ThreadStartResult {
  /** The thread. */
  thread: Thread;
  /** The provider of the model; empty if unknown. */
  modelProvider: string;
}
/** A thread that was resumed. */
export interface ThreadResumeResult {
  /** The thread. */
  thread: Thread;
}
/** A page of threads, newest first. */
export interface ThreadListResult {
  /** The threads. */
  data: Thread[];
  /** The cursor of the next page, if there is one. */
  nextCursor?: string;
}
/** A turn that was started. */
export interface TurnStartResult {
  /** The turn. */
  turn: Turn;
}
/** The available models; one of them is the default. */
export interface ModelListResult {
  /** The models. */
  data: Model[];
}
/** All selectors and their values. */
export interface ConfigListResult {
  /** The selectors. */
  options: ConfigOption[];
}
/** The effective settings. */
export interface ConfigReadResult {
  /** The model; empty if the agent does not report it. */
  model: string;
  /** The folder to work in. */
  cwd: string;
  /** What the agent may do without asking. */
  approvalPolicy: ApprovalPolicy;
  /** The sandbox. */
  sandboxPolicy: SandboxPolicy;
  /** The selectors. */
  options: ConfigOption[];
  /** Additional information. */
  _meta: ConfigMeta;
}
/** No sandbox; disables the agent's own, too. */
export interface DangerFullAccessPolicy {
  type: "dangerFullAccess";
}
/** Nothing can be written. */
export interface ReadOnlyPolicy {
  type: "readOnly";
}
/** Only the workspace can be written. */
export interface WorkspaceWritePolicy {
  type: "workspaceWrite";
  /** Additional writable directories. */
  writableRoots?: string[];
  /** Whether the network is accessible. */
  networkAccess?: boolean;
}
/** The client has a sandbox, so Switchboard adds none. */
export interface ExternalSandboxPolicy {
  type: "externalSandbox";
  /** The network access that the client allows. */
  networkAccess?: NetworkAccess;
}
/** Additional information about the settings. */
export interface ConfigMeta {
  /** The agent. */
  agent: string;
  /** The approval mode, which distinguishes more cases than the policy. */
  approvalMode: ApprovalMode;
}
export interface ErrorResponse {
  id: string | number | null;
  error: RpcError;
}
/** The error of a request. */
export interface RpcError {
  /** One of `code`. */
  code: number;
  /** The error message. */
  message: string;
  /** The error code. */
  data?: ErrorData;
}
/** The error code. */
export interface ErrorData {
  /** A stable code. */
  code: string;
  /** A remedy. */
  hint?: string;
}
/** A vendor-specific notification: `PROVIDER/NAME`. */
export interface Extension {
  /** The vendor and its name of the event. */
  method: string;
  /** What happened. */
  params: NoticeParams;
}
/** The first request. */
export interface InitializeRequest {
  method: "initialize";
  id: string | number;
  params: InitializeParams;
}
/** The first request. */
export interface InitializeParams {
  /** The client. */
  clientInfo: ClientInfo;
  /** What it can do. */
  capabilities?: ClientCapabilities;
}
/** The client. */
export interface ClientInfo {
  /** The name for programs. */
  name: string;
  /** The name to display. */
  title?: string;
  /** The version. */
  version: string;
}
/** What a client can do. */
export interface ClientCapabilities {
  /** Whether it uses experimental features. There are none at the moment. */
  experimentalApi?: boolean;
}
/** Start a thread. */
export interface ThreadStartRequest {
  method: "thread/start";
  id: string | number;
  params: ThreadStartParams;
}
/** The parameters of a new thread. */
export interface ThreadStartParams {
  /** A model of `model/list`. */
  model?: string;
  /** The working directory, an absolute path. */
  cwd?: string;
  /** What the agent may do without asking. */
  approvalPolicy?: ApprovalPolicy;
  /** The sandbox. */
  sandbox?: SandboxPolicy;
  /** Ours: the agent, if it is not the connection's. */
  agent?: string;
  /** Ours: values of selectors of `config/list`. */
  config?: {
    [k: string]: string;
  };
  /** Ours: the program and its arguments, for an agent that is given by its command. */
  command?: string[];
}
/** Resume a thread. Its history is sent first. */
export interface ThreadResumeRequest {
  method: "thread/resume";
  id: string | number;
  params: ThreadResumeParams;
}
/** The thread to resume. */
export interface ThreadResumeParams {
  /** Which. */
  threadId: string;
  /** Another model. */
  model?: string;
  /** Another working directory. */
  cwd?: string;
}
/** List threads, newest first. */
export interface ThreadListRequest {
  method: "thread/list";
  id: string | number;
  params: ThreadListParams;
}
/** Which threads to list. */
export interface ThreadListParams {
  /** The `nextCursor` of the previous page. */
  cursor?: string;
  /** The maximum number of threads: 25 by default, at most 200. */
  limit?: number;
  /** List archived threads instead of the others. */
  archived?: boolean;
}
/** Archive a thread. */
export interface ThreadArchiveRequest {
  method: "thread/archive";
  id: string | number;
  params: ThreadArchiveParams;
}
/** The thread to archive or unarchive. */
export interface ThreadArchiveParams {
  /** Which. */
  threadId: string;
}
/** Ours: unarchive a thread. */
export interface ThreadUnarchiveRequest {
  method: "thread/unarchive";
  id: string | number;
  params: ThreadArchiveParams;
}
/** Send a prompt to the agent. */
export interface TurnStartRequest {
  method: "turn/start";
  id: string | number;
  params: TurnStartParams;
}
/** A prompt. Settings in it apply to the thread from now on. */
export interface TurnStartParams {
  /** The thread. */
  threadId: string;
  /** The text and the images. */
  input: UserInput[];
  /** Another model. */
  model?: string;
  /** Another working directory. */
  cwd?: string;
  /** What the agent may do without asking. */
  approvalPolicy?: ApprovalPolicy;
  /** The sandbox. */
  sandboxPolicy?: SandboxPolicy;
  /** Values of selectors of `config/list`. */
  config?: {
    [k: string]: string;
  };
}
/** Stop a turn. */
export interface TurnInterruptRequest {
  method: "turn/interrupt";
  id: string | number;
  params: TurnInterruptParams;
}
/** The turn to stop. */
export interface TurnInterruptParams {
  /** The thread. */
  threadId: string;
  /** The turn. */
  turnId: string;
}
/** List models. */
export interface ModelListRequest {
  method: "model/list";
  id: string | number;
  params: ModelListParams;
}
/** The thread or agent whose models are listed. */
export interface ModelListParams {
  /** The maximum number of results. */
  limit?: number;
  /** Ours: the thread. */
  threadId?: string;
  /** Ours: the agent. */
  agent?: string;
}
/** List selectors. */
export interface ConfigListRequest {
  method: "config/list";
  id: string | number;
  params: ConfigListParams;
}
/** The thread or agent whose settings are meant; otherwise those of new threads on this connection. */
export interface ConfigListParams {
  /** Ours: the thread. */
  threadId?: string;
  /** Ours: the agent. */
  agent?: string;
}
/** Set a selector. */
export interface ConfigSetRequest {
  method: "config/set";
  id: string | number;
  params: ConfigSetParams;
}
/** The selector to set. */
export interface ConfigSetParams {
  /** Which. */
  id: string;
  /** The ID of one of its options. */
  value: string;
  /** Ours: the thread. */
  threadId?: string;
  /** Ours: the agent. */
  agent?: string;
}
/** Read the effective settings. */
export interface ConfigReadRequest {
  method: "config/read";
  id: string | number;
  params: ConfigListParams;
}
export interface InitializedMessage {
  method: "initialized";
  params?: InitializedParams;
}
export interface ClientResponse {
  id: string;
  result: ApprovalResponse | RequestResponse;
}
/** The response to an approval request. */
export interface ApprovalResponse {
  /** The decision. */
  decision: Decision;
}
/** The response to any other request of the agent. */
export interface RequestResponse {
  /** The outcome. */
  outcome: ResponseOutcome;
  /** One of the options that the agent offered. */
  option?: string;
  /** The answers, by the id of the question. */
  answers?: {
    [k: string]: string[];
  };
  /** A changed input to allow instead of the requested one. */
  input?: Record<string, unknown>;
  /** A message for the agent. */
  message?: string;
}
export interface ClientErrorResponse {
  id: string;
  error: {
    message: string;
  };
}
