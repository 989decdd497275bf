//! `session.next.*`: the events of newer sessions. They repeat nothing: every event is one step of a reply. There is no
//! idle event; a turn is over when the model finishes its last reply.

use switchboard_event::{
    Call, Command, Content, Details, ErrorCode, Id, Info, Item, Level, Notice, Origin, SessionStatus, Status, Tool,
    Topic,
};

use super::{
    bus::BusReader,
    calls::{CallPhase, CallState, PendingCall, call_key},
    errors, messages, offers,
    parts::{
        SpeechKind, {self},
    },
    status, turn,
};
use crate::{JsonObject, JsonView, RunRecorder};

impl BusReader {
    /// Reads one event, by its name after `session.next.`.
    pub(super) fn next(&mut self, kind: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match kind {
            "prompted" => self.next_prompted(fields, recorder),
            "prompt.admitted" => recorder.write_notice(echo(kind)),
            "synthetic" => self.next_synthetic(fields, recorder),
            "shell.started" => self.next_shell(fields, recorder),
            "shell.ended" => self.next_shell_ended(fields, recorder),
            "step.started" => self.next_step(fields, recorder),
            "step.ended" => self.next_step_ended(fields, recorder),
            "step.failed" => self.next_step_failed(fields, recorder),
            "retried" => recorder.write_notice(retried(fields)),
            "agent.switched" => {
                self.next_info(Info { mode: fields.get_non_empty("agent"), ..Info::default() }, recorder)
            }
            "model.switched" => self.next_model(&fields.get_object("model"), recorder),
            "moved" => {
                let cwd = fields.get_object("location").get_non_empty("directory");
                self.next_info(Info { cwd, ..Info::default() }, recorder);
            }
            "revert.staged" | "revert.committed" => recorder.write_notice(reverted(kind, fields)),
            _ => self.next_stream(kind, fields, recorder),
        }
    }

    /// Reads the events that stream content.
    fn next_stream(&mut self, kind: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match kind.split_once('.') {
            Some(("text", stage)) => self.next_speech(SpeechKind::Answer, "text", stage, fields, recorder),
            Some(("reasoning", stage)) => self.next_speech(SpeechKind::Thought, "reasoning", stage, fields, recorder),
            Some(("tool", stage)) => self.next_tool(stage, fields, recorder),
            Some(("compaction", stage)) => self.next_compaction(stage, fields, recorder),
            _ => {}
        }
    }

    fn next_prompted(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let message = Id::from(fields.get_str("messageID").unwrap_or_default());
        if self.ended.has(&message) {
            return recorder.write_notice(echo("prompted"));
        }
        let prompt = fields.get_object("prompt");
        self.write_user_message(
            &message,
            &message,
            Content::text(prompt.get_string("text").unwrap_or_default()),
            false,
            recorder,
        );
        for (number, file) in prompt.get_array("files").into_iter().enumerate() {
            let id = Id::from(format!("{message}/{number}"));
            self.write_user_message(&id, &message, messages::file(&file.as_object()), false, recorder);
        }
    }

    fn next_synthetic(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let message = Id::from(fields.get_str("messageID").unwrap_or_default());
        self.write_user_message(
            &message,
            &message,
            Content::text(fields.get_string("text").unwrap_or_default()),
            true,
            recorder,
        );
    }

    fn next_info(&mut self, info: Info, recorder: &mut RunRecorder) {
        if self.main {
            recorder.update_info(info);
        }
    }

    fn next_model(&mut self, model: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.write_notice(Notice { name: model.get_non_empty("id"), ..Notice::new(Topic::ModelChanged) });
        self.next_info(model_of(model), recorder);
    }

    /// A command that the user runs without the model.
    fn next_shell(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let message = Id::from(fields.get_str("messageID").unwrap_or_default());
        if self.main {
            self.turn.begin_prompted_turn(&message, Origin::Command, None, recorder);
        }
        let command = Command {
            command: fields.get_string("command").unwrap_or_default(),
            cwd: recorder.working_directory().map(str::to_owned),
            ..Command::default()
        };
        recorder.item_started(&Id::from(fields.get_str("callID").unwrap_or_default()), Item::new(command));
    }

    fn next_shell_ended(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(fields.get_str("callID").unwrap_or_default());
        let Some(mut item) = recorder.open_item(&id).cloned() else {
            return self.report_late_update(&id, "shell.ended", recorder);
        };
        if let Details::Command(command) = &mut item.details {
            command.output = fields.get_string("output").unwrap_or_default();
        }
        recorder.item_completed(&id, item.with_status(Status::Completed));
        self.next_end(recorder);
    }

    /// Ends the turn: no further events belong to it.
    fn next_end(&mut self, recorder: &mut RunRecorder) {
        if self.main {
            self.turn.mark_busy(false);
            self.turn.mark_idle();
            self.settle(recorder);
        }
    }

    fn next_step(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let mode = fields.get_non_empty("agent");
        if self.main {
            self.turn.ensure_begun(recorder);
            (self.turn.fault, self.turn.finish) = (None, None);
        }
        recorder.write_notice(parts::started());
        self.next_info(Info { mode, ..model_of(&fields.get_object("model")) }, recorder);
    }

    fn next_step_ended(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let message = fields.get_str("assistantMessageID").unwrap_or_default();
        // The durable log replays events to new readers. A step counts once.
        let step = call_key(&message, "step");
        if self.ended.has(&step) {
            return recorder.write_notice(echo("step.ended"));
        }
        self.ended.insert(step, ());
        let usage = parts::usage(fields, &message, 1, recorder.current_model().map(offers::bare).map(str::to_owned));
        recorder.write_notice(parts::finished(fields));
        let finish = fields.get_non_empty("finish");
        if self.main {
            self.turn.ensure_begun(recorder);
            self.turn.add_step_cost(usage.cost_usd);
            self.turn.finish.clone_from(&finish);
        }
        recorder.record_usage(usage);
        if finish.as_deref().is_some_and(turn::ends_turn) {
            self.next_end(recorder);
        }
    }

    fn next_step_failed(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.write_notice(Notice::new(Topic::Step).with_level(Level::Debug).with_status("failed"));
        if self.main {
            self.turn.ensure_begun(recorder);
            self.turn.fault = fields.get("error").map(errors::fault);
            if self.turn.fault.as_ref().is_some_and(|fault| fault.code == ErrorCode::Aborted) {
                recorder.mark_interrupted();
            }
        }
        self.next_end(recorder);
    }

    fn next_compaction(&mut self, stage: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match stage {
            "started" => {
                let name = fields.get_non_empty("reason");
                recorder.write_notice(Notice { name, ..Notice::new(Topic::Compaction).with_status("started") });
                if self.main {
                    status::report_status(SessionStatus::Compacting, recorder);
                }
            }
            "ended" => {
                let text = fields.get_non_empty("text");
                recorder.write_notice(Notice { text, ..Notice::new(Topic::Compaction).with_status("completed") });
                if self.main {
                    let resting = if recorder.in_turn() { SessionStatus::Running } else { SessionStatus::Idle };
                    status::report_status(resting, recorder);
                }
            }
            _ => {}
        }
    }
}

fn model_of(model: &JsonObject<'_>) -> Info {
    let provider = model.get_non_empty("providerID");
    Info { model: offers::full(provider.clone(), model.get_non_empty("id")), provider, ..Info::default() }
}

/// Returns the notice for a repeated event.
fn echo(name: &str) -> Notice {
    Notice::new(Topic::Echo).with_level(Level::Debug).with_name(name)
}

fn retried(fields: &JsonObject<'_>) -> Notice {
    let fault = fields.get("error").map(errors::fault);
    let notice = Notice::new(Topic::Retry).with_level(Level::Warning);
    Notice { text: fault.as_ref().map(|fault| fault.message.clone()), error: fault, ..notice }
}

fn reverted(kind: &str, fields: &JsonObject<'_>) -> Notice {
    let notice = Notice::new(Topic::Retracted).with_name(kind);
    Notice { detail: fields.get_raw("revert").or_else(|| fields.get("messageID").map(JsonView::to_raw)), ..notice }
}

impl BusReader {
    /// Reads text or reasoning.
    fn next_speech(
        &mut self,
        voice: SpeechKind,
        key: &str,
        stage: &str,
        fields: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let reply = Id::from(fields.get_str("assistantMessageID").unwrap_or_default());
        let id = call_key(&reply, &fields.get_str(&format!("{key}ID")).unwrap_or_default());
        if self.ended.has(&id) {
            return self.report_late_update(&id, &format!("{key}.{stage}"), recorder);
        }
        if self.main {
            self.turn.ensure_begun(recorder);
        }
        if !recorder.item_is_open(&id) {
            parts::begin(&id, voice, Some(&reply), recorder);
        }
        match stage {
            "delta" => {
                parts::grow(&id, &fields.get_str("delta").unwrap_or_default(), recorder);
            }
            "ended" => {
                let text = fields.get_str("text").unwrap_or_default();
                parts::whole(&id, voice, &text, Some(&reply), recorder);
                parts::end(&id, voice, &text, Some(&reply), None, recorder);
                self.ended.insert(id, ());
            }
            _ => {}
        }
    }

    fn next_tool(&mut self, stage: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let reply = Id::from(fields.get_str("assistantMessageID").unwrap_or_default());
        let id = call_key(&reply, &fields.get_str("callID").unwrap_or_default());
        if self.ended.has(&id) {
            return self.report_late_update(&id, &format!("tool.{stage}"), recorder);
        }
        if self.main {
            self.turn.ensure_begun(recorder);
        }
        match stage {
            "called" => self.next_called(&id, &reply, fields, recorder),
            "progress" => self.next_news(&id, &reply, CallPhase::Running, fields, recorder),
            "success" => self.next_news(&id, &reply, CallPhase::Completed, fields, recorder),
            "failed" => self.next_news(&id, &reply, CallPhase::Failed, fields, recorder),
            "input.started" => {
                let tool = fields.get_string("name").unwrap_or_default();
                let notice = Notice::new(Topic::Control).with_level(Level::Debug).with_name(tool.clone());
                self.calls.insert(id.clone(), PendingCall { part: id.clone(), tool, diff: None });
                recorder.write_notice_about(Some(id), notice.with_status("pending"));
            }
            _ => {}
        }
    }

    fn next_called(&mut self, id: &Id, reply: &Id, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let state = CallState {
            tool: fields.get_str("tool").unwrap_or_default(),
            phase: CallPhase::Running,
            input: fields.get("input"),
            title: None,
            output: "".into(),
            error: None,
            meta: JsonObject::default(),
            files: Vec::new(),
            took: None,
        };
        if !self.calls.has(id) {
            self.calls.insert(id.clone(), PendingCall { part: id.clone(), tool: state.tool.to_string(), diff: None });
        }
        self.tool_running(id, id, reply, &state, recorder);
    }

    fn next_news(
        &mut self,
        id: &Id,
        reply: &Id,
        phase: CallPhase,
        fields: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let named = || self.calls.get(id).map(|pending| pending.tool.clone()).unwrap_or_default();
        let known = recorder.open_item(id).cloned().unwrap_or_else(|| failed_call_item(named()));
        let mut state = CallState::from_update(&known, phase, fields);
        state.error = fields.get("error").map(|error| errors::fault(error).message);
        match phase {
            CallPhase::Running => self.tool_running(id, id, reply, &state, recorder),
            _ => self.tool_ended(id, id, reply, &state, recorder),
        }
    }
}

/// Returns the item of a call that failed before its input was complete.
fn failed_call_item(tool: String) -> Item {
    let call = Call { name: tool, ..Call::default() };
    Item::new(Tool::default()).with_call(call)
}
