//! Rows of the table `message`: the author, the model, the usage and the outcome. The content is in parts.

use switchboard_event::{Id, Info, Level, Notice, Topic, TurnStarted};

use super::{Log, Message, Row, context, model_of};
use crate::{RunRecorder, opencode::errors};

impl Log {
    pub(super) fn message(&mut self, row: &Row<'_>, recorder: &mut RunRecorder) {
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
        self.message = Message { id: id.clone(), user, known, summary, undone, is_dated, model: model.clone() };
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
pub fn place(row: &Row<'_>) -> Option<String> {
    let role = row.data.get_non_empty("role").or_else(|| row.columns.get_non_empty("type")).unwrap_or_default();
    Some(format!("{role} {}", row.created()?.as_micros()))
}

/// Returns the notice for a row that was already read elsewhere.
pub fn echo(name: &str) -> Notice {
    Notice::new(Topic::Echo).with_level(Level::Debug).with_name(name)
}
