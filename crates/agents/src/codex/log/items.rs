//! Messages and reasoning: items of the model's API, the events that repeat them, and other events for user interfaces.

use switchboard_event::{AgentMessage, Id, Info, Item, Level, Notice, Reasoning, Topic, UserMessage};

use super::{
    RolloutReader,
    messages::{self, MessageForm, MessageSpeaker},
    record::{self, RolloutRecord},
    tool_calls,
};
use crate::{
    JsonObject, RunRecorder,
    codex::{errors, first_str, items},
};

impl RolloutReader {
    /// Reads `response_item`.
    pub(super) fn read_item(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let (native, what) = (&line.fields, line.payload_type());
        if record::is_model_output(&what, native) {
            self.account.note_model_output();
        }
        match &*what {
            "message" if native.str_equals("role", "assistant") => self.read_assistant_message(line, recorder),
            "message" => self.read_input_message(line, recorder),
            "reasoning" => self.read_reasoning(line, recorder),
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
                let reply = self.turns.note_work(recorder);
                if let Some((id, item)) = tool_calls::parse_call(&what, native, recorder) {
                    recorder.item_started(&id, Item { reply: Some(reply), ..item });
                }
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
                tool_calls::complete_call(&what, native, recorder);
            }
            "web_search_call" => self.read_provider_call("webSearch", line, recorder),
            "image_generation_call" => self.read_provider_call("imageGeneration", line, recorder),
            "ghost_snapshot" => recorder.write_notice(Notice::new(Topic::Snapshot).with_name("ghost_snapshot")),
            "compaction" | "context_compaction" => {
                recorder.write_notice(Notice::new(Topic::Compaction).with_name(what))
            }
            "agent_message" => {
                let text = messages::message_text(native).into_owned();
                recorder.write_notice(Notice::new(Topic::Task).with_name(what).with_text(text));
            }
            _ => {}
        }
    }

    fn read_assistant_message(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let text = messages::message_text(&line.fields);
        let refusals =
            line.fields.get_array("content").into_iter().filter_map(|part| part.as_object().get_non_empty("refusal"));
        let refusal = refusals.collect::<Vec<_>>().concat();
        let refused = text.is_empty() && !refusal.is_empty();
        let message = AgentMessage {
            phase: line.fields.get_non_empty("phase"),
            refusal: refused,
            ..AgentMessage::text(if refused { refusal.into() } else { text })
        };
        self.add_agent_message(
            MessageSpeaker::Agent,
            MessageForm::Item,
            line,
            line.fields.get_non_empty("id"),
            message,
            recorder,
        );
    }

    /// Reads a message to the model: from a person, the host or the developer.
    fn read_input_message(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let message = rollout_user_message(&line.fields);
        if !self.read_prompt(line, &message, recorder) {
            self.add_item(
                line.fields.get_non_empty("id"),
                Item::new(UserMessage { synthetic: true, ..message }),
                recorder,
            );
            if let Some(cwd) = messages::environment_cwd(line).filter(|_| recorder.working_directory().is_none()) {
                recorder.update_info(Info { cwd: Some(cwd), ..Info::default() });
            }
        }
    }

    /// Reads the message of a person, if the record has one. Returns whether it does.
    fn read_prompt(&mut self, line: &RolloutRecord<'_>, message: &UserMessage, recorder: &mut RunRecorder) -> bool {
        let Some((way, text)) = messages::find_prompt(line) else { return false };
        if self.said.is_repeat(MessageSpeaker::User, way, &text, line.at) {
            report_echo(line, recorder);
            return true;
        }
        self.account.note_prompt(&text, line.at);
        self.turns.note_prompt(recorder);
        self.add_item(line.fields.get_non_empty("id"), Item::new(message.clone()), recorder);
        true
    }

    /// Reads `reasoning`. Texts that an event has already reported are skipped; encrypted reasoning still produces an
    /// item.
    fn read_reasoning(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let mut new = |key: &str| -> Vec<String> {
            let texts = messages::part_texts(&line.fields.get_array(key));
            let texts = texts
                .into_iter()
                .filter(|text| !self.said.is_repeat(MessageSpeaker::Thought, MessageForm::Item, text, line.at));
            texts.map(std::borrow::Cow::into_owned).collect()
        };
        let had = !line.fields.get_array("summary").is_empty() || !line.fields.get_array("content").is_empty();
        let (summary, text) = (new("summary"), new("content"));
        if had && summary.is_empty() && text.is_empty() {
            return report_echo(line, recorder);
        }
        let join = |parts: Vec<String>| (!parts.is_empty()).then(|| parts.join("\n"));
        let thought = Reasoning {
            redacted: !had && line.fields.contains_key("encrypted_content"),
            summary: join(summary),
            text: join(text),
            ..Reasoning::default()
        };
        let reply = self.turns.note_work(recorder);
        self.add_item(line.fields.get_non_empty("id"), Item { reply: Some(reply), ..Item::new(thought) }, recorder);
    }

    /// Reads a tool call that the model's provider runs, which has no result.
    fn read_provider_call(&mut self, kind: &str, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let id = line.fields.get_non_empty("id").unwrap_or_default();
        if self.said.is_repeat(MessageSpeaker::Agent, MessageForm::Item, &id, line.at) && !id.is_empty() {
            return report_echo(line, recorder);
        }
        let reply = self.turns.note_work(recorder);
        let item = items::parse_item(kind, line.payload, None, recorder);
        self.add_item(Some(id), Item { reply: Some(reply), ..item }, recorder);
    }

    fn add_agent_message(
        &mut self,
        voice: MessageSpeaker,
        way: MessageForm,
        line: &RolloutRecord<'_>,
        id: Option<String>,
        message: AgentMessage,
        recorder: &mut RunRecorder,
    ) {
        if self.said.is_repeat(voice, way, &message.text, line.at) {
            return report_echo(line, recorder);
        }
        let reply = self.turns.note_work(recorder);
        self.add_item(id, Item { reply: Some(reply), ..Item::new(message) }, recorder);
    }

    fn add_item(&mut self, id: Option<String>, item: Item, recorder: &mut RunRecorder) {
        let id = id.filter(|id| !id.is_empty()).map_or_else(|| recorder.local_id("said"), Id::from);
        recorder.item_completed(&id, item);
    }

    /// Reads a message or reasoning from an event, such as `agent_message`.
    fn read_speech_event(&mut self, what: &str, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let native = &line.fields;
        let text = first_str(native, &["message", "text"]).unwrap_or_default();
        match what {
            "user_message" => {
                if !self.read_prompt(line, &UserMessage::text(text), recorder) {
                    report_echo(line, recorder);
                }
            }
            "agent_message" => {
                let message = AgentMessage { phase: native.get_non_empty("phase"), ..AgentMessage::text(text) };
                self.add_agent_message(MessageSpeaker::Agent, MessageForm::Event, line, None, message, recorder);
            }
            _ => self.add_reasoning(vec![text.into_owned()], what == "agent_reasoning", None, line, recorder),
        }
    }

    fn add_reasoning(
        &mut self,
        parts: Vec<String>,
        summary: bool,
        id: Option<String>,
        line: &RolloutRecord<'_>,
        recorder: &mut RunRecorder,
    ) {
        let new = |part: &String| !self.said.is_repeat(MessageSpeaker::Thought, MessageForm::Event, part, line.at);
        let parts: Vec<_> = parts.into_iter().filter(new).collect();
        if parts.is_empty() {
            return report_echo(line, recorder);
        }
        let text = Some(parts.join("\n"));
        let thought = match summary {
            true => Reasoning { summary: text, ..Reasoning::default() },
            false => Reasoning { text, ..Reasoning::default() },
        };
        let reply = self.turns.note_work(recorder);
        self.add_item(id, Item { reply: Some(reply), ..Item::new(thought) }, recorder);
    }

    /// Reads `item_completed`.
    fn read_completed_item(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let Some(native) = line.fields.get("item") else { return };
        let fields = native.as_object();
        let id = fields.get_non_empty("id");
        match fields.get_str("type").as_deref() {
            Some("UserMessage") => {
                self.read_prompt(line, &rollout_user_message(&fields), recorder);
            }
            Some("AgentMessage") => {
                let phase = fields.get_non_empty("phase");
                let message = AgentMessage { phase, ..AgentMessage::text(messages::message_text(&fields)) };
                self.add_agent_message(MessageSpeaker::Agent, MessageForm::Event, line, id, message, recorder);
            }
            Some("Reasoning") => self.read_completed_reasoning(&fields, line, recorder),
            Some("ContextCompaction") => {
                recorder.write_notice(Notice::new(Topic::Compaction).with_name("ContextCompaction"))
            }
            _ => self.read_tool_end(tool_calls::parse_completed_item(native), line, recorder),
        }
    }

    fn read_completed_reasoning(
        &mut self,
        fields: &JsonObject<'_>,
        line: &RolloutRecord<'_>,
        recorder: &mut RunRecorder,
    ) {
        let (summary, text) = (fields.get_strings("summary_text"), fields.get_strings("raw_content"));
        if !summary.is_empty() {
            self.add_reasoning(summary, true, fields.get_non_empty("id"), line, recorder);
        }
        if !text.is_empty() {
            self.add_reasoning(text, false, fields.get_non_empty("id"), line, recorder);
        }
    }

    /// Reads the end of a tool, as reported by an event.
    fn read_tool_end(
        &mut self,
        end: Option<tool_calls::RolloutToolEnd<'_>>,
        line: &RolloutRecord<'_>,
        recorder: &mut RunRecorder,
    ) {
        let Some(end) = end else { return };
        let provided = matches!(end.kind.as_str(), "webSearch" | "imageGeneration");
        if provided && self.said.is_repeat(MessageSpeaker::Agent, MessageForm::Event, &end.id, line.at) {
            return report_echo(line, recorder);
        }
        if !recorder.in_turn() {
            return recorder.write_notice_about(Some(end.id), Notice::new(Topic::Late).with_name("item_completed"));
        }
        let reply = self.turns.note_work(recorder);
        tool_calls::apply_tool_end(&end, Some(reply), recorder);
    }
}

/// Returns a message with its content, else with its own text.
fn rollout_user_message(fields: &JsonObject<'_>) -> UserMessage {
    match messages::message_content(fields) {
        Some(content) => items::parse_user_message(Some(content)),
        None => UserMessage::text(messages::message_text(fields)),
    }
}

/// Reports a record that repeats another.
fn report_echo(line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
    recorder.write_notice(Notice::new(Topic::Echo).with_name(line.payload_type()));
}

impl RolloutReader {
    pub(super) fn read_event(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let (fields, what) = (&line.fields, line.payload_type());
        match &*what {
            "token_count" => self.read_token_count(line, recorder),
            "task_started" | "turn_started" => {
                self.account.enter_turn(fields.get_non_empty("turn_id").as_deref(), line.at);
                self.turns.start_turn(fields, self.account.is_copied(line.at), recorder);
            }
            "task_complete" | "turn_complete" => self.turns.end_turn(false, fields, recorder),
            "turn_aborted" => self.turns.end_turn(true, fields, recorder),
            "item_completed" => self.read_completed_item(line, recorder),
            "user_message" => self.read_speech_event(&what, line, recorder),
            "agent_message" | "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.account.note_model_output();
                self.read_speech_event(&what, line, recorder);
            }
            "thread_settings_applied" => {
                let settings = fields.get_object("thread_settings");
                recorder.update_info(Info {
                    cwd: settings.get_non_empty("cwd"),
                    model: settings.get_non_empty("model"),
                    ..Info::default()
                });
            }
            "thread_name_updated" => {
                recorder.update_info(Info { title: fields.get_non_empty("thread_name"), ..Info::default() })
            }
            "context_compacted" => recorder.write_notice(Notice::new(Topic::Compaction).with_name(what)),
            "thread_rolled_back" => {
                let turns = fields.get_count("num_turns");
                recorder.write_notice(
                    Notice::new(Topic::Retracted).with_name(what).with_text(format!("{turns} turns taken back")),
                );
            }
            "error" | "stream_error" | "warning" => {
                let fault = errors::from_turn(fields);
                let level = if what == "error" { Level::Error } else { Level::Warning };
                let notice = Notice::new(Topic::Warning).with_level(level).with_name(what);
                recorder.write_notice(Notice { error: Some(fault.clone()), ..notice.with_text(fault.message) });
            }
            other => self.read_tool_end(tool_calls::parse_end_event(other, line.payload), line, recorder),
        }
    }
}
