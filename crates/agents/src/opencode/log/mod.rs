//! The session logs of OpenCode: rows of its database, one session after the other, or the small files of old versions
//! in the same shape, `{"table":…,"row":…}`. Not the bus of a running server, which tells the same as it happens.

mod files;
mod messages;
mod parts;
mod rows;
mod spent;
mod stored;
#[cfg(test)]
mod tests;
mod wrong;

use std::collections::HashSet;

use switchboard_event::{
    Context, Dir, EndReason, Fault, Id, Info, Item, Level, Notice, Plan, PlanEntry, PlanStatus, Topic, TurnCompleted,
};

pub use files::LOGS;
use rows::{Held, Row, time};
use spent::MessageUsage;

use super::turn;
use crate::{Ending, Json, Object, Reader, Scribe};

/// Reads the rows of one session.
#[derive(Default)]
pub struct Log {
    /// The messages that are known: newer versions keep them in another table, and a session may be in both.
    known: HashSet<String>,
    /// The message whose parts are being read.
    message: Message,
    /// What it used.
    usage: MessageUsage,
    /// Why the last reply ended, and what went wrong with it.
    finish: Option<String>,
    fault: Option<Fault>,
    /// The message from which on all was undone.
    reverted: Option<String>,
    /// Todos come last, one a row.
    todos: Vec<PlanEntry>,
}

/// A message, as far as its parts must know it.
#[derive(Default)]
struct Message {
    id: Id,
    user: bool,
    /// It is known from elsewhere: nothing of it is news.
    known: bool,
    /// It is the summary that a compaction leaves.
    summary: bool,
    undone: bool,
    /// It says when it was made.
    is_dated: bool,
    model: Option<String>,
}

/// A reader of logs.
pub fn reader() -> Box<dyn Reader> {
    Box::new(Log::default())
}

impl Reader for Log {
    fn tells_time(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        let held = Held::data(&fields);
        let row = Row::of(&fields, held.as_ref());
        if row.table != "part" {
            // What the message before used is known when its parts are.
            scribe.before(|scribe| self.tell_usage(scribe));
        }
        match &*row.table {
            "session" | "session_v2" => self.session(&row, scribe),
            "session_message" => self.stored(&row, scribe),
            "message" => self.message(&row, scribe),
            "part" => self.part(&row, scribe),
            "todo" => self.todo(&row.data, scribe),
            other => scribe.notice(unknown(other)),
        }
    }

    fn end(&mut self, scribe: &mut Scribe) {
        self.tell_usage(scribe);
        self.close_turn(scribe);
        if !scribe.in_turn() {
            // A log says nothing about its end, and nothing is missing.
            scribe.session_ending(Ending { reason: EndReason::Completed, error: None });
        }
    }
}

impl Log {
    fn session(&mut self, row: &Row<'_>, scribe: &mut Scribe) {
        let times = row.data.object("time");
        let created = row.data.get("time_created").or_else(|| times.get("created"));
        scribe.happened(created.and_then(time));
        scribe.identify(&row.id);
        let revert = row.json("revert");
        self.reverted = revert.object().filled("messageID");
        let model = row.json("model");
        let (provider, model) = model_of(&model.object());
        scribe.info(Info {
            cwd: row.data.filled("directory"),
            title: row.data.filled("title"),
            version: row.data.filled("version"),
            mode: row.data.filled("agent"),
            provider,
            model,
            ..Info::default()
        });
        scribe.otherwise(Notice::new(Topic::Control).with_level(Level::Debug).with_name("session"));
    }

    fn todo(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let status = match fields.str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("cancelled") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        };
        self.todos.push(PlanEntry { step: fields.string("content").unwrap_or_default(), status });
        let id = Id::from("todos");
        let item = Item::new(Plan { entries: self.todos.clone(), ..Plan::default() });
        scribe.ensure_turn();
        match scribe.item_is_open(&id) {
            true => scribe.item_set(&id, item),
            false => scribe.item_started(&id, item),
        }
    }

    /// The turn is over, if its last reply is.
    fn close_turn(&mut self, scribe: &mut Scribe) {
        let (fault, finish) = (self.fault.take(), self.finish.take());
        let is_over = fault.is_some() || finish.as_deref().is_some_and(turn::ends_turn);
        if !scribe.in_turn() || !is_over {
            return;
        }
        let (status, stop) = turn::outcome(fault.as_ref(), finish.as_deref());
        scribe.turn_completed(TurnCompleted { status, stop, error: fault, ..TurnCompleted::default() });
    }
}

/// How full the context is, after a reply.
fn context(used: u64, scribe: &mut Scribe) {
    if used > 0 {
        let context = Some(Context { used: Some(used), size: None });
        scribe.info(Info { context, ..Info::default() });
    }
}

/// Nobody knows what it is.
fn unknown(kind: &str) -> Notice {
    Notice::new(Topic::Unknown).with_level(Level::Debug).with_name(kind)
}

/// A model, in the ways in which it was ever written: `{"id","providerID"}`, `{"modelID","providerID"}`.
fn model_of(fields: &Object<'_>) -> (Option<String>, Option<String>) {
    (fields.filled("providerID"), fields.filled("modelID").or_else(|| fields.filled("id")))
}
