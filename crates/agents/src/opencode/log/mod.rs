//! The session logs of OpenCode: rows of its database, one session after the other, or the small files of old versions
//! in the same format, `{"table":…,"row":…}`. The bus of a running server is read elsewhere.

mod content;
mod files;
mod rows;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

pub use files::LOGS;
use rows::{LogRow, MessageUsage, RowData, time};
use switchboard_event::{
    Context, Dir, EndReason, Fault, Id, Info, Item, Level, Notice, Plan, PlanEntry, PlanStatus, Topic, TurnCompleted,
    TurnStarted,
};

use super::{errors, turn};
use crate::{JsonObject, JsonView, RecordReader, RunRecorder, SessionEnding, logs::usage_figure_problem};

/// Reads the rows of one session.
#[derive(Default)]
pub struct OpenCodeLogReader {
    /// The known messages. Newer versions use another table, and a session may be in both.
    known: HashSet<String>,
    /// The message whose parts are being read.
    message: LoggedMessage,
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
struct LoggedMessage {
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
    Box::new(OpenCodeLogReader::default())
}

impl RecordReader for OpenCodeLogReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        let held = RowData::data(&fields);
        let row = LogRow::of(&fields, held.as_ref());
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

impl OpenCodeLogReader {
    fn session(&mut self, row: &LogRow<'_>, recorder: &mut RunRecorder) {
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

impl OpenCodeLogReader {
    pub(super) fn message(&mut self, row: &LogRow<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(&*row.id);
        let known = !self.known.insert(id.to_string()) || place(row).is_some_and(|place| self.known.contains(&place));
        let user = row.data.str_equals("role", "user");
        let (provider, model) = match user {
            true => model_of(&row.data.get_object("model")),
            false => model_of(&row.data),
        };
        let undone = self.reverted.as_deref().is_some_and(|first| *row.id >= *first);
        let summary = row.data.is_true("summary");
        let is_dated = row.created().is_some();
        self.message = LoggedMessage { id: id.clone(), user, known, summary, undone, is_dated, model: model.clone() };
        if known {
            return recorder.write_notice(echo("message"));
        }
        recorder.set_record_time(row.created());
        if user {
            self.close_turn(recorder);
            return recorder.turn_started(TurnStarted { agent_turn: Some(id), ..TurnStarted::default() });
        }
        recorder.ensure_turn();
        let used = self.count_message(&id, &row.data, row.created());
        context(used, recorder);
        // Versions before 1.0 record only the time when a reply ended.
        let is_over = row.data.get_object("time").contains_key("completed");
        self.finish = row.data.get_non_empty("finish").or_else(|| is_over.then(|| "stop".to_owned()));
        self.fault = row.data.get("error").map(errors::fault);
        let cwd = row.data.get_object("path").get_non_empty("cwd");
        if recorder.current_model() != model.as_deref() && model.is_some()
            || recorder.working_directory().is_none() && cwd.is_some()
        {
            recorder.update_info(Info { model, provider, cwd, ..Info::default() });
        }
        recorder.write_notice_if_no_event(Notice::new(Topic::Step).with_level(Level::Debug).with_status("started"));
    }
}

/// Identifies a message by its author and time. A session that was migrated to the other table remains in this one too,
/// possibly with other ids.
pub fn place(row: &LogRow<'_>) -> Option<String> {
    let role = row.data.get_non_empty("role").or_else(|| row.columns.get_non_empty("type")).unwrap_or_default();
    Some(format!("{role} {}", row.created()?.as_micros()))
}

/// Returns the notice for a row that was already read elsewhere.
pub fn echo(name: &str) -> Notice {
    Notice::new(Topic::Echo).with_level(Level::Debug).with_name(name)
}

/// Returns the problem of a row: it is empty, its content is not an object, or its figures are not numbers.
pub fn wrong(record: JsonView<'_>) -> Option<String> {
    let fields = record.as_object();
    let held = RowData::data(&fields);
    let row = LogRow::of(&fields, held.as_ref());
    if row.table.is_empty() {
        return None;
    }
    if row.columns.is_empty() {
        return Some(format!("a row of {} is no object", row.table));
    }
    let is_read = held.is_some() || row.columns.get("data").is_some_and(JsonView::is_object);
    if row.columns.contains_key("data") && !is_read {
        return Some(format!("data of a row of {} is no object", row.table));
    }
    spent(&row)
}

/// Returns the problem of invalid figures in a message or a step.
fn spent(row: &LogRow<'_>) -> Option<String> {
    if !matches!(&*row.table, "message" | "session_message" | "part") {
        return None;
    }
    let (tokens, cache) = (row.data.get("tokens"), row.data.get_object("tokens").get("cache"));
    let of_reply = usage_figure_problem("a reply", tokens, &["input", "output", "reasoning"]);
    let cost = || row.data.get("cost").filter(|cost| cost.as_f64().is_none());
    of_reply
        .or_else(|| usage_figure_problem("the cache of a reply", cache, &["read", "write"]))
        .or_else(|| cost().map(|_| "cost of a reply is not a number".to_owned()))
}
