// Made from `switchboard schema harness` by `cargo xtask types`: not to be changed by hand.

/** One message of the agent's side: a notification, or a request with an id. */
export type HarnessMessage = Request | Notification;
/** A message that waits for a response with the same `id`. */
export type Request =
  ItemCommandExecutionRequestApprovalRequest | ItemFileChangeRequestApprovalRequest | SwitchboardRequest;
/** What choosing an option means. */
export type OptionKind = "allow_once" | "allow_session" | "allow_always" | "reject" | "cancel";
/** What happened to a file. One that was moved is deleted here and added there. */
export type FileChangeKind = "add" | "modify" | "delete";
/** What a request is about. */
export type About =
  "command" | "file_change" | "tool" | "question" | "plan" | "auth" | "permissions" | "elicitation" | "hook" | "other";
/** What a piece of a message is. */
export type ContentType = "text" | "image" | "code" | "file" | "other";
/** What sort of tool it is. */
export type CallKind =
  "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "mode" | "other";
/** What a tool does to a file. */
export type FileOp = "read" | "write" | "modify" | "delete" | "create" | "move";
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
  | SwitchboardRequestResolvedNotification;
/** What sort of setting it is. */
export type ConfigKind = "select";
/** What the session is doing. */
export type SessionStatus = "idle" | "running" | "requires_action" | "compacting" | "retrying";
/** What began a turn. */
export type Origin = "prompt" | "background" | "command";
/** Why the model stopped. */
export type Stop = "end_turn" | "max_tokens" | "max_turns" | "budget" | "refusal" | "cancelled" | "error";
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
/** How far a turn got. */
export type TurnStatus = "inProgress" | "completed" | "interrupted" | "failed";
/** A field of an item that grows. */
export type Field = "text" | "summary" | "output" | "input" | "diff";
/** How much a notice matters. */
export type Level = "debug" | "info" | "warning" | "error";
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
/** How a run ended. */
export type EndReason = "completed" | "failed" | "cancelled" | "timeout";
/** Who decided something. */
export type Decider = "client" | "policy" | "timeout" | "agent" | "switchboard";
/** What became of a request. */
export type Outcome = "allowed" | "declined" | "cancelled" | "answered" | "withdrawn" | "expired";

/** The messages of the protocol. */
export interface Protocol {
  /** What Switchboard tells a client. */
  told: HarnessMessage;
}
/** May this command run? */
export interface ItemCommandExecutionRequestApprovalRequest {
  method: "item/commandExecution/requestApproval";
  /** What the response is to carry. */
  id: string;
  params: CommandApproval;
}
/** May this command run? The response is `{decision: "accept" | "decline"}`. */
export interface CommandApproval {
  _meta: ApprovalMeta;
  command: string;
  cwd: string;
  /** The item; where the agent names none, the id of the request. */
  itemId: string;
  reason?: string;
  threadId: string;
  turnId: string;
}
/** What else is known about what is asked. */
export interface ApprovalMeta {
  /** When it is declined by itself. */
  expiresAt?: string;
  /** What the tool would be given. */
  input?: unknown;
  /** The answers that the agent offers. */
  options?: RequestOption[];
  /** The item under which a subagent works. */
  parentItemId?: string;
  /** The subagent's thread. */
  thread?: string;
  /** One line for people. */
  title?: string;
  /** The tool, by the agent's name. */
  tool?: string;
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
/** May these files change? */
export interface ItemFileChangeRequestApprovalRequest {
  method: "item/fileChange/requestApproval";
  /** What the response is to carry. */
  id: string;
  params: FileChangeApproval;
}
/** May these files change? The response is `{decision: "accept" | "acceptForSession" | "decline"}`. */
export interface FileChangeApproval {
  _meta: ApprovalMeta;
  changes: FileUpdateChange[];
  /** The item; where the agent names none, the id of the request. */
  itemId: string;
  reason?: string;
  threadId: string;
  turnId: string;
}
/** The change of one file. */
export interface FileUpdateChange {
  _meta?: ChangeMeta;
  diff: string;
  kind: FileChangeKind;
  path: string;
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
  itemId?: string;
  request: RequestOpened;
  threadId: string;
  turnId: string;
}
/** The agent waits for an answer. */
export interface RequestOpened {
  /** What it is about. */
  about: About;
  /** The tool call it is about. */
  call?: Call;
  /** The files that would change. */
  changes?: Change[];
  /** The command that would run. */
  command?: string;
  /** Where it would run. */
  cwd?: string;
  /** When it is declined by itself. */
  expires_at?: string;
  /** The answers that the agent offers. */
  options?: RequestOption[];
  /** The questions to answer. */
  questions?: Question[];
  /** Why the agent asks. */
  reason?: string;
  /** The id to answer to. */
  request: string;
  /** One line for people. */
  title: string;
}
/** A call of a tool: what every protocol needs to show it without knowing the agent's tools. */
export interface Call {
  /** What it gave back beside text. */
  content?: Content[];
  /** Why it failed or was not allowed. */
  error?: string;
  /** What it was given, verbatim; an object wherever the agent gives one. */
  input?: unknown;
  /** What sort of tool it is. */
  kind: CallKind;
  /** The places in files that it is about. */
  locations?: Location[];
  /** The tool, by the agent's name. */
  name: string;
  /** What it does to a file. */
  op?: FileOp;
  /** What it does in a team of agents. */
  team?: Team;
  /** One line for people. */
  title?: string;
}
/** A piece of a message. */
export interface Content {
  /** Its bytes as base64. */
  data?: string;
  /** The language of code. */
  language?: string;
  /** The media type of an image or a file. */
  media_type?: string;
  /** Its text; of code, the code; of a file, its content or its name. */
  text?: string;
  /** What it is. */
  type: ContentType;
  /** Where it is. */
  url?: string;
}
/** A place in a file. */
export interface Location {
  /** The line, from 1. */
  line?: number;
  /** The file. */
  path: string;
}
/** The change of one file. */
export interface Change {
  /** The file after, where the agent gives it. */
  after?: string;
  /** The file before, where the agent gives it. */
  before?: string;
  /** A unified diff; empty where none is known. */
  diff: string;
  /** What happened to it. */
  kind: ChangeKind;
  /** The file; absolute where the folder is known. */
  path: string;
  /** Where it was moved. */
  to?: string;
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
  _meta?: ThreadMeta;
  /** Seconds since 1970. */
  createdAt: number;
  id: string;
  /** Empty where it is not known. */
  modelProvider: string;
  /** A short summary; empty where nothing was said yet. */
  preview: string;
}
/** What else is known about a thread. */
export interface ThreadMeta {
  agent: string;
  /** The agent's own id of the session. */
  agentSession?: string;
  /** What the agent said about itself. */
  info: ThreadInfo;
  /** What it continues. */
  resumed?: Resumed;
  /** Which process of the thread, from 1. */
  run: number;
}
/** What an agent says about itself. What is not known, or did not change, is not there. */
export interface ThreadInfo {
  agents?: Named[];
  /** What it can do, in its own words. */
  capabilities?: unknown;
  commands?: Named[];
  /** How full the context is. */
  context?: Context;
  cwd?: string;
  mcpServers?: McpServer[];
  mode?: string;
  model?: string;
  modelProvider?: string;
  models?: Model[];
  modes?: Mode[];
  options?: ConfigOption[];
  status?: SessionStatus;
  title?: string;
  tools?: string[];
  version?: string;
}
/** Something with a name and a line about it. */
export interface Named {
  /** What it is. */
  description?: string;
  /** Its name. */
  name: string;
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
  description?: string;
  displayName: string;
  id: string;
  isDefault: boolean;
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
export interface ConfigOption {
  description?: string;
  group?: string;
  id: string;
  name: string;
  options: ConfigSelectOption[];
  type: ConfigKind;
  value: string;
}
/** One value of a setting. */
export interface ConfigSelectOption {
  description?: string;
  id: string;
  name: string;
}
/** What a run continues. */
export interface Resumed {
  /** It continues a copy, under a new id. */
  fork: boolean;
  /** The session that it continues. */
  from?: string;
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
  _meta?: UsageMeta;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  inputTokens: number;
  outputTokens: number;
  thinkingTokens?: number;
}
/** What else is known about what was used. */
export interface UsageMeta {
  /** What the agent says it cost. */
  costUsd?: number;
  /** The model of the latest figures. */
  model?: string;
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
  _meta: TurnMeta;
  error?: TurnError;
  id: string;
  /** When it ends: all its items in the order in which they began. */
  items: ThreadItem[];
  status: TurnStatus;
}
/** What else is known about a turn. */
export interface TurnMeta {
  /** The agent's own id of the turn. */
  agentTurn?: string;
  costUsd?: number;
  /** Tools that were not allowed to run. */
  denied?: Denied[];
  durationMs?: number;
  /** How many of the first items are not here, because there were too many to keep. */
  omittedItems?: number;
  /** What began it. */
  origin?: Origin;
  prompt?: string;
  /** The agent's answer, where it gives one beside its messages. */
  result?: string;
  /** How often the model was called. */
  steps?: number;
  /** Why the model stopped. */
  stop?: Stop;
}
/** A tool call that was not allowed. */
export interface Denied {
  /** What it would have been given. */
  input?: unknown;
  /** The item of the call. */
  item?: string;
  /** The tool. */
  tool: string;
}
/** Why a turn failed. */
export interface TurnError {
  _meta?: ErrorMeta;
  /** What it is, such as `ContextWindowExceeded`. */
  errorInfo?: string;
  httpStatusCode?: number;
  message: string;
}
/** What else is known about an error. */
export interface ErrorMeta {
  code: ErrorCode;
  /** The agent's own name for it. */
  info?: string;
  /** Trying again may help. */
  retryable?: boolean;
}
/** What the user said. */
export interface UserMessageItem {
  type: "userMessage";
  _meta?: ItemMeta;
  id: string;
  content: UserInput[];
}
/** What else is known about an item. */
export interface ItemMeta {
  /** It goes on in the background. */
  background?: boolean;
  /** What it has or gave back beside text. */
  content?: Content[];
  /** How long it took, where the item has no word for it. */
  durationMs?: number;
  /** Why it failed, where the item has no word for it. */
  error?: string;
  /** What sort of tool it is. */
  kind?: CallKind;
  /** The places in files that it is about. */
  locations?: Location[];
  /** What it does to a file. */
  op?: FileOp;
  /** What a tool said about the files it changed. */
  output?: string;
  /** The item under which a subagent works. */
  parentItemId?: string;
  /** Whether a message is a comment on the way or the answer. */
  phase?: string;
  /** What was searched for, where it is more than one thing. */
  queries?: string[];
  /** It was said while a turn was running. */
  queued?: boolean;
  /** The provider keeps the thoughts secret. */
  redacted?: boolean;
  /** It is a refusal. */
  refusal?: boolean;
  /** The model reply that it came with. */
  reply?: string;
  /** What was found. */
  results?: unknown;
  /** How it ended, where the item has no word for it. */
  status?: Status;
  /** Nobody typed it. */
  synthetic?: boolean;
  /** What it does in a team of agents. */
  team?: Team;
  /** The subagent's thread: the item is not part of the answer. */
  thread?: string;
  /** One line for people. */
  title?: string;
  /** The tool, by the agent's name. */
  tool?: string;
  /** Some of its text is not here. */
  truncated?: boolean;
}
export interface TextInput {
  type: "text";
  text: string;
}
export interface ImageInput {
  type: "image";
  url: string;
}
export interface LocalImageInput {
  type: "localImage";
  path: string;
}
/** What the agent says. */
export interface AgentMessageItem {
  type: "agentMessage";
  _meta?: ItemMeta;
  id: string;
  text: string;
}
/** What the agent thinks. */
export interface ReasoningItem {
  type: "reasoning";
  _meta?: ItemMeta;
  id: string;
  content?: string;
  summary?: string;
}
/** What a subagent says, thinks or is told: no part of the thread's answer, and never taken for it. */
export interface SubagentMessageItem {
  type: "subagentMessage";
  _meta?: ItemMeta;
  id: string;
  role: SubagentRole;
  text: string;
}
/** A shell command. */
export interface CommandExecutionItem {
  type: "commandExecution";
  _meta?: ItemMeta;
  id: string;
  aggregatedOutput?: string;
  command: string;
  /** Empty where it is not known. */
  cwd: string;
  durationMs?: number;
  exitCode?: number;
  status: ItemStatus;
}
/** Changes of files. */
export interface FileChangeItem {
  type: "fileChange";
  _meta?: ItemMeta;
  id: string;
  changes: FileUpdateChange[];
  status: ItemStatus;
}
/** A call of an MCP tool. */
export interface McpToolCallItem {
  type: "mcpToolCall";
  _meta?: ItemMeta;
  id: string;
  arguments?: Record<string, unknown>;
  error?: string;
  result?: unknown;
  server: string;
  status: McpStatus;
  tool: string;
}
/** A search of the web. */
export interface WebSearchItem {
  type: "webSearch";
  _meta?: ItemMeta;
  id: string;
  query: string;
}
/** A plan. */
export interface PlanItem {
  type: "plan";
  _meta?: ItemMeta;
  id: string;
  entries?: PlanEntry[];
  text: string;
}
/** A step of a plan. */
export interface PlanEntry {
  status: StepStatus;
  step: string;
}
/** Ours: any other tool, and what is not known. */
export interface ToolCallItem {
  type: "toolCall";
  _meta?: ItemMeta;
  id: string;
  arguments?: Record<string, unknown>;
  error?: string;
  name: string;
  result?: unknown;
  status: ItemStatus;
  title?: string;
}
/** Ours: another agent, working for this one. Its items carry `_meta.thread` and `_meta.parentItemId`. */
export interface SubagentItem {
  type: "subagent";
  _meta?: ItemMeta;
  id: string;
  error?: string;
  label: string;
  name: string;
  prompt?: string;
  result?: string;
  status: ItemStatus;
  thread?: string;
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
  /** Why it changed; empty where the agent does not say. */
  explanation: string;
  plan: PlanEntry[];
  threadId: string;
  turnId: string;
}
/** Work on an item began. */
export interface ItemStartedNotification {
  method: "item/started";
  params: ItemNotification;
}
/** An item began or is finished. */
export interface ItemNotification {
  item: ThreadItem;
  threadId: string;
  turnId: string;
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
  _meta?: DeltaMeta;
  delta: string;
  itemId: string;
  threadId: string;
  turnId: string;
}
/** Whose text it is, if it is not the main agent's. */
export interface DeltaMeta {
  /** The item under which the subagent works. */
  parentItemId?: string;
  /** The subagent's thread. */
  thread: string;
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
  _meta?: DeltaMeta;
  delta: string;
  /** Which text. */
  field: Field;
  itemId: string;
  threadId: string;
  turnId: string;
}
/** Ours: an item is still going on. */
export interface SwitchboardItemProgressNotification {
  method: "switchboard/itemProgress";
  params: Progress;
}
/** An item is still going on. */
export interface Progress {
  /** For how long. */
  elapsedMs?: number;
  itemId: string;
  /** How far, from 0 to 1. */
  ratio?: number;
  /** What it is doing. */
  text?: string;
  threadId: string;
  turnId: string;
}
/** Ours: something to know. */
export interface SwitchboardNoticeNotification {
  method: "switchboard/notice";
  params: NoticeParams;
}
/** Something to know. */
export interface NoticeParams {
  detail?: unknown;
  error?: TurnError;
  itemId?: string;
  level: Level;
  /** The native name of what happened. */
  name?: string;
  /** How far it got, where it has stages. */
  status?: string;
  text?: string;
  threadId: string;
  topic: Topic;
  turnId?: string;
}
/** Ours: something about the thread changed. */
export interface SwitchboardThreadUpdatedNotification {
  method: "switchboard/threadUpdated";
  params: ThreadUpdated;
}
/** Something about the thread changed; only what changed is there. */
export interface ThreadUpdated {
  info: ThreadInfo;
  threadId: string;
}
/** Ours: the agent's process ended. */
export interface SwitchboardThreadEndedNotification {
  method: "switchboard/threadEnded";
  params: ThreadEnded;
}
/** The agent's process ended. The thread can be resumed. */
export interface ThreadEnded {
  durationMs: number;
  error?: TurnError;
  exitCode?: number;
  reason: EndReason;
  signal?: number;
  threadId: string;
}
/** Ours: a request needs no answer any more. */
export interface SwitchboardRequestResolvedNotification {
  method: "switchboard/requestResolved";
  params: Resolved;
}
/** A request needs no answer any more. */
export interface Resolved {
  answers?: {
    [k: string]: string[];
  };
  by: Decider;
  input?: unknown;
  message?: string;
  option?: string;
  outcome: Outcome;
  requestId: string;
  threadId: string;
  turnId: string;
}
