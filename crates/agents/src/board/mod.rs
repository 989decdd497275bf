//! Board: a server of the CLI agent streaming protocol, read through its session events and controlled over REST.
//! Another Switchboard is such a server. It is not an agent itself, and does not say which agent it runs.

mod driver;
mod exchange;
mod launch;
mod routes;

#[cfg(test)]
mod tests;

pub use launch::AGENT;
use switchboard_event::{
    AgentMessage, Call, CallKind, Change, ChangeKind, Command, Details, Dir, EndReason, Fault, FileChange, FileOp, Id,
    Item, Level, Location, Notice, Plan, PlanEntry, PlanStatus, Reasoning, Status, Timestamp, Tool, Topic, UserMessage,
};

use crate::{JsonObject, JsonView, RecordReader, RecordSource, RunRecorder, SessionEnding};

/// Record sources of board servers.
pub const SOURCES: &[RecordSource] = &[RecordSource {
    name: "board",
    agent: "board",
    title: "session events of a board server (REST and WebSocket)",
    schema: None,
    reader: || Box::new(BoardReader::default()),
}];

const TYPES: [&str; 7] = ["plan", "log", "diff", "action", "toolResult", "error", "cancelled"];

/// Returns whether the record is a session event, by its structure.
pub(crate) fn is_session_event(fields: &JsonObject<'_>) -> bool {
    fields.get_str("type").is_some_and(|kind| TYPES.contains(&kind.as_ref()))
        && fields.contains_key("sessionId")
        && fields.get("payload").is_some_and(JsonView::is_object)
}

/// Reads session events.
#[derive(Default)]
pub(crate) struct BoardReader {
    /// Number of events without an id.
    nameless: u64,
    /// A session event was seen, so the end of the stream is the end of the session.
    seen: bool,
    /// The server reported the outcome of the session.
    ended: bool,
    /// The stream includes the requests to the server, so turns are known.
    exchanged: bool,
}

impl RecordReader for BoardReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        if exchange::is_exchange(&fields) {
            return match dir {
                Dir::Out => self.read_request(&fields, recorder),
                Dir::In => self.read_response(&fields, recorder),
            };
        }
        if !is_session_event(&fields) {
            return;
        }
        self.seen = true;
        recorder.set_record_time(fields.get_str("timestamp").and_then(|t| Timestamp::parse(&t)));
        recorder.set_agent_session(&fields.get_str("sessionId").unwrap_or_default());
        let id = self.id(&fields, recorder);
        let payload = fields.get_object("payload");
        if let Some(parent) = payload.get_non_empty("parent").map(Id::from) {
            recorder.set_scope(Some(parent.clone()), Some(parent));
        }
        match fields.get_str("type").as_deref() {
            Some("plan") => plan(&id, &payload, recorder),
            Some("log") => log(&id, &payload, recorder),
            Some("diff") => diff(&id, &payload, recorder),
            Some("action") => action(&id, &payload, recorder),
            Some("toolResult") => tool_result(&id, &payload, recorder),
            Some("error") => self.finish(EndReason::Failed, Some(exchange::fault(&payload)), recorder),
            Some("cancelled") => self.finish(EndReason::Cancelled, None, recorder),
            _ => {}
        }
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        if self.seen && !self.ended && !self.exchanged {
            self.finish(EndReason::Completed, None, recorder);
        }
    }
}

impl BoardReader {
    /// Begins a turn with a prompt.
    pub(super) fn begin_turn(&mut self) {
        (self.exchanged, self.ended) = (true, false);
    }

    /// Generates an id.
    pub(super) fn generate_id(&mut self, what: &str, recorder: &RunRecorder) -> Id {
        self.nameless += 1;
        recorder.local_id(&format!("{what}_{}", self.nameless))
    }

    fn id(&mut self, fields: &JsonObject<'_>, recorder: &RunRecorder) -> Id {
        fields.get_non_empty("id").map(Id::from).unwrap_or_else(|| self.generate_id("event", recorder))
    }

    fn finish(&mut self, reason: EndReason, error: Option<Fault>, recorder: &mut RunRecorder) {
        self.ended = true;
        recorder.session_ending(SessionEnding { reason, error });
    }
}

fn diff(id: &Id, payload: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let path = recorder.absolute_path(&payload.get_str("file").unwrap_or_default());
    let diff = payload.get_string("diff").unwrap_or_default();
    let kind = match payload.get_str("change").as_deref() {
        Some("add") => ChangeKind::Add,
        Some("delete") => ChangeKind::Delete,
        Some("move") => ChangeKind::Move,
        Some("modify") => ChangeKind::Modify,
        _ => change_kind(&diff),
    };
    let to = payload.get_non_empty("to").map(|to| recorder.absolute_path(&to));
    let change = Change { path, kind, to, diff, ..Change::default() };
    recorder.item_completed(id, Item::new(FileChange { changes: vec![change], output: None }));
}

/// A hunk from or to nothing means that the file is new or deleted.
fn change_kind(diff: &str) -> ChangeKind {
    let hunk = diff.lines().find(|line| line.starts_with("@@")).unwrap_or_default();
    match (hunk.contains(" -0,0 "), hunk.contains(" +0,0 ")) {
        (true, _) => ChangeKind::Add,
        (_, true) => ChangeKind::Delete,
        _ => ChangeKind::Modify,
    }
}

fn action(id: &Id, payload: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let item = item(&payload.get_str("tool").unwrap_or_default(), payload.get("args"), recorder);
    let id = payload.get_non_empty("toolId").map_or_else(|| id.clone(), Id::from);
    recorder.item_started(&id, item);
}

/// Completes the call of a result. A result names the tool, and only another Switchboard also names the call; otherwise
/// it belongs to the latest open call of that tool.
fn tool_result(id: &Id, payload: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let tool = payload.get_str("tool").unwrap_or_default();
    let called =
        |id: &Id| recorder.open_item(id).and_then(|item| item.call.as_ref()).is_some_and(|call| call.name == tool);
    let named = payload.get_non_empty("toolId").map(Id::from);
    let open = recorder.open_items(None).into_iter().rev().find(called).filter(|_| named.is_none());
    let id = named.or(open).unwrap_or_else(|| id.clone());
    let mut item = recorder.open_item(&id).cloned().unwrap_or_else(|| item(&tool, None, recorder));
    let failed = payload.get("success").and_then(JsonView::as_bool) == Some(false);
    let output = payload.get("output").map(|output| output.display_text().into_owned()).unwrap_or_default();
    item.status = if failed { Status::Failed } else { Status::Completed };
    item.duration_ms = payload.get_u64("durationMs");
    if let Some(call) = &mut item.call {
        let said = payload.get_non_empty("error").or_else(|| Some(output.clone()).filter(|text| !text.is_empty()));
        call.error = said.filter(|_| failed);
    }
    match &mut item.details {
        Details::Command(command) => (command.output, command.exit_code) = (output, payload.get_i32("exitCode")),
        Details::Tool(tool) => tool.output = output,
        _ => {}
    }
    recorder.item_completed(&id, item);
}

/// Reads a plan or reasoning.
pub fn plan(id: &Id, payload: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let text = payload.get_string("message");
    let item = match payload.get_str("channel").as_deref() {
        Some("reasoning") => Item::new(Reasoning { text, ..Reasoning::default() }),
        _ => Item::new(Plan { text, ..Plan::default() }),
    };
    recorder.item_completed(id, item);
}

/// Reads a line, which belongs to the answer unless its channel says otherwise.
pub fn log(id: &Id, payload: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let line = payload.get_string("line").unwrap_or_default();
    let topic = match payload.get_str("channel").as_deref() {
        None | Some("subagent") => return recorder.item_completed(id, Item::new(AgentMessage::text(line))),
        Some("user") => return recorder.item_completed(id, Item::new(UserMessage::text(line))),
        Some("stdout") => Topic::Stdout,
        Some("stderr") => Topic::Stderr,
        Some("notice") => Topic::Warning,
        Some(_) => Topic::Status,
    };
    recorder.write_notice(Notice::new(topic).with_level(level(payload)).with_text(line));
}

fn level(payload: &JsonObject<'_>) -> Level {
    match payload.get_str("level").as_deref() {
        Some("error") => Level::Error,
        Some("warning") => Level::Warning,
        Some("debug") => Level::Debug,
        _ => Level::Info,
    }
}

/// Returns the item of a tool call. An edit is not a file change here, because a separate `diff` event reports the
/// change.
pub fn item(tool: &str, args: Option<JsonView<'_>>, recorder: &RunRecorder) -> Item {
    let fields = args.map(JsonView::as_object).unwrap_or_default();
    let path = ["file_path", "filePath", "path", "file"].into_iter().find_map(|key| fields.get_non_empty(key));
    let (kind, op) = classify_action(&fields, path.is_some());
    let call = Call {
        name: tool.to_owned(),
        kind,
        op,
        input: args.map(JsonView::to_raw),
        locations: path.iter().map(|path| Location { path: recorder.absolute_path(path), line: None }).collect(),
        ..Call::default()
    };
    Item::new(details(&fields, recorder)).with_call(call)
}

fn classify_action(args: &JsonObject<'_>, on_file: bool) -> (CallKind, Option<FileOp>) {
    let any = |keys: &[&str]| keys.iter().any(|key| args.contains_key(key));
    if any(&["command", "cmd"]) {
        (CallKind::Execute, None)
    } else if any(&["old_string", "oldString", "new_string", "newString", "edits"]) {
        (CallKind::Edit, Some(FileOp::Modify))
    } else if on_file && any(&["content", "contents"]) {
        (CallKind::Edit, Some(FileOp::Write))
    } else if any(&["pattern", "query"]) {
        (CallKind::Search, None)
    } else if any(&["url"]) {
        (CallKind::Fetch, None)
    } else if any(&["todos"]) {
        (CallKind::Think, None)
    } else if on_file {
        (CallKind::Read, Some(FileOp::Read))
    } else {
        (CallKind::Other, None)
    }
}

fn details(args: &JsonObject<'_>, recorder: &RunRecorder) -> Details {
    if let Some(command) = args.get_string("command").or_else(|| args.get_string("cmd")) {
        let cwd = args.get_str("cwd").map(|cwd| recorder.absolute_path(&cwd));
        return Command { command, cwd, ..Command::default() }.into();
    }
    let entries: Vec<_> = args.get_array("todos").into_iter().map(|todo| entry(&todo.as_object())).collect();
    if entries.is_empty() { Tool::default().into() } else { Plan { entries, ..Plan::default() }.into() }
}

fn entry(todo: &JsonObject<'_>) -> PlanEntry {
    PlanEntry {
        step: todo.get_string("content").or_else(|| todo.get_string("description")).unwrap_or_default(),
        status: match todo.get_str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("failed" | "cancelled") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        },
    }
}

#[cfg(test)]
mod unit_tests {

    use switchboard_event::ChangeKind;

    use super::change_kind;

    #[test]
    fn the_first_hunk_says_whether_a_file_is_new_or_gone() {
        assert_eq!(change_kind("@@ -0,0 +1,2 @@\n+a\n+b\n"), ChangeKind::Add);
        assert_eq!(change_kind("--- a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"), ChangeKind::Delete);
        assert_eq!(change_kind("@@ -10,5 +10,8 @@\n-old line\n+new line"), ChangeKind::Modify);
        assert_eq!(change_kind(""), ChangeKind::Modify);
    }
}
