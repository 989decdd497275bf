//! A script being performed. Its lines are records of text, each performed as it is read. Around them are records of
//! JSON: `open` begins a session without any, `prompt` begins a turn, `command` is a slash command, `answer` answers a
//! request, `set` chooses a model, a mode or an option, `interrupt` and `done` end the turn. A bare list of lines is
//! one turn, and nobody is there to ask.

use switchboard_event::{
    Dir, Fault, Id, Info, Item, Level, Notice, Origin, Scope, Stop, Topic, TurnCompleted, TurnStarted, TurnStatus,
    Usage, UserMessage,
};

use super::{offers::Choices, requests::Asking, verb::Verb};
use crate::{Json, Note, Object, Reader, Scribe};

/// Performs the lines of a script.
#[derive(Default)]
pub struct Live {
    pub(super) choices: Choices,
    introduced: bool,
    ids: u64,
    /// What the script waits for.
    pub(super) asking: Option<Asking>,
    /// A burst of which more is to come.
    pub(super) bursting: Option<Id>,
    /// Words that were read and words that were said in this turn: its tokens.
    pub(super) heard: u64,
    pub(super) said: u64,
    /// The turn is over, so what is left of the script is not performed.
    over: bool,
    pub(super) crashed: bool,
    /// Somebody stops the script from outside: its end is not its own.
    stopped: bool,
}

impl Reader for Live {
    fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe) {
        if let Some(line) = record.str() {
            return self.text(dir, &line, scribe);
        }
        let fields = record.object();
        let Some(kind) = fields.str("type").filter(|kind| CONTROLS.contains(&kind.as_ref())) else { return };
        if self.crashed {
            return scribe.notice(Notice::new(Topic::Late).with_name(kind));
        }
        scribe.identify(&fields.str("session").unwrap_or_default());
        self.introduce(scribe);
        match kind.as_ref() {
            "open" => scribe.otherwise(Notice::new(Topic::Control).with_name("open")),
            "prompt" => self.prompt(&fields, scribe),
            "answer" => self.answer(&fields, scribe),
            "command" => self.command(&fields, scribe),
            "set" => self.set(&fields, scribe),
            "interrupt" => self.interrupt(scribe),
            _ => self.done(scribe),
        }
    }

    fn text(&mut self, _: Dir, line: &str, scribe: &mut Scribe) {
        self.introduce(scribe);
        let verb = Verb::parse(line.trim_end_matches('\r'));
        if verb == Verb::Remark {
            return scribe.otherwise(Notice::new(Topic::Control).with_level(Level::Debug).with_text(line));
        }
        if self.over || self.crashed {
            return scribe.notice(Notice::new(Topic::Late).with_name("line").with_text(line));
        }
        self.nobody_answers(scribe);
        scribe.ensure_turn();
        self.heard = self.heard.saturating_add(words(line));
        self.perform(&verb, scribe);
    }

    fn note(&mut self, note: &Note<'_>, _: &mut Scribe) {
        self.stopped |= matches!(note, Note::Stopping(_));
    }

    fn end(&mut self, scribe: &mut Scribe) {
        if scribe.in_turn() && !self.stopped {
            self.done(scribe);
        }
    }
}

/// The types of JSON records.
const CONTROLS: [&str; 7] = ["open", "prompt", "command", "answer", "set", "interrupt", "done"];

fn warning(text: String) -> Notice {
    Notice::new(Topic::Warning).with_level(Level::Warning).with_text(text)
}

/// Words are what a script counts as tokens.
pub(super) fn words(text: &str) -> u64 {
    text.split_whitespace().count().try_into().unwrap_or(u64::MAX)
}

impl Live {
    /// Says once what can be chosen.
    fn introduce(&mut self, scribe: &mut Scribe) {
        if self.introduced {
            return;
        }
        self.introduced = true;
        if let Some(model) = scribe.start().config.model.clone() {
            self.choices.set_model(&model);
        }
        let cwd = scribe.cwd().map(str::to_owned);
        scribe.info(self.choices.info(cwd));
    }

    pub(super) fn next_id(&mut self, what: &str, scribe: &Scribe) -> Id {
        self.ids += 1;
        scribe.local_id(&format!("{what}_{}", self.ids))
    }

    fn prompt(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        self.nobody_answers(scribe);
        self.over = false;
        let script = fields.string("text").unwrap_or_default();
        let text = Verb::asked(&script).to_owned();
        scribe.turn_started(TurnStarted { prompt: Some(text.clone()), ..TurnStarted::default() });
        let id = self.next_id("message", scribe);
        scribe.item_completed(&id, Item::new(UserMessage::text(text)));
    }

    /// A slash command; one that does more than to change a name is a turn.
    fn command(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let arguments = fields.string("arguments").unwrap_or_default();
        match fields.str("name").as_deref() {
            Some("rename") => scribe.info(Info { title: Some(arguments), ..Info::default() }),
            Some("compact") => {
                self.nobody_answers(scribe);
                self.over = false;
                scribe.turn_started(TurnStarted { origin: Origin::Command, ..TurnStarted::default() });
                scribe.notice(Notice::new(Topic::Compaction).with_status("completed"));
                self.end_turn(TurnCompleted::default(), scribe);
            }
            _ => {}
        }
        scribe.otherwise(Notice::new(Topic::Control).with_name("command"));
    }

    fn set(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        if let Some(model) = fields.filled("model") {
            self.choices.set_model(&model);
            scribe.info(Info { model: Some(model), ..Info::default() });
        }
        if let Some(mode) = fields.filled("mode") {
            match self.choices.set_mode(&mode) {
                true => scribe.info(Info { mode: Some(mode), ..Info::default() }),
                false => scribe.notice(warning(format!("there is no mode {mode}"))),
            }
        }
        if let (Some(option), Some(value)) = (fields.str("option"), fields.str("value")) {
            if self.choices.set_option(&option, &value) {
                let options = self.choices.info(None).options;
                scribe.info(Info { options, ..Info::default() });
            } else {
                scribe.notice(warning(format!("there is no option {option} with the value {value}")));
            }
        }
        scribe.otherwise(Notice::new(Topic::Control).with_name("set"));
    }

    fn interrupt(&mut self, scribe: &mut Scribe) {
        scribe.notice(Notice::new(Topic::Interrupt));
        if scribe.in_turn() {
            self.stop(scribe);
        }
    }

    /// Somebody stopped the turn.
    pub(super) fn stop(&mut self, scribe: &mut Scribe) {
        scribe.interrupted();
        let (status, stop) = (TurnStatus::Interrupted, Stop::Cancelled);
        self.end_turn(TurnCompleted { status, stop, ..TurnCompleted::default() }, scribe);
        self.over = true;
    }

    pub(super) fn fail(&mut self, fault: Fault, scribe: &mut Scribe) {
        let (status, stop) = (TurnStatus::Failed, Stop::Error);
        self.end_turn(TurnCompleted { status, stop, error: Some(fault), ..TurnCompleted::default() }, scribe);
        self.over = true;
    }

    fn done(&mut self, scribe: &mut Scribe) {
        self.nobody_answers(scribe);
        if scribe.in_turn() {
            self.end_turn(TurnCompleted::default(), scribe);
        }
        scribe.otherwise(Notice::new(Topic::Control).with_name("done"));
    }

    fn end_turn(&mut self, turn: TurnCompleted, scribe: &mut Scribe) {
        self.asking = None;
        scribe.usage(Usage {
            scope: Scope::Turn,
            model: Some(self.choices.model().to_owned()),
            input: std::mem::take(&mut self.heard),
            output: std::mem::take(&mut self.said),
            ..Usage::default()
        });
        scribe.turn_completed(turn);
    }
}
