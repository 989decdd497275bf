//! `session.next.*`: what newer sessions say. Nothing is repeated there, every event is one step of a reply; there
//! is no idle, a turn is over when the model has said its last word.

use switchboard_event::{
    Command, Content, Details, ErrorCode, Id, Info, Item, Level, Notice, Origin, SessionStatus, Status, Topic,
};

use super::{bus::Bus, calls::call_key, errors, offers, prompts, speech::Voice, status, steps, turn};
use crate::{Json, Object, Scribe};

impl Bus {
    /// One event, by its name after `session.next.`.
    pub(super) fn next(&mut self, kind: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        match kind {
            "prompted" => self.next_prompted(fields, scribe),
            "prompt.admitted" => scribe.notice(echo(kind)),
            "synthetic" => self.next_synthetic(fields, scribe),
            "shell.started" => self.next_shell(fields, scribe),
            "shell.ended" => self.next_shell_ended(fields, scribe),
            "step.started" => self.next_step(fields, scribe),
            "step.ended" => self.next_step_ended(fields, scribe),
            "step.failed" => self.next_step_failed(fields, scribe),
            "retried" => scribe.notice(retried(fields)),
            "agent.switched" => self.next_info(Info { mode: fields.filled("agent"), ..Info::default() }, scribe),
            "model.switched" => self.next_model(&fields.object("model"), scribe),
            "moved" => {
                let cwd = fields.object("location").filled("directory");
                self.next_info(Info { cwd, ..Info::default() }, scribe);
            }
            "revert.staged" | "revert.committed" => scribe.notice(reverted(kind, fields)),
            _ => self.next_stream(kind, fields, scribe),
        }
    }

    /// What comes piece by piece.
    fn next_stream(&mut self, kind: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        match kind.split_once('.') {
            Some(("text", stage)) => self.next_speech(Voice::Answer, "text", stage, fields, scribe),
            Some(("reasoning", stage)) => self.next_speech(Voice::Thought, "reasoning", stage, fields, scribe),
            Some(("tool", stage)) => self.next_tool(stage, fields, scribe),
            Some(("compaction", stage)) => self.next_compaction(stage, fields, scribe),
            _ => {}
        }
    }

    fn next_prompted(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let message = Id::from(fields.str("messageID").unwrap_or_default());
        if self.ended.has(&message) {
            return scribe.notice(echo("prompted"));
        }
        let prompt = fields.object("prompt");
        self.said(&message, &message, Content::text(prompt.string("text").unwrap_or_default()), false, scribe);
        for (number, file) in prompt.array("files").into_iter().enumerate() {
            let id = Id::from(format!("{message}/{number}"));
            self.said(&id, &message, prompts::file(&file.object()), false, scribe);
        }
    }

    fn next_synthetic(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let message = Id::from(fields.str("messageID").unwrap_or_default());
        self.said(&message, &message, Content::text(fields.string("text").unwrap_or_default()), true, scribe);
    }

    fn next_info(&mut self, info: Info, scribe: &mut Scribe) {
        if self.main {
            scribe.info(info);
        }
    }

    fn next_model(&mut self, model: &Object<'_>, scribe: &mut Scribe) {
        scribe.notice(Notice { name: model.filled("id"), ..Notice::new(Topic::ModelChanged) });
        self.next_info(model_of(model), scribe);
    }

    /// A command that the user runs, without the model.
    fn next_shell(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let message = Id::from(fields.str("messageID").unwrap_or_default());
        if self.main {
            self.turn.prompted(&message, Origin::Command, None, scribe);
        }
        let command = Command {
            command: fields.string("command").unwrap_or_default(),
            cwd: scribe.cwd().map(str::to_owned),
            ..Command::default()
        };
        scribe.item_started(&Id::from(fields.str("callID").unwrap_or_default()), Item::new(command));
    }

    fn next_shell_ended(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let id = Id::from(fields.str("callID").unwrap_or_default());
        let Some(mut item) = scribe.item(&id).cloned() else {
            return self.late(&id, "shell.ended", scribe);
        };
        if let Details::Command(command) = &mut item.details {
            command.output = fields.string("output").unwrap_or_default();
        }
        scribe.item_completed(&id, item.with_status(Status::Completed));
        self.next_end(scribe);
    }

    /// Nothing more comes in this turn.
    fn next_end(&mut self, scribe: &mut Scribe) {
        if self.main {
            self.turn.busy(false);
            self.turn.rest();
            self.settle(scribe);
        }
    }

    fn next_step(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let mode = fields.filled("agent");
        if self.main {
            self.turn.ensure(scribe);
            (self.turn.fault, self.turn.finish) = (None, None);
        }
        scribe.notice(steps::started());
        self.next_info(Info { mode, ..model_of(&fields.object("model")) }, scribe);
    }

    fn next_step_ended(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let message = fields.str("assistantMessageID").unwrap_or_default();
        // The durable log gives events again to whoever asks; a step counts once.
        let step = call_key(&message, "step");
        if self.ended.has(&step) {
            return scribe.notice(echo("step.ended"));
        }
        self.ended.insert(step, ());
        let usage = steps::usage(fields, &message, 1, scribe.model().map(offers::bare).map(str::to_owned));
        scribe.notice(steps::finished(fields));
        let finish = fields.filled("finish");
        if self.main {
            self.turn.ensure(scribe);
            self.turn.stepped(usage.cost_usd);
            self.turn.finish.clone_from(&finish);
        }
        scribe.usage(usage);
        if finish.as_deref().is_some_and(turn::ends_turn) {
            self.next_end(scribe);
        }
    }

    fn next_step_failed(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.notice(Notice::new(Topic::Step).with_level(Level::Debug).with_status("failed"));
        if self.main {
            self.turn.ensure(scribe);
            self.turn.fault = fields.get("error").map(errors::fault);
            if self.turn.fault.as_ref().is_some_and(|fault| fault.code == ErrorCode::Aborted) {
                scribe.interrupted();
            }
        }
        self.next_end(scribe);
    }

    fn next_compaction(&mut self, stage: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        match stage {
            "started" => {
                let name = fields.filled("reason");
                scribe.notice(Notice { name, ..Notice::new(Topic::Compaction).with_status("started") });
                if self.main {
                    status::doing(SessionStatus::Compacting, scribe);
                }
            }
            "ended" => {
                let text = fields.filled("text");
                scribe.notice(Notice { text, ..Notice::new(Topic::Compaction).with_status("completed") });
                if self.main {
                    let resting = if scribe.in_turn() { SessionStatus::Running } else { SessionStatus::Idle };
                    status::doing(resting, scribe);
                }
            }
            _ => {}
        }
    }
}

fn model_of(model: &Object<'_>) -> Info {
    let provider = model.filled("providerID");
    Info { model: offers::full(provider.clone(), model.filled("id")), provider, ..Info::default() }
}

/// Something that was said before.
fn echo(name: &str) -> Notice {
    Notice::new(Topic::Echo).with_level(Level::Debug).with_name(name)
}

fn retried(fields: &Object<'_>) -> Notice {
    let fault = fields.get("error").map(errors::fault);
    let notice = Notice::new(Topic::Retry).with_level(Level::Warning);
    Notice { text: fault.as_ref().map(|fault| fault.message.clone()), error: fault, ..notice }
}

fn reverted(kind: &str, fields: &Object<'_>) -> Notice {
    let notice = Notice::new(Topic::Retracted).with_name(kind);
    Notice { detail: fields.raw("revert").or_else(|| fields.get("messageID").map(Json::to_raw)), ..notice }
}
