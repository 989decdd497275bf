//! Messages of the table `message`: who spoke, with which model, what it used, how it ended. What was said is in parts.

use switchboard_event::{Id, Info, Level, Notice, Topic, TurnStarted};

use super::{Log, Message, Row, context, model_of};
use crate::{Scribe, opencode::errors};

impl Log {
    pub(super) fn message(&mut self, row: &Row<'_>, scribe: &mut Scribe) {
        let id = Id::from(&*row.id);
        let known = !self.known.insert(id.to_string()) || place(row).is_some_and(|place| self.known.contains(&place));
        let user = row.data.is("role", "user");
        let (provider, model) = match user {
            true => model_of(&row.data.object("model")),
            false => model_of(&row.data),
        };
        let undone = self.reverted.as_deref().is_some_and(|first| *row.id >= *first);
        let summary = row.data.is_true("summary");
        let is_dated = row.created().is_some();
        self.message = Message { id: id.clone(), user, known, summary, undone, is_dated, model: model.clone() };
        if known {
            return scribe.notice(echo("message"));
        }
        scribe.happened(row.created());
        if user {
            self.close_turn(scribe);
            return scribe.turn_started(TurnStarted { agent_turn: Some(id), ..TurnStarted::default() });
        }
        scribe.ensure_turn();
        let used = self.count_message(&id, &row.data, row.created());
        context(used, scribe);
        // Versions before 1.0 only say when a reply was over.
        let is_over = row.data.object("time").has("completed");
        self.finish = row.data.filled("finish").or_else(|| is_over.then(|| "stop".to_owned()));
        self.fault = row.data.get("error").map(errors::fault);
        let cwd = row.data.object("path").filled("cwd");
        if scribe.model() != model.as_deref() && model.is_some() || scribe.cwd().is_none() && cwd.is_some() {
            scribe.info(Info { model, provider, cwd, ..Info::default() });
        }
        scribe.otherwise(Notice::new(Topic::Step).with_level(Level::Debug).with_status("started"));
    }
}

/// Who spoke, and when: a session that was moved to the other table stays in this one too, under other ids perhaps.
pub fn place(row: &Row<'_>) -> Option<String> {
    let role = row.data.filled("role").or_else(|| row.columns.filled("type")).unwrap_or_default();
    Some(format!("{role} {}", row.created()?.as_micros()))
}

/// It is known from elsewhere.
pub fn echo(name: &str) -> Notice {
    Notice::new(Topic::Echo).with_level(Level::Debug).with_name(name)
}
