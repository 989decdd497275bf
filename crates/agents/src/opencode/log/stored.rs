//! Messages of the table `session_message`, in which newer versions keep them: whole, with all that was said and done.

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
    Json, Object, Scribe,
    opencode::{
        errors, prompts,
        speech::{self, Voice},
        state::{Phase, State},
    },
};

impl Log {
    pub(super) fn stored(&mut self, row: &Row<'_>, scribe: &mut Scribe) {
        let id = Id::from(&*row.id);
        if !self.known.insert(id.to_string()) {
            return scribe.notice(echo("session_message"));
        }
        self.known.extend(place(row));
        scribe.happened(row.created());
        let kind = row.columns.str("type").or_else(|| row.data.str("type")).unwrap_or_default();
        let text = row.data.filled("text");
        match &*kind {
            "user" => self.prompt(&id, &row.data, scribe),
            "assistant" => self.answer(&id, &row.data, scribe),
            "synthetic" | "system" | "skill" => put_in(&id, text, scribe),
            "shell" => shell(&id, &row.data, scribe),
            "compaction" => scribe.notice(parts::summary(row.data.filled("summary"))),
            "agent-switched" => scribe.info(Info { mode: row.data.filled("agent"), ..Info::default() }),
            "model-switched" => {
                let (provider, model) = model_of(&row.data.object("model"));
                scribe.info(Info { provider, model, ..Info::default() });
            }
            "idle" => {}
            other => scribe.notice(unknown(other)),
        }
        scribe.otherwise(Notice::new(Topic::Control).with_level(Level::Debug).with_name(kind));
    }

    fn prompt(&mut self, id: &Id, fields: &Object<'_>, scribe: &mut Scribe) {
        self.close_turn(scribe);
        let files = fields.array("files").into_iter().map(|file| prompts::file(&file.object()));
        let text = Content::text(fields.string("text").unwrap_or_default());
        let message = UserMessage { content: std::iter::once(text).chain(files).collect(), ..UserMessage::default() };
        let (prompt, agent_turn) = (Some(message.joined()), Some(id.clone()));
        scribe.turn_started(TurnStarted { prompt, agent_turn, ..TurnStarted::default() });
        scribe.item_completed(id, Item::new(message));
    }

    fn answer(&mut self, id: &Id, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        let (provider, model) = model_of(&fields.object("model"));
        self.message = Message { id: id.clone(), model: model.clone(), ..Message::default() };
        let used = self.count_message(id, fields, None);
        self.tell_usage(scribe);
        for (number, piece) in fields.array("content").into_iter().map(Json::object).enumerate() {
            let own = piece.filled("id").unwrap_or_else(|| number.to_string());
            self.piece(&Id::from(format!("{id}.{own}")), &piece, scribe);
        }
        context(used, scribe);
        (self.finish, self.fault) = (fields.filled("finish"), fields.get("error").map(errors::fault));
        if model.is_some() && scribe.model() != model.as_deref() {
            scribe.info(Info { provider, model, ..Info::default() });
        }
    }

    fn piece(&mut self, id: &Id, piece: &Object<'_>, scribe: &mut Scribe) {
        let text = piece.str("text").unwrap_or_default();
        let reply = self.message.id.clone();
        match piece.str("type").as_deref() {
            Some("text") => speech::end(id, Voice::Answer, &text, Some(&reply), None, scribe),
            Some("reasoning") => {
                speech::end(id, Voice::Thought, &text, Some(&reply), took(&piece.object("time")), scribe);
            }
            Some("tool") => {
                let own = piece.filled("id").map_or_else(|| id.clone(), Id::from);
                self.tool(&own, &state(piece), scribe);
            }
            _ => {}
        }
    }
}

/// A call of a tool, as it is kept here.
fn state<'a>(piece: &Object<'a>) -> State<'a> {
    let state = piece.object("state");
    let content = state.array("content").into_iter().map(Json::object);
    let (text, files): (Vec<_>, Vec<_>) = content.partition(|piece| piece.is("type", "text"));
    let text: Vec<_> = text.iter().filter_map(|piece| piece.string("text")).collect();
    State {
        tool: piece.str("name").unwrap_or_default(),
        phase: match state.str("status").as_deref() {
            Some("completed") => Phase::Completed,
            Some("error") => Phase::Failed,
            Some("running") => Phase::Running,
            _ => Phase::Pending,
        },
        input: state.get("input").filter(|input| input.is_object()),
        title: None,
        output: Cow::Owned(text.join("\n")),
        error: state.get("error").map(|error| errors::fault(error).message),
        meta: state.object("structured"),
        files: files.iter().map(prompts::file).collect(),
        took: took(&piece.object("time")),
    }
}

/// How long something took.
fn took(times: &Object<'_>) -> Option<u64> {
    let at = |key: &str| times.get(key).and_then(time);
    Some(at("completed")?.millis_since(at("ran").or_else(|| at("created"))?))
}

/// What OpenCode tells the model by itself.
fn put_in(id: &Id, text: Option<String>, scribe: &mut Scribe) {
    if let Some(text) = text {
        let message = UserMessage { synthetic: true, ..UserMessage::text(text) };
        scribe.item_completed(id, Item::new(message));
    }
}

/// A command that the user ran.
fn shell(id: &Id, fields: &Object<'_>, scribe: &mut Scribe) {
    scribe.ensure_turn();
    let command = Command {
        command: fields.string("command").unwrap_or_default(),
        output: fields.string("output").unwrap_or_default(),
        cwd: scribe.cwd().map(str::to_owned),
        ..Command::default()
    };
    let call = Call { name: "shell".to_owned(), kind: CallKind::Execute, ..Call::default() };
    let item = Item { duration_ms: took(&fields.object("time")), ..Item::new(command).with_call(call) };
    scribe.item_completed(id, item.with_status(Status::Completed));
}
