//! Message parts, and the rows of newer versions that store whole messages: text, reasoning and tool calls.

use std::borrow::Cow;

use switchboard_event::{
    AgentMessage, Call, CallKind, Command, Content, Id, Info, Item, Level, Notice, Status, Tool, Topic, TurnStarted,
    UserMessage,
};

use super::{LogRow, LoggedMessage, OpenCodeLogReader, context, echo, model_of, place, time, unknown};
use crate::{
    JsonObject, JsonView, RunRecorder,
    opencode::{
        bus,
        calls::{CallPhase, CallState},
        errors, messages,
        parts::{self, SpeechKind},
        tools,
    },
};

impl OpenCodeLogReader {
    pub(super) fn part(&mut self, row: &LogRow<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(&*row.id);
        if row.message().is_some_and(|message| message != *self.message.id) {
            // The message of this part is missing.
            recorder.write_before_record(|recorder| self.tell_usage(recorder));
            self.message = LoggedMessage { id: row.message().map(Id::from).unwrap_or_default(), ..Default::default() };
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
            Some("text") => self.say(id, SpeechKind::Answer, fields, recorder),
            Some("reasoning") => self.say(id, SpeechKind::Thought, fields, recorder),
            Some("tool") => self.tool(id, &CallState::of_part(fields), recorder),
            Some("step-start") => recorder.write_notice(parts::started()),
            Some("step-finish") => {
                recorder.write_notice(parts::finished(fields));
                self.count_step(fields);
            }
            Some(kind @ ("patch" | "snapshot")) => recorder.write_notice(snapshot(kind, fields)),
            Some("retry") => recorder.write_notice(retry(fields)),
            Some("compaction") => recorder.write_notice(compaction(fields)),
            Some("file") => {
                let shown = AgentMessage { content: vec![messages::file(fields)], ..AgentMessage::default() };
                let reply = Some(self.reply());
                recorder.item_completed(id, Item { reply, ..Item::new(shown) });
            }
            other => recorder.write_notice(unknown(other.unwrap_or("part"))),
        }
    }

    fn say(&self, id: &Id, voice: SpeechKind, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let text = fields.get_str("text").unwrap_or_default();
        let (reply, took) = (self.reply(), bus::took(&fields.get_object("time")));
        if !self.message.undone {
            return parts::end(id, voice, &text, Some(&reply), took, recorder);
        }
        let item = Item { reply: Some(reply), ..Item::new(AgentMessage::text(text)) };
        recorder.item_completed(id, item.with_status(Status::Superseded));
    }

    /// Writes a tool call in its stored state. An unfinished call ends with its turn.
    pub(super) fn tool(&mut self, id: &Id, state: &CallState<'_>, recorder: &mut RunRecorder) {
        if recorder.is_brief() {
            let call = Call { name: state.tool.clone().into_owned(), ..Call::default() };
            let item = Item { reply: Some(self.reply()), ..Item::new(Tool::default()).with_call(call) };
            recorder.item_started(id, item.clone());
            return recorder.item_completed(id, item);
        }
        let item = tools::item(state, None, &[], recorder);
        let item = Item { reply: Some(self.reply()), ..item };
        match state.phase {
            CallPhase::Completed | CallPhase::Failed => {
                let ended = tools::completed_item(item.clone(), state);
                recorder.item_started(id, without_end(item));
                recorder.item_completed(id, ended);
            }
            CallPhase::Pending | CallPhase::Running => recorder.item_started(id, item),
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
        Some("file") => said(messages::file(part), true, recorder),
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

impl OpenCodeLogReader {
    pub(super) fn stored(&mut self, row: &LogRow<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(&*row.id);
        if !self.known.insert(id.to_string()) {
            return recorder.write_notice(echo("session_message"));
        }
        self.known.extend(place(row));
        recorder.set_record_time(row.created());
        let kind = row.columns.get_str("type").or_else(|| row.data.get_str("type")).unwrap_or_default();
        let text = row.data.get_non_empty("text");
        match &*kind {
            "user" => self.prompt(&id, &row.data, recorder),
            "assistant" => self.answer(&id, &row.data, recorder),
            "synthetic" | "system" | "skill" => put_in(&id, text, recorder),
            "shell" => shell(&id, &row.data, recorder),
            "compaction" => recorder.write_notice(summary(row.data.get_non_empty("summary"))),
            "agent-switched" => recorder.update_info(Info { mode: row.data.get_non_empty("agent"), ..Info::default() }),
            "model-switched" => {
                let (provider, model) = model_of(&row.data.get_object("model"));
                recorder.update_info(Info { provider, model, ..Info::default() });
            }
            "idle" => {}
            other => recorder.write_notice(unknown(other)),
        }
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name(kind));
    }

    fn prompt(&mut self, id: &Id, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.close_turn(recorder);
        let files = fields.get_array("files").into_iter().map(|file| messages::file(&file.as_object()));
        let text = Content::text(fields.get_string("text").unwrap_or_default());
        let message = UserMessage { content: std::iter::once(text).chain(files).collect(), ..UserMessage::default() };
        let (prompt, agent_turn) = (Some(message.joined_text()), Some(id.clone()));
        recorder.turn_started(TurnStarted { prompt, agent_turn, ..TurnStarted::default() });
        recorder.item_completed(id, Item::new(message));
    }

    fn answer(&mut self, id: &Id, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        let (provider, model) = model_of(&fields.get_object("model"));
        self.message = LoggedMessage { id: id.clone(), model: model.clone(), ..LoggedMessage::default() };
        let used = self.count_message(id, fields, None);
        self.tell_usage(recorder);
        for (number, piece) in fields.get_array("content").into_iter().map(JsonView::as_object).enumerate() {
            let own = piece.get_non_empty("id").unwrap_or_else(|| number.to_string());
            self.piece(&Id::from(format!("{id}.{own}")), &piece, recorder);
        }
        context(used, recorder);
        (self.finish, self.fault) = (fields.get_non_empty("finish"), fields.get("error").map(errors::fault));
        if model.is_some() && recorder.current_model() != model.as_deref() {
            recorder.update_info(Info { provider, model, ..Info::default() });
        }
    }

    fn piece(&mut self, id: &Id, piece: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let text = piece.get_str("text").unwrap_or_default();
        let reply = self.message.id.clone();
        match piece.get_str("type").as_deref() {
            Some("text") => parts::end(id, SpeechKind::Answer, &text, Some(&reply), None, recorder),
            Some("reasoning") => {
                parts::end(id, SpeechKind::Thought, &text, Some(&reply), took(&piece.get_object("time")), recorder);
            }
            Some("tool") => {
                let own = piece.get_non_empty("id").map_or_else(|| id.clone(), Id::from);
                self.tool(&own, &state(piece), recorder);
            }
            _ => {}
        }
    }
}

/// Parses the state of a tool call in this table's format.
fn state<'a>(piece: &JsonObject<'a>) -> CallState<'a> {
    let state = piece.get_object("state");
    let content = state.get_array("content").into_iter().map(JsonView::as_object);
    let (text, files): (Vec<_>, Vec<_>) = content.partition(|piece| piece.str_equals("type", "text"));
    let text: Vec<_> = text.iter().filter_map(|piece| piece.get_string("text")).collect();
    CallState {
        tool: piece.get_str("name").unwrap_or_default(),
        phase: match state.get_str("status").as_deref() {
            Some("completed") => CallPhase::Completed,
            Some("error") => CallPhase::Failed,
            Some("running") => CallPhase::Running,
            _ => CallPhase::Pending,
        },
        input: state.get("input").filter(|input| input.is_object()),
        title: None,
        output: Cow::Owned(text.join("\n")),
        error: state.get("error").map(|error| errors::fault(error).message),
        meta: state.get_object("structured"),
        files: files.iter().map(messages::file).collect(),
        took: took(&piece.get_object("time")),
    }
}

fn took(times: &JsonObject<'_>) -> Option<u64> {
    let at = |key: &str| times.get(key).and_then(time);
    Some(at("completed")?.millis_since(at("ran").or_else(|| at("created"))?))
}

/// Writes a message that OpenCode itself sends to the model.
fn put_in(id: &Id, text: Option<String>, recorder: &mut RunRecorder) {
    if let Some(text) = text {
        let message = UserMessage { synthetic: true, ..UserMessage::text(text) };
        recorder.item_completed(id, Item::new(message));
    }
}

/// Writes a command that the user ran.
fn shell(id: &Id, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
    recorder.ensure_turn();
    let command = Command {
        command: fields.get_string("command").unwrap_or_default(),
        output: fields.get_string("output").unwrap_or_default(),
        cwd: recorder.working_directory().map(str::to_owned),
        ..Command::default()
    };
    let call = Call { name: "shell".to_owned(), kind: CallKind::Execute, ..Call::default() };
    let item = Item { duration_ms: took(&fields.get_object("time")), ..Item::new(command).with_call(call) };
    recorder.item_completed(id, item.with_status(Status::Completed));
}
