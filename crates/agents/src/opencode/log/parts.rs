//! Message parts: text, reasoning and tool calls.

use switchboard_event::{AgentMessage, Call, Content, Id, Item, Level, Notice, Status, Tool, Topic, UserMessage};

use super::{Log, Row, messages::echo, time, unknown};
use crate::{
    JsonObject, RunRecorder,
    opencode::{
        errors, prompts,
        speech::{self, Voice},
        state::{Phase, State},
        steps, tools, wire,
    },
};

impl Log {
    pub(super) fn part(&mut self, row: &Row<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(&*row.id);
        if row.message().is_some_and(|message| message != *self.message.id) {
            // The message of this part is missing.
            recorder.write_before_record(|recorder| self.tell_usage(recorder));
            self.message = super::Message { id: row.message().map(Id::from).unwrap_or_default(), ..Default::default() };
        }
        if self.message.known || !self.known.insert(row.id.to_string()) {
            return recorder.write_notice(echo("part"));
        }
        let (own, tool) = (row.data.get_object("time"), row.data.get_object("state").get_object("time"));
        // The rows of a copied session are newer than their content. A part without a time of its own gets the time of
        // the previous part.
        let row_made = row.columns.get("time_created").filter(|_| !self.message.is_dated);
        recorder.set_record_time(own.get("start").or_else(|| tool.get("start")).or(row_made).and_then(time));
        match self.message.user {
            true => user_part(&id, &row.data, recorder),
            false => self.agent_part(&id, &row.data, recorder),
        }
    }

    fn agent_part(&mut self, id: &Id, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        match fields.get_str("type").as_deref() {
            Some("text") if self.message.summary => recorder.write_notice(summary(fields.get_non_empty("text"))),
            Some("text") => self.say(id, Voice::Answer, fields, recorder),
            Some("reasoning") => self.say(id, Voice::Thought, fields, recorder),
            Some("tool") => self.tool(id, &State::of_part(fields), recorder),
            Some("step-start") => recorder.write_notice(steps::started()),
            Some("step-finish") => {
                recorder.write_notice(steps::finished(fields));
                self.count_step(fields);
            }
            Some(kind @ ("patch" | "snapshot")) => recorder.write_notice(snapshot(kind, fields)),
            Some("retry") => recorder.write_notice(retry(fields)),
            Some("compaction") => recorder.write_notice(compaction(fields)),
            Some("file") => {
                let shown = AgentMessage { content: vec![prompts::file(fields)], ..AgentMessage::default() };
                let reply = Some(self.reply());
                recorder.item_completed(id, Item { reply, ..Item::new(shown) });
            }
            other => recorder.write_notice(unknown(other.unwrap_or("part"))),
        }
    }

    fn say(&self, id: &Id, voice: Voice, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let text = fields.get_str("text").unwrap_or_default();
        let (reply, took) = (self.reply(), wire::took(&fields.get_object("time")));
        if !self.message.undone {
            return speech::end(id, voice, &text, Some(&reply), took, recorder);
        }
        let item = Item { reply: Some(reply), ..Item::new(AgentMessage::text(text)) };
        recorder.item_completed(id, item.with_status(Status::Superseded));
    }

    /// Writes a tool call in its stored state. An unfinished call ends with its turn.
    pub(super) fn tool(&mut self, id: &Id, state: &State<'_>, recorder: &mut RunRecorder) {
        if recorder.is_brief() {
            let call = Call { name: state.tool.clone().into_owned(), ..Call::default() };
            let item = Item { reply: Some(self.reply()), ..Item::new(Tool::default()).with_call(call) };
            recorder.item_started(id, item.clone());
            return recorder.item_completed(id, item);
        }
        let item = tools::item(state, None, &[], recorder);
        let item = Item { reply: Some(self.reply()), ..item };
        match state.phase {
            Phase::Completed | Phase::Failed => {
                let ended = tools::ended(item.clone(), state);
                recorder.item_started(id, without_end(item));
                recorder.item_completed(id, ended);
            }
            Phase::Pending | Phase::Running => recorder.item_started(id, item),
        }
    }
}

/// Returns the item without the exit code, as it was when the call started.
fn without_end(mut item: Item) -> Item {
    if let switchboard_event::Details::Command(command) = &mut item.details {
        command.exit_code = None;
    }
    item
}

/// Reads a prompt, its attachments and OpenCode's own additions.
fn user_part(id: &Id, part: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let said = |content: Content, synthetic: bool, recorder: &mut RunRecorder| {
        let message = UserMessage { content: vec![content], synthetic, queued: false };
        recorder.item_completed(id, Item::new(message));
    };
    match part.get_str("type").as_deref() {
        Some("text") if part.is_true("ignored") => recorder.write_notice(echo("ignored")),
        Some("text") => {
            let text = Content::text(part.get_string("text").unwrap_or_default());
            said(text, part.is_true("synthetic"), recorder);
        }
        Some("file") => said(prompts::file(part), true, recorder),
        Some("subtask") => said(Content::text(part.get_string("prompt").unwrap_or_default()), true, recorder),
        Some("compaction") => recorder.write_notice(compaction(part)),
        Some("agent") => recorder.write_notice(echo("agent")),
        other => recorder.write_notice(unknown(other.unwrap_or("part"))),
    }
}

/// Returns the notice for the summary of a compaction.
pub fn summary(text: Option<String>) -> Notice {
    Notice { text, ..Notice::new(Topic::Compaction).with_status("completed") }
}

fn compaction(fields: &JsonObject<'_>) -> Notice {
    let reason = if fields.is_true("auto") { "auto" } else { "manual" };
    Notice::new(Topic::Compaction).with_status("started").with_name(reason)
}

fn snapshot(kind: &str, fields: &JsonObject<'_>) -> Notice {
    let notice = Notice::new(Topic::Snapshot).with_level(Level::Debug).with_name(kind);
    let text = fields.contains_key("files").then(|| format!("snapshot of {} files", fields.get_array("files").len()));
    Notice { text, detail: fields.get_raw("files"), ..notice }
}

fn retry(fields: &JsonObject<'_>) -> Notice {
    let fault = fields.get("error").map(errors::fault);
    let notice = Notice::new(Topic::Retry).with_level(Level::Warning);
    Notice { text: fault.as_ref().map(|fault| fault.message.clone()), error: fault, ..notice }
}
