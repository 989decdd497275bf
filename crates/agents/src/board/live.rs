//! The session events of the CLI agent streaming protocol: `{id, sessionId, type, payload, timestamp}`, one a record.
//! The protocol has no turns, so none are made up; where the requests to the server are seen, they tell. A stream that
//! closes without `error` or `cancelled` is done.

use switchboard_event::{Change, ChangeKind, Details, Dir, EndReason, Fault, FileChange, Id, Item, Status, Timestamp};

use super::{errors, exchange, items, speech};
use crate::{Ending, Json, Object, Reader, Scribe};

/// The types of session events.
const TYPES: [&str; 7] = ["plan", "log", "diff", "action", "toolResult", "error", "cancelled"];

/// The record is a session event, by its shape.
pub(crate) fn is_session_event(fields: &Object<'_>) -> bool {
    fields.str("type").is_some_and(|kind| TYPES.contains(&kind.as_ref()))
        && fields.has("sessionId")
        && fields.get("payload").is_some_and(Json::is_object)
}

/// Reads session events.
#[derive(Default)]
pub(crate) struct Live {
    /// How many events had no id of their own.
    nameless: u64,
    /// A session event was seen, so the end of the stream is the end of the session.
    seen: bool,
    /// The server said how the session ended.
    ended: bool,
    /// The requests to the server are seen, so turns are known.
    exchanged: bool,
}

impl Reader for Live {
    fn tells_time(&self) -> bool {
        true
    }

    fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        if exchange::is_exchange(&fields) {
            return match dir {
                Dir::Out => self.sent(&fields, scribe),
                Dir::In => self.heard_back(&fields, scribe),
            };
        }
        if !is_session_event(&fields) {
            return;
        }
        self.seen = true;
        scribe.happened(fields.str("timestamp").and_then(|t| Timestamp::parse(&t)));
        scribe.identify(&fields.str("sessionId").unwrap_or_default());
        let id = self.id(&fields, scribe);
        let payload = fields.object("payload");
        if let Some(parent) = payload.filled("parent").map(Id::from) {
            scribe.within(Some(parent.clone()), Some(parent));
        }
        match fields.str("type").as_deref() {
            Some("plan") => speech::plan(&id, &payload, scribe),
            Some("log") => speech::log(&id, &payload, scribe),
            Some("diff") => diff(&id, &payload, scribe),
            Some("action") => action(&id, &payload, scribe),
            Some("toolResult") => tool_result(&id, &payload, scribe),
            Some("error") => self.finish(EndReason::Failed, Some(errors::fault(&payload)), scribe),
            Some("cancelled") => self.finish(EndReason::Cancelled, None, scribe),
            _ => {}
        }
    }

    fn end(&mut self, scribe: &mut Scribe) {
        if self.seen && !self.ended && !self.exchanged {
            self.finish(EndReason::Completed, None, scribe);
        }
    }
}

impl Live {
    /// A prompt was given.
    pub(super) fn begin_turn(&mut self) {
        (self.exchanged, self.ended) = (true, false);
    }

    /// An id for something that has none.
    pub(super) fn made_up(&mut self, what: &str, scribe: &Scribe) -> Id {
        self.nameless += 1;
        scribe.local_id(&format!("{what}_{}", self.nameless))
    }

    fn id(&mut self, fields: &Object<'_>, scribe: &Scribe) -> Id {
        fields.filled("id").map(Id::from).unwrap_or_else(|| self.made_up("event", scribe))
    }

    fn finish(&mut self, reason: EndReason, error: Option<Fault>, scribe: &mut Scribe) {
        self.ended = true;
        scribe.session_ending(Ending { reason, error });
    }
}

fn diff(id: &Id, payload: &Object<'_>, scribe: &mut Scribe) {
    let path = scribe.absolute(&payload.str("file").unwrap_or_default());
    let diff = payload.string("diff").unwrap_or_default();
    let kind = match payload.str("change").as_deref() {
        Some("add") => ChangeKind::Add,
        Some("delete") => ChangeKind::Delete,
        Some("move") => ChangeKind::Move,
        Some("modify") => ChangeKind::Modify,
        _ => change_kind(&diff),
    };
    let to = payload.filled("to").map(|to| scribe.absolute(&to));
    let change = Change { path, kind, to, diff, ..Change::default() };
    scribe.item_completed(id, Item::new(FileChange { changes: vec![change], output: None }));
}

/// A hunk from or to nothing says that the file is new or gone.
fn change_kind(diff: &str) -> ChangeKind {
    let hunk = diff.lines().find(|line| line.starts_with("@@")).unwrap_or_default();
    match (hunk.contains(" -0,0 "), hunk.contains(" +0,0 ")) {
        (true, _) => ChangeKind::Add,
        (_, true) => ChangeKind::Delete,
        _ => ChangeKind::Modify,
    }
}

fn action(id: &Id, payload: &Object<'_>, scribe: &mut Scribe) {
    let item = items::item(&payload.str("tool").unwrap_or_default(), payload.get("args"), scribe);
    let id = payload.filled("toolId").map_or_else(|| id.clone(), Id::from);
    scribe.item_started(&id, item);
}

/// A result names the tool, and only another Switchboard's the call, too: else it belongs to the latest call of that
/// tool that is open.
fn tool_result(id: &Id, payload: &Object<'_>, scribe: &mut Scribe) {
    let tool = payload.str("tool").unwrap_or_default();
    let called = |id: &Id| scribe.item(id).and_then(|item| item.call.as_ref()).is_some_and(|call| call.name == tool);
    let named = payload.filled("toolId").map(Id::from);
    let open = scribe.open_items(None).into_iter().rev().find(called).filter(|_| named.is_none());
    let id = named.or(open).unwrap_or_else(|| id.clone());
    let mut item = scribe.item(&id).cloned().unwrap_or_else(|| items::item(&tool, None, scribe));
    let failed = payload.get("success").and_then(Json::bool) == Some(false);
    let output = payload.get("output").map(|output| output.display().into_owned()).unwrap_or_default();
    item.status = if failed { Status::Failed } else { Status::Completed };
    item.duration_ms = payload.u64("durationMs");
    if let Some(call) = &mut item.call {
        let said = payload.filled("error").or_else(|| Some(output.clone()).filter(|text| !text.is_empty()));
        call.error = said.filter(|_| failed);
    }
    match &mut item.details {
        Details::Command(command) => (command.output, command.exit_code) = (output, payload.i32("exitCode")),
        Details::Tool(tool) => tool.output = output,
        _ => {}
    }
    scribe.item_completed(&id, item);
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
