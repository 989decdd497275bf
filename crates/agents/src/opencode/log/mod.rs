//! The session logs of OpenCode: rows of its database, one session after the other, or the small files of old versions
//! in the same format, `{"table":…,"row":…}`. The bus of a running server is read elsewhere.

mod files;
mod messages;
mod parts;
mod rows;
mod spent;
mod stored;
mod wrong;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

pub use files::LOGS;
use rows::{Held, Row, time};
use spent::MessageUsage;
use switchboard_event::{
    Context, Dir, EndReason, Fault, Id, Info, Item, Level, Notice, Plan, PlanEntry, PlanStatus, Topic, TurnCompleted,
};

use super::turn;
use crate::{JsonObject, JsonView, RecordReader, RunRecorder, SessionEnding};

/// Reads the rows of one session.
#[derive(Default)]
pub struct Log {
    /// The known messages. Newer versions use another table, and a session may be in both.
    known: HashSet<String>,
    /// The message whose parts are being read.
    message: Message,
    /// The usage of the current message.
    usage: MessageUsage,
    /// Finish reason and error of the last reply.
    finish: Option<String>,
    fault: Option<Fault>,
    /// The first reverted message.
    reverted: Option<String>,
    /// Todos come last, one per row.
    todos: Vec<PlanEntry>,
}

/// The properties of a message that its parts need.
#[derive(Default)]
struct Message {
    id: Id,
    user: bool,
    /// The message is known from the other table and is not reported again.
    known: bool,
    /// The message is the summary of a compaction.
    summary: bool,
    undone: bool,
    /// The message has a creation time.
    is_dated: bool,
    model: Option<String>,
}

pub fn reader() -> Box<dyn RecordReader> {
    Box::new(Log::default())
}

impl RecordReader for Log {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        let held = Held::data(&fields);
        let row = Row::of(&fields, held.as_ref());
        if row.table != "part" {
            // The usage of a message is complete after its last part.
            recorder.write_before_record(|recorder| self.tell_usage(recorder));
        }
        match &*row.table {
            "session" | "session_v2" => self.session(&row, recorder),
            "session_message" => self.stored(&row, recorder),
            "message" => self.message(&row, recorder),
            "part" => self.part(&row, recorder),
            "todo" => self.todo(&row.data, recorder),
            other => recorder.write_notice(unknown(other)),
        }
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        self.tell_usage(recorder);
        self.close_turn(recorder);
        if !recorder.in_turn() {
            // A log does not record the end of a session, and nothing is missing.
            recorder.session_ending(SessionEnding { reason: EndReason::Completed, error: None });
        }
    }
}

impl Log {
    fn session(&mut self, row: &Row<'_>, recorder: &mut RunRecorder) {
        let times = row.data.get_object("time");
        let created = row.data.get("time_created").or_else(|| times.get("created"));
        recorder.set_record_time(created.and_then(time));
        recorder.set_agent_session(&row.id);
        let revert = row.json("revert");
        self.reverted = revert.object().get_non_empty("messageID");
        let model = row.json("model");
        let (provider, model) = model_of(&model.object());
        recorder.update_info(Info {
            cwd: row.data.get_non_empty("directory"),
            title: row.data.get_non_empty("title"),
            version: row.data.get_non_empty("version"),
            mode: row.data.get_non_empty("agent"),
            provider,
            model,
            ..Info::default()
        });
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("session"));
    }

    fn todo(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let status = match fields.get_str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("cancelled") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        };
        self.todos.push(PlanEntry { step: fields.get_string("content").unwrap_or_default(), status });
        let id = Id::from("todos");
        let item = Item::new(Plan { entries: self.todos.clone(), ..Plan::default() });
        recorder.ensure_turn();
        match recorder.item_is_open(&id) {
            true => recorder.item_set(&id, item),
            false => recorder.item_started(&id, item),
        }
    }

    /// Ends the turn if its last reply is complete.
    fn close_turn(&mut self, recorder: &mut RunRecorder) {
        let (fault, finish) = (self.fault.take(), self.finish.take());
        let is_over = fault.is_some() || finish.as_deref().is_some_and(turn::ends_turn);
        if !recorder.in_turn() || !is_over {
            return;
        }
        let (status, stop) = turn::outcome(fault.as_ref(), finish.as_deref());
        recorder.turn_completed(TurnCompleted { status, stop, error: fault, ..TurnCompleted::default() });
    }
}

/// Reports the context size after a reply.
fn context(used: u64, recorder: &mut RunRecorder) {
    if used > 0 {
        let context = Some(Context { used: Some(used), size: None });
        recorder.update_info(Info { context, ..Info::default() });
    }
}

fn unknown(kind: &str) -> Notice {
    Notice::new(Topic::Unknown).with_level(Level::Debug).with_name(kind)
}

/// Returns the provider and the model, in any of their formats: `{"id","providerID"}`, `{"modelID","providerID"}`.
fn model_of(fields: &JsonObject<'_>) -> (Option<String>, Option<String>) {
    (fields.get_non_empty("providerID"), fields.get_non_empty("modelID").or_else(|| fields.get_non_empty("id")))
}
