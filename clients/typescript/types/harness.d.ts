// Made from `switchboard schema harness` and `switchboard schema harness:client` by `cargo xtask types`: not to be changed by hand.

/**
 * One message of the agent's side: a notification, a request with an id, or a response to a request of the client. `x-results` says which result each method has.
 */
export type HarnessMessage = ServerRequest | Notification | Response | ErrorResponse;
/** A message that waits for a response with the same `id`. */
export type ServerRequest = CommandApprovalRequest | FileChangeApprovalRequest | SwitchboardRequest;
/** What choosing an option means. */
export type OptionKind = "allow_once" | "allow_session" | "allow_always" | "reject" | "cancel";
/** What happened to a file. One that was moved is deleted here and added there. */
export type FileChangeKind = "add" | "modify" | "delete";
/** What a request is about. */
export type About =
  "command" | "file_change" | "tool" | "question" | "plan" | "auth" | "permissions" | "elicitation" | "hook" | "other";
/** What sort of tool it is. */
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
/** What the session is doing. */
export type SessionStatus = "idle" | "running" | "requires_action" | "compacting" | "retrying";
/** What sort of setting it is. */
export type ConfigKind = "select";
/** How far a turn got. */
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
/** A piece of what the user said. */
export type UserInput = TextInput | ImageInput | LocalImageInput;
/** Whose words they are. */
export type SubagentRole = "user" | "agent" | "reasoning";
/** How far a command, a change, a tool call or a subagent got. */
export type ItemStatus = "inProgress" | "completed" | "failed" | "declined";
/** How far a call of an MCP tool got. */
export type McpStatus = "inProgress" | "completed" | "failed";
/** How far a step of a plan got. */
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
/** It is done, and there is nothing to say about it. */
export type Done = Record<string, unknown>;
/** What the agent may do without asking. */
export type ApprovalPolicy = "never" | "unlessTrusted" | "always";
/** What the agent and all that it starts can reach. */
export type SandboxPolicy = DangerFullAccessPolicy | ReadOnlyPolicy | WorkspaceWritePolicy | ExternalSandboxPolicy;
/** What a client's own sandbox lets through. */
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
/** Yes or no. */
export type Decision = "accept" | "acceptForSession" | "decline" | "cancel";
/** What becomes of something that the agent asked. */
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
/** May this command run? */
export interface CommandApprovalRequest {
  method: "item/commandExecution/requestApproval";
  /** What the response is to carry. */
  id: string;
  params: CommandApproval;
}
/** May this command run? The response is `{decision: "accept" | "decline"}`. */
export interface CommandApproval {
  threadId: string;
  turnId: string;
  /** The item; where the agent names none, the id of the request. */
  itemId: string;
  command: string;
  cwd: string;
  reason?: string;
  _meta: ApprovalMeta;
}
/** What else is known about what is asked. */
export interface ApprovalMeta {
  /** One line for people. */
  title?: string;
  /** The tool, by the agent's name. */
  tool?: string;
  /** What the tool would be given. */
  input?: unknown;
  /** The answers that the agent offers. */
  options?: RequestOption[];
  /** Only a person may answer, and only for this one time. */
  requiresPerson?: boolean;
  /** When it is declined by itself. */
  expiresAt?: string;
  /** The subagent's thread. */
  thread?: string;
  /** The item under which a subagent works. */
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
/** May these files change? */
export interface FileChangeApprovalRequest {
  method: "item/fileChange/requestApproval";
  /** What the response is to carry. */
  id: string;
  params: FileChangeApproval;
}
/** May these files change? The response is `{decision: "accept" | "acceptForSession" | "decline"}`. */
export interface FileChangeApproval {
  threadId: string;
  turnId: string;
  /** The item; where the agent names none, the id of the request. */
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
/** What else is known about a change. */
export interface ChangeMeta {
  /** Where the file was before. */
  movedFrom: string;
}
/** Ours: anything else. */
export interface SwitchboardRequest {
  method: "switchboard/request";
  /** What the response is to carry. */
  id: string;
  params: OpenRequest;
}
/**
 * The agent waits for an answer to something that is neither a command nor a change of files. The response is
 * `{outcome, option?, answers?, input?, message?}`.
 */
export interface OpenRequest {
  threadId: string;
  turnId: string;
  itemId?: string;
  request: RequestOpened;
}
/** The agent waits for an answer. */
export interface RequestOpened {
  /** The id to answer to. */
  request: string;
  /** What it is about. */
  about: About;
  /** One line for people. */
  title: string;
  /** Why the agent asks. */
  reason?: string;
  /** The tool call it is about. */
  call?: Call;
  /** The command that would run. */
  command?: string;
  /** Where it would run. */
  cwd?: string;
  /** The files that would change. */
  changes?: Change[];
  /** The questions to answer. */
  questions?: Question[];
  /** The answers that the agent offers. */
  options?: RequestOption[];
  /** Only a person may answer: no mode, list or remembered answer decides it, and no is offered first. */
  requires_person?: boolean;
  /** When it is declined by itself. */
  expires_at?: string;
  /** The settings of the session decide it at once: nobody need be asked. */
  decided?: boolean;
}
/** A call of a tool: what every protocol needs to show it without knowing the agent's tools. */
export interface Call {
  /** The tool, by the agent's name. */
  name: string;
  /** One line for people. */
  title?: string;
  /** What sort of tool it is. */
  kind: CallKind;
  /** What it does to a file. */
  op?: FileOp;
  /** What it was given, verbatim; an object wherever the agent gives one. */
  input?: unknown;
  /** The places in files that it is about. */
  locations?: Location[];
  /** What it gave back beside text. */
  content?: Content[];
  /** Why it failed or was not allowed. */
  error?: string;
  /** What the agent shows people of what it gave back, where it says so. */
  display?: string;
  /** What a program that it ran ended with; that of a command is in its details. */
  exit_code?: number;
  /** What it does in a team of agents. */
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
/** A piece of a message. */
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
  /** Where it was moved. */
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
  /** Its id. */
  id: string;
  /** A short summary; empty where nothing was said yet. */
  preview: string;
  /** Empty where it is not known. */
  modelProvider: string;
  /** Seconds since 1970. */
  createdAt: number;
  /** What else is known about it. */
  _meta?: ThreadMeta;
}
/** What else is known about a thread. */
export interface ThreadMeta {
  /** The agent. */
  agent: string;
  /** Which process of the thread, from 1. */
  run?: number;
  /** The agent's own id of the session. */
  agentSession?: string;
  /** What it continues. */
  resumed?: Resumed;
  /** What the agent said about itself. */
  info?: ThreadInfo;
  /** The folder that it works in. */
  cwd?: string;
  /** What it is doing, or what became of it: `running`, `waiting`, `idle`, `done`, `failed`, `cancelled`. */
  state?: string;
  /** What to call it. */
  title?: string;
  /** How many turns it had. */
  turns?: number;
  /** When something happened last, in seconds since 1970. */
  updatedAt?: number;
  /** It was put away. */
  archived?: boolean;
}
/** What a run continues. */
export interface Resumed {
  /** The session that it continues. */
  from?: string;
  /** It continues a copy, under a new id. */
  fork: boolean;
}
/** What an agent says about itself. What is not known, or did not change, is not there. */
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
  /** How full the context is. */
  context?: Context;
  /** What it can do, in its own words. */
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
  displayName: string;
  /** What it is good for. */
  description?: string;
  /** It is used where none is named. */
  isDefault: boolean;
}
/** A setting with a fixed list of values. */
export interface ConfigOption {
  /** What sort it is. */
  type: ConfigKind;
  /** What to set. */
  id: string;
  /** What to show. */
  name: string;
  /** What it does. */
  description?: string;
  /** Where it belongs in a list of settings. */
  group?: string;
  /** The values it can have. */
  options: ConfigSelectOption[];
  /** The value it has. */
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
/** How full the context is. */
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
/** What the turn used so far. */
export interface TokenUsageUpdated {
  threadId: string;
  turnId: string;
  usage: TokenUsage;
}
/** Tokens. Input is without the cache, output includes thinking. */
export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  thinkingTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  /** Ours: tokens of tool use, where the agent counts them apart. */
  toolTokens?: number;
  _meta?: UsageMeta;
}
/** What else is known about what was used. */
export interface UsageMeta {
  /** The model of the latest figures. */
  model?: string;
  /** What the agent says it cost. */
  costUsd?: number;
}
/** A turn began. */
export interface TurnStartedNotification {
  method: "turn/started";
  params: TurnNotification;
}
/** A turn began or ended. */
export interface TurnNotification {
  threadId: string;
  turn: Turn;
}
/** One prompt and all that follows from it. */
export interface Turn {
  id: string;
  status: TurnStatus;
  /** When it ends: all its items in the order in which they began. */
  items: ThreadItem[];
  error?: TurnError;
  _meta: TurnMeta;
}
/** What the user said. */
export interface UserMessageItem {
  type: "userMessage";
  id: string;
  _meta?: ItemMeta;
  content: UserInput[];
}
/** What else is known about an item. */
export interface ItemMeta {
  /** The subagent's thread: the item is not part of the answer. */
  thread?: string;
  /** The item under which a subagent works. */
  parentItemId?: string;
  /** How it ended, where the item has no word for it. */
  status?: Status;
  /** The tool, by the agent's name. */
  tool?: string;
  /** One line for people. */
  title?: string;
  /** What sort of tool it is. */
  kind?: CallKind;
  /** What it does to a file. */
  op?: FileOp;
  /** What it does in a team of agents. */
  team?: Team;
  /** The places in files that it is about. */
  locations?: Location[];
  /** What it has or gave back beside text. */
  content?: Content[];
  /** Why it failed, where the item has no word for it. */
  error?: string;
  /** What a tool said about the files it changed. */
  output?: string;
  /** What was searched for, where it is more than one thing. */
  queries?: string[];
  /** What was found. */
  results?: unknown;
  /** Whether a message is a comment on the way or the answer. */
  phase?: string;
  /** The model reply that it came with. */
  reply?: string;
  /** How long it took, where the item has no word for it. */
  durationMs?: number;
  /** It is a refusal. */
  refusal?: boolean;
  /** The provider keeps the thoughts secret. */
  redacted?: boolean;
  /** Nobody typed it. */
  synthetic?: boolean;
  /** It was said while a turn was running. */
  queued?: boolean;
  /** It goes on in the background. */
  background?: boolean;
  /** Some of its text is not here. */
  truncated?: boolean;
}
/** Words. */
export interface TextInput {
  type: "text";
  /** The words. */
  text: string;
}
/** An image, by its address. */
export interface ImageInput {
  type: "image";
  /** A `data:` address of an agent's or a client's; of an agent's also any other. */
  url: string;
}
/** An image, by its file. */
export interface LocalImageInput {
  type: "localImage";
  /** The file, absolute. */
  path: string;
}
/** What the agent says. */
export interface AgentMessageItem {
  type: "agentMessage";
  id: string;
  _meta?: ItemMeta;
  text: string;
}
/** What the agent thinks. */
export interface ReasoningItem {
  type: "reasoning";
  id: string;
  _meta?: ItemMeta;
  summary?: string;
  content?: string;
}
/** What a subagent says, thinks or is told: no part of the thread's answer, and never taken for it. */
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
  /** Empty where it is not known. */
  cwd: string;
  status: ItemStatus;
  exitCode?: number;
  aggregatedOutput?: string;
  durationMs?: number;
}
/** Changes of files. */
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
/** A search of the web. */
export interface WebSearchItem {
  type: "webSearch";
  id: string;
  _meta?: ItemMeta;
  query: string;
}
/** A plan. */
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
/** Ours: any other tool, and what is not known. */
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
/** Ours: another agent, working for this one. Its items carry `_meta.thread` and `_meta.parentItemId`. */
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
  /** What it is, such as `ContextWindowExceeded`. */
  errorInfo?: string;
  httpStatusCode?: number;
  _meta?: ErrorMeta;
}
/** What else is known about an error. */
export interface ErrorMeta {
  code: ErrorCode;
  /** The agent's own name for it. */
  info?: string;
  /** Trying again may help. */
  retryable?: boolean;
}
/** What else is known about a turn. */
export interface TurnMeta {
  /** What began it. */
  origin?: Origin;
  prompt?: string;
  /** The agent's own id of the turn. */
  agentTurn?: string;
  /** Why the model stopped. */
  stop?: Stop;
  durationMs?: number;
  /** How often the model was called. */
  steps?: number;
  costUsd?: number;
  /** Tools that were not allowed to run. */
  denied?: Denied[];
  /** The agent's answer, where it gives one beside its messages. */
  result?: string;
  /** How many of the first items are not here, because there were too many to keep. */
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
/** A turn ended. */
export interface TurnCompletedNotification {
  method: "turn/completed";
  params: TurnNotification;
}
/** The plan is now this. */
export interface TurnPlanUpdatedNotification {
  method: "turn/plan/updated";
  params: PlanUpdated;
}
/** The plan is now this. */
export interface PlanUpdated {
  threadId: string;
  turnId: string;
  /** Why it changed; empty where the agent does not say. */
  explanation: string;
  plan: PlanEntry[];
}
/** Work on an item began. */
export interface ItemStartedNotification {
  method: "item/started";
  params: ItemNotification;
}
/** An item began or is finished. */
export interface ItemNotification {
  threadId: string;
  turnId: string;
  item: ThreadItem;
}
/** An item is finished; this is all of it. */
export interface ItemCompletedNotification {
  method: "item/completed";
  params: ItemNotification;
}
/** The agent says more. */
export interface ItemAgentMessageDeltaNotification {
  method: "item/agentMessage/delta";
  params: ItemDelta;
}
/** More text of an item; which text it is, the method says. */
export interface ItemDelta {
  threadId: string;
  turnId: string;
  itemId: string;
  delta: string;
  _meta?: DeltaMeta;
}
/** Whose text it is, if it is not the main agent's. */
export interface DeltaMeta {
  /** The subagent's thread. */
  thread?: string;
  /** The item under which the subagent works. */
  parentItemId?: string;
}
/** The agent thinks more. */
export interface ItemReasoningTextDeltaNotification {
  method: "item/reasoning/textDelta";
  params: ItemDelta;
}
/** The summary of what the agent thinks grows. */
export interface ItemReasoningSummaryTextDeltaNotification {
  method: "item/reasoning/summaryTextDelta";
  params: ItemDelta;
}
/** A command prints more. */
export interface ItemCommandExecutionOutputDeltaNotification {
  method: "item/commandExecution/outputDelta";
  params: ItemDelta;
}
/** A diff grows. */
export interface ItemFileChangeOutputDeltaNotification {
  method: "item/fileChange/outputDelta";
  params: ItemDelta;
}
/** The text of a plan grows. */
export interface ItemPlanDeltaNotification {
  method: "item/plan/delta";
  params: ItemDelta;
}
/** Ours: a text of an item grows for which the specification has no method. */
export interface SwitchboardItemDeltaNotification {
  method: "switchboard/itemDelta";
  params: Growth;
}
/** More text of an item. */
export interface Growth {
  threadId: string;
  turnId: string;
  itemId: string;
  /** Which text. */
  field: Field;
  delta: string;
  _meta?: DeltaMeta;
}
/** Ours: an item is still going on. */
export interface SwitchboardItemProgressNotification {
  method: "switchboard/itemProgress";
  params: Progress;
}
/** An item is still going on. */
export interface Progress {
  threadId: string;
  turnId: string;
  itemId: string;
  /** For how long. */
  elapsedMs?: number;
  /** How far, from 0 to 1. */
  ratio?: number;
  /** What it is doing. */
  text?: string;
}
/** Ours: something to know. */
export interface SwitchboardNoticeNotification {
  method: "switchboard/notice";
  params: NoticeParams;
}
/** Something to know. */
export interface NoticeParams {
  threadId: string;
  turnId?: string;
  itemId?: string;
  topic: Topic;
  level: Level;
  text?: string;
  /** The native name of what happened. */
  name?: string;
  /** How far it got, where it has stages. */
  status?: string;
  error?: TurnError;
  detail?: unknown;
}
/** Ours: something about the thread changed. */
export interface SwitchboardThreadUpdatedNotification {
  method: "switchboard/threadUpdated";
  params: ThreadUpdated;
}
/** Something about the thread changed; only what changed is there. */
export interface ThreadUpdated {
  threadId: string;
  info: ThreadInfo;
  _meta?: UpdateMeta;
}
/** What a process of the agent that has begun says about the thread. */
export interface UpdateMeta {
  /** The agent's own id of the session. */
  agentSession?: string;
  /** Which process of the thread, from 1. */
  run?: number;
  /** What it continues. */
  resumed?: Resumed;
  /** Empty where it is not known. */
  modelProvider?: string;
}
/** Ours: the agent's process ended. */
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
/** Ours: a request needs no answer any more. */
export interface SwitchboardRequestResolvedNotification {
  method: "switchboard/requestResolved";
  params: Resolved;
}
/** A request needs no answer any more. */
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
/** Ours: the history of a resumed thread was told. */
export interface SwitchboardReplayCompletedNotification {
  method: "switchboard/replayCompleted";
  params: ReplayCompleted;
}
/** All that has happened in a thread is told; what follows happens now. */
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
/** Who serves, and what it can do. */
export interface InitializeResult {
  /** Who serves. */
  agentInfo: AgentInfo;
  /** What it can do. */
  capabilities: Capabilities;
}
/** The agent of the connection; Switchboard itself where none was named. */
export interface AgentInfo {
  /** Its name, as `agent` takes it. */
  name: string;
  /** The version of its program; `unknown` where it does not say. */
  version: string;
  /** Who makes it. */
  provider: string;
}
/** What the agent of the connection can do. */
export interface Capabilities {
  /** Text comes as it is written. */
  streaming: boolean;
  /** It has selectors: `config/list` and `config/set`. */
  configOptions: boolean;
  /** It shows what it thinks. */
  reasoning: boolean;
  /** It shows plans. */
  plans: boolean;
  /** `review/start` is there. */
  review: boolean;
}
/** A thread that began. */
export interface ThreadStartResult {
  /** The thread. */
  thread: Thread;
  /** Who serves its model; empty where that is not known. */
  modelProvider: string;
}
/** A thread that goes on. */
export interface ThreadResumeResult {
  /** The thread. */
  thread: Thread;
}
/** A page of threads, newest first. */
export interface ThreadListResult {
  /** The threads. */
  data: Thread[];
  /** Where the next page begins, if there is one. */
  nextCursor?: string;
}
/** A turn that began. */
export interface TurnStartResult {
  /** The turn. */
  turn: Turn;
}
/** The models that can be set; one of them is the default. */
export interface ModelListResult {
  /** The models. */
  data: Model[];
}
/** All selectors, and what they are set to. */
export interface ConfigListResult {
  /** The selectors. */
  options: ConfigOption[];
}
/** The settings that hold. */
export interface ConfigReadResult {
  /** The model; empty where the agent does not say which it takes. */
  model: string;
  /** The folder to work in. */
  cwd: string;
  /** What the agent may do without asking. */
  approvalPolicy: ApprovalPolicy;
  /** What it can reach. */
  sandboxPolicy: SandboxPolicy;
  /** The selectors. */
  options: ConfigOption[];
  /** What else is known about them. */
  _meta: ConfigMeta;
}
/** Everything, also where the agent would confine itself. */
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
  /** And these folders. */
  writableRoots?: string[];
  /** The network may be used. */
  networkAccess?: boolean;
}
/** The client confines the agent, so Switchboard does not. */
export interface ExternalSandboxPolicy {
  type: "externalSandbox";
  /** What the client lets through. */
  networkAccess?: NetworkAccess;
}
/** What else is known about the settings. */
export interface ConfigMeta {
  /** The agent. */
  agent: string;
  /** What it may do without asking, in our words, which are more. */
  approvalMode: ApprovalMode;
}
export interface ErrorResponse {
  id: string | number | null;
  error: RpcError;
}
/** What went wrong with a request. */
export interface RpcError {
  /** One of `code`. */
  code: number;
  /** What went wrong, for people. */
  message: string;
  /** What went wrong, for programs. */
  data?: ErrorData;
}
/** What went wrong, for programs. */
export interface ErrorData {
  /** A word that stays the same. */
  code: string;
  /** What can be done about it. */
  hint?: string;
}
/** A notification that only agents of one maker have: `PROVIDER/NAME`. */
export interface Extension {
  /** The maker, and its name for what happened. */
  method: string;
  /** What happened. */
  params: NoticeParams;
}
/** The first of all. */
export interface InitializeRequest {
  method: "initialize";
  id: string | number;
  params: InitializeParams;
}
/** The first request. */
export interface InitializeParams {
  /** Who the client is. */
  clientInfo: ClientInfo;
  /** What it can do. */
  capabilities?: ClientCapabilities;
}
/** Who the client is. */
export interface ClientInfo {
  /** Its name, for programs. */
  name: string;
  /** Its name, for people. */
  title?: string;
  /** Its version. */
  version: string;
}
/** What a client can do. */
export interface ClientCapabilities {
  /** It wants what is not settled yet. Nothing is such at the moment. */
  experimentalApi?: boolean;
}
/** Begin a thread. */
export interface ThreadStartRequest {
  method: "thread/start";
  id: string | number;
  params: ThreadStartParams;
}
/** A thread to begin. */
export interface ThreadStartParams {
  /** A model of `model/list`. */
  model?: string;
  /** The folder to work in, absolute. */
  cwd?: string;
  /** What the agent may do without asking. */
  approvalPolicy?: ApprovalPolicy;
  /** What it can reach. */
  sandbox?: SandboxPolicy;
  /** Ours: the agent, where it is not the connection's. */
  agent?: string;
  /** Ours: values of selectors of `config/list`. */
  config?: {
    [k: string]: string;
  };
  /** Ours: the program and its arguments, for an agent that is named by its command. */
  command?: string[];
}
/** Go on with a thread: its history comes first. */
export interface ThreadResumeRequest {
  method: "thread/resume";
  id: string | number;
  params: ThreadResumeParams;
}
/** A thread to go on with. */
export interface ThreadResumeParams {
  /** Which. */
  threadId: string;
  /** Another model. */
  model?: string;
  /** Another folder. */
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
  /** Where the page before ended. */
  cursor?: string;
  /** So many: 25 if nothing is said, 200 at most. */
  limit?: number;
  /** Those that were archived, in place of the others. */
  archived?: boolean;
}
/** Put a thread away. */
export interface ThreadArchiveRequest {
  method: "thread/archive";
  id: string | number;
  params: ThreadArchiveParams;
}
/** A thread to put away, or to take out again. */
export interface ThreadArchiveParams {
  /** Which. */
  threadId: string;
}
/** Ours: take it out again. */
export interface ThreadUnarchiveRequest {
  method: "thread/unarchive";
  id: string | number;
  params: ThreadArchiveParams;
}
/** Give the agent a prompt. */
export interface TurnStartRequest {
  method: "turn/start";
  id: string | number;
  params: TurnStartParams;
}
/** A prompt. What it sets stays set for the thread. */
export interface TurnStartParams {
  /** The thread. */
  threadId: string;
  /** What to do, and what to look at. */
  input: UserInput[];
  /** Another model. */
  model?: string;
  /** Another folder. */
  cwd?: string;
  /** What the agent may do without asking. */
  approvalPolicy?: ApprovalPolicy;
  /** What it can reach. */
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
/** A turn to stop. */
export interface TurnInterruptParams {
  /** The thread. */
  threadId: string;
  /** Its turn. */
  turnId: string;
}
/** List models. */
export interface ModelListRequest {
  method: "model/list";
  id: string | number;
  params: ModelListParams;
}
/** Whose models to list. */
export interface ModelListParams {
  /** So many at most. */
  limit?: number;
  /** Ours: those of this thread. */
  threadId?: string;
  /** Ours: those of this agent. */
  agent?: string;
}
/** List selectors. */
export interface ConfigListRequest {
  method: "config/list";
  id: string | number;
  params: ConfigListParams;
}
/** Whose settings are meant: the thread's, or those of threads that are started later on this connection. */
export interface ConfigListParams {
  /** Ours: those of this thread. */
  threadId?: string;
  /** Ours: those of this agent. */
  agent?: string;
}
/** Set a selector. */
export interface ConfigSetRequest {
  method: "config/set";
  id: string | number;
  params: ConfigSetParams;
}
/** A selector to set. */
export interface ConfigSetParams {
  /** Which. */
  id: string;
  /** To what: the id of one of its options. */
  value: string;
  /** Ours: of this thread. */
  threadId?: string;
  /** Ours: of this agent. */
  agent?: string;
}
/** Read the settings that hold. */
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
/** The response to a request for approval. */
export interface ApprovalResponse {
  /** Yes or no. */
  decision: Decision;
}
/** The response to anything else that the agent asks. */
export interface RequestResponse {
  /** What becomes of it. */
  outcome: ResponseOutcome;
  /** One of the options that the agent offered. */
  option?: string;
  /** The answers, by the id of the question. */
  answers?: {
    [k: string]: string[];
  };
  /** The input that is allowed instead of what was asked for. */
  input?: Record<string, unknown>;
  /** What the agent is told. */
  message?: string;
}
export interface ClientErrorResponse {
  id: string;
  error: {
    message: string;
  };
}
