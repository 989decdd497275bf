//! What is said: items of the model's API, and the events that repeat them.

use switchboard_event::{AgentMessage, Id, Info, Item, Notice, Reasoning, Topic, UserMessage};

use super::{
    super::{items, user},
    calls, ends, known,
    line::Line,
    reader::Log,
    said::{self, Voice, Way},
};
use crate::{Object, Scribe};

impl Log {
    /// `response_item`.
    pub(super) fn item(&mut self, line: &Line<'_>, scribe: &mut Scribe) {
        let (native, what) = (&line.fields, line.what());
        if known::is_models(&what, native) {
            self.account.spoke();
        }
        match &*what {
            "message" if native.is("role", "assistant") => self.answer(line, scribe),
            "message" => self.told(line, scribe),
            "reasoning" => self.thought(line, scribe),
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
                let reply = self.turns.work(scribe);
                if let Some((id, item)) = calls::called(&what, native, scribe) {
                    scribe.item_started(&id, Item { reply: Some(reply), ..item });
                }
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
                calls::answered(&what, native, scribe);
            }
            "web_search_call" => self.made("webSearch", line, scribe),
            "image_generation_call" => self.made("imageGeneration", line, scribe),
            "ghost_snapshot" => scribe.notice(Notice::new(Topic::Snapshot).with_name("ghost_snapshot")),
            "compaction" | "context_compaction" => scribe.notice(Notice::new(Topic::Compaction).with_name(what)),
            "agent_message" => {
                let text = said::text(native).into_owned();
                scribe.notice(Notice::new(Topic::Task).with_name(what).with_text(text));
            }
            _ => {}
        }
    }

    fn answer(&mut self, line: &Line<'_>, scribe: &mut Scribe) {
        let text = said::text(&line.fields);
        let refusals = line.fields.array("content").into_iter().filter_map(|part| part.object().filled("refusal"));
        let refusal = refusals.collect::<Vec<_>>().concat();
        let refused = text.is_empty() && !refusal.is_empty();
        let message = AgentMessage {
            phase: line.fields.filled("phase"),
            refusal: refused,
            ..AgentMessage::text(if refused { refusal.into() } else { text })
        };
        self.say(Voice::Agent, Way::Item, line, line.fields.filled("id"), message, scribe);
    }

    /// A message to the model: of a person, of the agent's host, of the one who set it up.
    fn told(&mut self, line: &Line<'_>, scribe: &mut Scribe) {
        let message = user_message(&line.fields);
        if !self.prompt(line, &message, scribe) {
            self.put(line.fields.filled("id"), Item::new(UserMessage { synthetic: true, ..message }), scribe);
            if let Some(cwd) = said::folder(line).filter(|_| scribe.cwd().is_none()) {
                scribe.info(Info { cwd: Some(cwd), ..Info::default() });
            }
        }
    }

    /// What a person says, if the record has it.
    fn prompt(&mut self, line: &Line<'_>, message: &UserMessage, scribe: &mut Scribe) -> bool {
        let Some((way, text)) = said::prompt(line) else { return false };
        if self.said.again(Voice::User, way, &text, line.at) {
            echo(line, scribe);
            return true;
        }
        self.account.prompted(&text, line.at);
        self.turns.prompted(scribe);
        self.put(line.fields.filled("id"), Item::new(message.clone()), scribe);
        true
    }

    /// `reasoning`. What an event has told of it is left out; what nobody can read is a thought all the same.
    fn thought(&mut self, line: &Line<'_>, scribe: &mut Scribe) {
        let mut new = |key: &str| -> Vec<String> {
            let texts = said::texts(&line.fields.array(key));
            let texts = texts.into_iter().filter(|text| !self.said.again(Voice::Thought, Way::Item, text, line.at));
            texts.map(std::borrow::Cow::into_owned).collect()
        };
        let had = !line.fields.array("summary").is_empty() || !line.fields.array("content").is_empty();
        let (summary, text) = (new("summary"), new("content"));
        if had && summary.is_empty() && text.is_empty() {
            return echo(line, scribe);
        }
        let join = |parts: Vec<String>| (!parts.is_empty()).then(|| parts.join("\n"));
        let thought = Reasoning {
            redacted: !had && line.fields.has("encrypted_content"),
            summary: join(summary),
            text: join(text),
            ..Reasoning::default()
        };
        let reply = self.turns.work(scribe);
        self.put(line.fields.filled("id"), Item { reply: Some(reply), ..Item::new(thought) }, scribe);
    }

    /// What the model's provider does by itself has no answer.
    fn made(&mut self, kind: &str, line: &Line<'_>, scribe: &mut Scribe) {
        let id = line.fields.filled("id").unwrap_or_default();
        if self.said.again(Voice::Agent, Way::Item, &id, line.at) && !id.is_empty() {
            return echo(line, scribe);
        }
        let reply = self.turns.work(scribe);
        let item = items::item(kind, line.payload, None, scribe);
        self.put(Some(id), Item { reply: Some(reply), ..item }, scribe);
    }

    fn say(
        &mut self,
        voice: Voice,
        way: Way,
        line: &Line<'_>,
        id: Option<String>,
        message: AgentMessage,
        scribe: &mut Scribe,
    ) {
        if self.said.again(voice, way, &message.text, line.at) {
            return echo(line, scribe);
        }
        let reply = self.turns.work(scribe);
        self.put(id, Item { reply: Some(reply), ..Item::new(message) }, scribe);
    }

    fn put(&mut self, id: Option<String>, item: Item, scribe: &mut Scribe) {
        let id = id.filter(|id| !id.is_empty()).map_or_else(|| scribe.local_id("said"), Id::from);
        scribe.item_completed(&id, item);
    }

    /// Something that an event says: `user_message`, `agent_message`, `agent_reasoning`.
    pub(super) fn speech(&mut self, what: &str, line: &Line<'_>, scribe: &mut Scribe) {
        let native = &line.fields;
        let text = super::super::names::text(native, &["message", "text"]).unwrap_or_default();
        match what {
            "user_message" => {
                if !self.prompt(line, &UserMessage::text(text), scribe) {
                    echo(line, scribe);
                }
            }
            "agent_message" => {
                let message = AgentMessage { phase: native.filled("phase"), ..AgentMessage::text(text) };
                self.say(Voice::Agent, Way::Event, line, None, message, scribe);
            }
            _ => self.muse(vec![text.into_owned()], what == "agent_reasoning", None, line, scribe),
        }
    }

    fn muse(&mut self, parts: Vec<String>, summary: bool, id: Option<String>, line: &Line<'_>, scribe: &mut Scribe) {
        let new = |part: &String| !self.said.again(Voice::Thought, Way::Event, part, line.at);
        let parts: Vec<_> = parts.into_iter().filter(new).collect();
        if parts.is_empty() {
            return echo(line, scribe);
        }
        let text = Some(parts.join("\n"));
        let thought = match summary {
            true => Reasoning { summary: text, ..Reasoning::default() },
            false => Reasoning { text, ..Reasoning::default() },
        };
        let reply = self.turns.work(scribe);
        self.put(id, Item { reply: Some(reply), ..Item::new(thought) }, scribe);
    }

    /// `item_completed`.
    pub(super) fn completed(&mut self, line: &Line<'_>, scribe: &mut Scribe) {
        let Some(native) = line.fields.get("item") else { return };
        let fields = native.object();
        let id = fields.filled("id");
        match fields.str("type").as_deref() {
            Some("UserMessage") => {
                self.prompt(line, &user_message(&fields), scribe);
            }
            Some("AgentMessage") => {
                let phase = fields.filled("phase");
                let message = AgentMessage { phase, ..AgentMessage::text(said::text(&fields)) };
                self.say(Voice::Agent, Way::Event, line, id, message, scribe);
            }
            Some("Reasoning") => self.mused(&fields, line, scribe),
            Some("ContextCompaction") => scribe.notice(Notice::new(Topic::Compaction).with_name("ContextCompaction")),
            _ => self.ended(ends::completed(native), line, scribe),
        }
    }

    fn mused(&mut self, fields: &Object<'_>, line: &Line<'_>, scribe: &mut Scribe) {
        let (summary, text) = (fields.strings("summary_text"), fields.strings("raw_content"));
        if !summary.is_empty() {
            self.muse(summary, true, fields.filled("id"), line, scribe);
        }
        if !text.is_empty() {
            self.muse(text, false, fields.filled("id"), line, scribe);
        }
    }

    /// The end of a tool, as an event tells it.
    pub(super) fn ended(&mut self, end: Option<ends::End<'_>>, line: &Line<'_>, scribe: &mut Scribe) {
        let Some(end) = end else { return };
        let provided = matches!(end.kind.as_str(), "webSearch" | "imageGeneration");
        if provided && self.said.again(Voice::Agent, Way::Event, &end.id, line.at) {
            return echo(line, scribe);
        }
        if !scribe.in_turn() {
            return scribe.notice_about(Some(end.id), Notice::new(Topic::Late).with_name("item_completed"));
        }
        let reply = self.turns.work(scribe);
        ends::tell(&end, Some(reply), scribe);
    }
}

/// A message with its content, or with a text of its own where it has none.
fn user_message(fields: &Object<'_>) -> UserMessage {
    match said::content(fields) {
        Some(content) => user::message(Some(content)),
        None => UserMessage::text(said::text(fields)),
    }
}

/// The same was told before.
fn echo(line: &Line<'_>, scribe: &mut Scribe) {
    scribe.notice(Notice::new(Topic::Echo).with_name(line.what()));
}
