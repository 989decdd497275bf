//! Reader of the session events of the CLI agent streaming protocol: `{id, sessionId, type, payload, timestamp}`, one
//! per record. The protocol has no turns, so none are invented; they come from the requests to the server, where these
//! are recorded. A stream that closes without `error` or `cancelled` completed normally.

use switchboard_event::{Change, ChangeKind, Details, Dir, EndReason, Fault, FileChange, Id, Item, Status, Timestamp};

use super::{errors, exchange, items, speech};
use crate::{JsonObject, JsonView, RecordReader, RunRecorder, SessionEnding};

const TYPES: [&str; 7] = ["plan", "log", "diff", "action", "toolResult", "error", "cancelled"];

/// Returns whether the record is a session event, by its structure.
pub(crate) fn is_session_event(fields: &JsonObject<'_>) -> bool {
    fields.get_str("type").is_some_and(|kind| TYPES.contains(&kind.as_ref()))
        && fields.contains_key("sessionId")
        && fields.get("payload").is_some_and(JsonView::is_object)
}

/// Reads session events.
#[derive(Default)]
pub(crate) struct Live {
    /// Number of events without an id.
    nameless: u64,
    /// A session event was seen, so the end of the stream is the end of the session.
    seen: bool,
    /// The server reported the outcome of the session.
    ended: bool,
    /// The stream includes the requests to the server, so turns are known.
    exchanged: bool,
}

impl RecordReader for Live {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        if exchange::is_exchange(&fields) {
            return match dir {
                Dir::Out => self.sent(&fields, recorder),
                Dir::In => self.heard_back(&fields, recorder),
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
            Some("plan") => speech::plan(&id, &payload, recorder),
            Some("log") => speech::log(&id, &payload, recorder),
            Some("diff") => diff(&id, &payload, recorder),
            Some("action") => action(&id, &payload, recorder),
            Some("toolResult") => tool_result(&id, &payload, recorder),
            Some("error") => self.finish(EndReason::Failed, Some(errors::fault(&payload)), recorder),
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

impl Live {
    /// Begins a turn with a prompt.
    pub(super) fn begin_turn(&mut self) {
        (self.exchanged, self.ended) = (true, false);
    }

    /// Generates an id.
    pub(super) fn made_up(&mut self, what: &str, recorder: &RunRecorder) -> Id {
        self.nameless += 1;
        recorder.local_id(&format!("{what}_{}", self.nameless))
    }

    fn id(&mut self, fields: &JsonObject<'_>, recorder: &RunRecorder) -> Id {
        fields.get_non_empty("id").map(Id::from).unwrap_or_else(|| self.made_up("event", recorder))
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
    let item = items::item(&payload.get_str("tool").unwrap_or_default(), payload.get("args"), recorder);
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
    let mut item = recorder.open_item(&id).cloned().unwrap_or_else(|| items::item(&tool, None, recorder));
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

#[cfg(test)]
mod tests {

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
