//! Script: a built-in agent without a process. It performs its prompt line by line, so that clients, tests and demos
//! see every kind of event. It accesses no files and starts no programs: its results are simulated and always the same.

mod actions;
mod driver;
mod offers;
mod requests;
mod verb;

#[cfg(test)]
mod tests;

pub use driver::AGENT;
use offers::ScriptSelections;
use requests::PendingScriptRequest;
use switchboard_event::{
    Dir, Fault, Id, Info, Item, Level, Notice, Origin, Scope, Stop, Topic, TurnCompleted, TurnStarted, TurnStatus,
    Usage, UserMessage,
};
use verb::ScriptVerb;

use crate::{EngineNote, JsonObject, JsonView, RecordReader, RecordSource, RunRecorder};

/// Record sources of the script agent.
pub const SOURCES: &[RecordSource] = &[RecordSource {
    name: "script",
    agent: "script",
    title: "built in: performs a script line by line (`text`, `run`, `edit`, `approve`, …)",
    schema: None,
    reader: || Box::new(ScriptReader::default()),
}];

const CONTROLS: [&str; 7] = ["open", "prompt", "command", "answer", "set", "interrupt", "done"];

/// Performs the lines of a script.
#[derive(Default)]
pub struct ScriptReader {
    pub(super) choices: ScriptSelections,
    introduced: bool,
    ids: u64,
    /// The open request of the script.
    pub(super) asking: Option<PendingScriptRequest>,
    /// A burst that continues in the next record.
    pub(super) bursting: Option<Id>,
    /// Words read and written in this turn, counted as its tokens.
    heard: u64,
    pub(super) said: u64,
    /// The turn is over. The rest of the script is not performed.
    over: bool,
    pub(super) crashed: bool,
    /// The script is being stopped from outside, so its end is not its own.
    stopped: bool,
}

impl RecordReader for ScriptReader {
    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        if let Some(line) = record.as_str() {
            return self.read_text(dir, &line, recorder);
        }
        let fields = record.as_object();
        let Some(kind) = fields.get_str("type").filter(|kind| CONTROLS.contains(&kind.as_ref())) else { return };
        if self.crashed {
            return recorder.write_notice(Notice::new(Topic::Late).with_name(kind));
        }
        recorder.set_agent_session(&fields.get_str("session").unwrap_or_default());
        self.introduce(recorder);
        match kind.as_ref() {
            "open" => recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name("open")),
            "prompt" => self.prompt(&fields, recorder),
            "answer" => self.answer(&fields, recorder),
            "command" => self.command(&fields, recorder),
            "set" => self.set(&fields, recorder),
            "interrupt" => self.interrupt(recorder),
            _ => self.done(recorder),
        }
    }

    fn read_text(&mut self, _: Dir, line: &str, recorder: &mut RunRecorder) {
        self.introduce(recorder);
        let verb = ScriptVerb::parse(line.trim_end_matches('\r'));
        if verb == ScriptVerb::Remark {
            return recorder
                .write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_text(line));
        }
        if self.over || self.crashed {
            return recorder.write_notice(Notice::new(Topic::Late).with_name("line").with_text(line));
        }
        self.decline_unanswered(recorder);
        recorder.ensure_turn();
        self.heard = self.heard.saturating_add(words(line));
        self.perform(&verb, recorder);
    }

    fn handle_note(&mut self, note: &EngineNote<'_>, _: &mut RunRecorder) {
        self.stopped |= matches!(note, EngineNote::Stopping(_));
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        if recorder.in_turn() && !self.stopped {
            self.done(recorder);
        }
    }
}

fn warning(text: String) -> Notice {
    Notice::new(Topic::Warning).with_level(Level::Warning).with_text(text)
}

/// A script counts words as tokens.
pub(super) fn words(text: &str) -> u64 {
    text.split_whitespace().count().try_into().unwrap_or(u64::MAX)
}

impl ScriptReader {
    /// Reports the offers, once.
    fn introduce(&mut self, recorder: &mut RunRecorder) {
        if self.introduced {
            return;
        }
        self.introduced = true;
        if let Some(model) = recorder.session_context().config.model.clone() {
            self.choices.set_model(&model);
        }
        let cwd = recorder.working_directory().map(str::to_owned);
        recorder.update_info(self.choices.info(cwd));
    }

    pub(super) fn next_id(&mut self, what: &str, recorder: &RunRecorder) -> Id {
        self.ids += 1;
        recorder.local_id(&format!("{what}_{}", self.ids))
    }

    fn prompt(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.decline_unanswered(recorder);
        self.over = false;
        let script = fields.get_string("text").unwrap_or_default();
        let text = ScriptVerb::represented_prompt(&script).to_owned();
        recorder.turn_started(TurnStarted { prompt: Some(text.clone()), ..TurnStarted::default() });
        let id = self.next_id("message", recorder);
        recorder.item_completed(&id, Item::new(UserMessage::text(text)));
    }

    /// Reads a slash command. All of them begin a turn, except those that only change a name.
    fn command(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let arguments = fields.get_string("arguments").unwrap_or_default();
        match fields.get_str("name").as_deref() {
            Some("rename") => recorder.update_info(Info { title: Some(arguments), ..Info::default() }),
            Some("compact") => {
                self.decline_unanswered(recorder);
                self.over = false;
                recorder.turn_started(TurnStarted { origin: Origin::Command, ..TurnStarted::default() });
                recorder.write_notice(Notice::new(Topic::Compaction).with_status("completed"));
                self.end_turn(TurnCompleted::default(), recorder);
            }
            _ => {}
        }
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name("command"));
    }

    fn set(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if let Some(model) = fields.get_non_empty("model") {
            self.choices.set_model(&model);
            recorder.update_info(Info { model: Some(model), ..Info::default() });
        }
        if let Some(mode) = fields.get_non_empty("mode") {
            match self.choices.set_mode(&mode) {
                true => recorder.update_info(Info { mode: Some(mode), ..Info::default() }),
                false => recorder.write_notice(warning(format!("there is no mode {mode}"))),
            }
        }
        if let (Some(option), Some(value)) = (fields.get_str("option"), fields.get_str("value")) {
            if self.choices.set_option(&option, &value) {
                let options = self.choices.info(None).options;
                recorder.update_info(Info { options, ..Info::default() });
            } else {
                recorder.write_notice(warning(format!("there is no option {option} with the value {value}")));
            }
        }
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name("set"));
    }

    fn interrupt(&mut self, recorder: &mut RunRecorder) {
        recorder.write_notice(Notice::new(Topic::Interrupt));
        if recorder.in_turn() {
            self.stop(recorder);
        }
    }

    pub(super) fn stop(&mut self, recorder: &mut RunRecorder) {
        recorder.mark_interrupted();
        let (status, stop) = (TurnStatus::Interrupted, Stop::Cancelled);
        self.end_turn(TurnCompleted { status, stop, ..TurnCompleted::default() }, recorder);
        self.over = true;
    }

    pub(super) fn fail(&mut self, fault: Fault, recorder: &mut RunRecorder) {
        let (status, stop) = (TurnStatus::Failed, Stop::Error);
        self.end_turn(TurnCompleted { status, stop, error: Some(fault), ..TurnCompleted::default() }, recorder);
        self.over = true;
    }

    fn done(&mut self, recorder: &mut RunRecorder) {
        self.decline_unanswered(recorder);
        if recorder.in_turn() {
            self.end_turn(TurnCompleted::default(), recorder);
        }
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name("done"));
    }

    fn end_turn(&mut self, turn: TurnCompleted, recorder: &mut RunRecorder) {
        self.asking = None;
        recorder.record_usage(Usage {
            scope: Scope::Turn,
            model: Some(self.choices.model().to_owned()),
            input: std::mem::take(&mut self.heard),
            output: std::mem::take(&mut self.said),
            ..Usage::default()
        });
        recorder.turn_completed(turn);
    }
}
