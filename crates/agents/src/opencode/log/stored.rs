//! Rows of the table `session_message`, where newer versions store whole messages with all their content.

use std::borrow::Cow;

use switchboard_event::{
    Call, CallKind, Command, Content, Id, Info, Item, Level, Notice, Status, Topic, TurnStarted, UserMessage,
};

use super::{
    Log, Message, Row, context,
    messages::{echo, place},
    model_of, parts,
    rows::time,
    unknown,
};
use crate::{
    JsonObject, JsonView, RunRecorder,
    opencode::{
        errors, prompts,
        speech::{self, Voice},
        state::{Phase, State},
    },
};

impl Log {
    pub(super) fn stored(&mut self, row: &Row<'_>, recorder: &mut RunRecorder) {
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
            "compaction" => recorder.write_notice(parts::summary(row.data.get_non_empty("summary"))),
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
        let files = fields.get_array("files").into_iter().map(|file| prompts::file(&file.as_object()));
        let text = Content::text(fields.get_string("text").unwrap_or_default());
        let message = UserMessage { content: std::iter::once(text).chain(files).collect(), ..UserMessage::default() };
        let (prompt, agent_turn) = (Some(message.joined_text()), Some(id.clone()));
        recorder.turn_started(TurnStarted { prompt, agent_turn, ..TurnStarted::default() });
        recorder.item_completed(id, Item::new(message));
    }

    fn answer(&mut self, id: &Id, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        let (provider, model) = model_of(&fields.get_object("model"));
        self.message = Message { id: id.clone(), model: model.clone(), ..Message::default() };
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
            Some("text") => speech::end(id, Voice::Answer, &text, Some(&reply), None, recorder),
            Some("reasoning") => {
                speech::end(id, Voice::Thought, &text, Some(&reply), took(&piece.get_object("time")), recorder);
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
fn state<'a>(piece: &JsonObject<'a>) -> State<'a> {
    let state = piece.get_object("state");
    let content = state.get_array("content").into_iter().map(JsonView::as_object);
    let (text, files): (Vec<_>, Vec<_>) = content.partition(|piece| piece.str_equals("type", "text"));
    let text: Vec<_> = text.iter().filter_map(|piece| piece.get_string("text")).collect();
    State {
        tool: piece.get_str("name").unwrap_or_default(),
        phase: match state.get_str("status").as_deref() {
            Some("completed") => Phase::Completed,
            Some("error") => Phase::Failed,
            Some("running") => Phase::Running,
            _ => Phase::Pending,
        },
        input: state.get("input").filter(|input| input.is_object()),
        title: None,
        output: Cow::Owned(text.join("\n")),
        error: state.get("error").map(|error| errors::fault(error).message),
        meta: state.get_object("structured"),
        files: files.iter().map(prompts::file).collect(),
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
