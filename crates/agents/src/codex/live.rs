//! What `codex exec --json` prints. The shapes that older descriptions of it have are read in `flat` and `responses`.

use switchboard_event::{
    Dir, EndReason, ErrorCode, Fault, Info, Level, Notice, Scope, Status, Topic, TurnCompleted, TurnStarted,
};

use super::{errors, flat::Flat, items, responses::Responses, usage};
use crate::{Ending, Json, Note, Object, Reader, Scribe};

/// Reads the one-way stream.
#[derive(Default)]
pub struct Live {
    thread: Option<String>,
    totals: Option<usage::Totals>,
    prompted: bool,
    /// The last error, as long as nothing shows that the work went on.
    error: Option<Fault>,
    /// We stop the process: whatever it says last is no failure.
    stopping: bool,
    flat: Flat,
    responses: Responses,
}

impl Reader for Live {
    fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        match fields.str("type").as_deref() {
            Some("thread.started") => self.thread_started(&fields, scribe),
            Some("turn.started") => self.turn_started(scribe),
            Some("turn.completed") => self.turn_completed(&fields, scribe),
            Some("turn.failed") => self.turn_failed(&fields, scribe),
            Some("error") => self.failed(&fields.str("message").unwrap_or_default(), scribe),
            Some(stage @ ("item.started" | "item.updated" | "item.completed")) => {
                self.item(stage, record, &fields, scribe);
            }
            _ => self.responses.read(dir, record, scribe),
        }
    }

    fn note(&mut self, note: &Note<'_>, _: &mut Scribe) {
        match note {
            Note::Stopping(_) => self.stopping = true,
            // Without a thread there is no stream, and why is only said here.
            Note::Stderr(line) if self.thread.is_none() => {
                let said = line.strip_prefix("Error: ").map(errors::from_message);
                self.error = said.or(self.error.take());
            }
            _ => {}
        }
    }

    fn end(&mut self, scribe: &mut Scribe) {
        if self.stopping {
            return;
        }
        match self.error.take() {
            Some(fault) if scribe.in_turn() => scribe.turn_completed(errors::failed_turn(fault, None)),
            Some(fault) if !self.prompted => {
                scribe.session_ending(Ending { reason: EndReason::Failed, error: Some(fault) });
            }
            _ => self.responses.end(scribe),
        }
    }
}

impl Live {
    fn thread_started(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let thread = fields.string("thread_id").unwrap_or_default();
        scribe.identify(&thread);
        scribe.info(Info::default());
        scribe.otherwise(Notice::new(Topic::Control).with_name("thread.started"));
        if self.thread.as_ref().is_some_and(|known| *known != thread) {
            self.totals = Some(usage::Totals::fresh());
        }
        self.thread = Some(thread);
    }

    fn turn_started(&mut self, scribe: &mut Scribe) {
        let prompt = if self.prompted { None } else { scribe.start().prompt.clone() };
        self.turn_ended();
        scribe.turn_started(TurnStarted { prompt, ..TurnStarted::default() });
    }

    fn turn_completed(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        self.turn_ended();
        scribe.ensure_turn();
        if let Some(figures) = fields.get("usage") {
            let total = usage::figures(&figures.object(), Scope::Turn, scribe.model());
            let totals = self.totals.get_or_insert_with(|| match &scribe.start().resumed {
                None => usage::Totals::fresh(),
                Some(_) => usage::Totals::older(scribe.start().usage_base.clone()),
            });
            scribe.usage(totals.step(total));
        }
        scribe.turn_completed(TurnCompleted::default());
    }

    fn turn_failed(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        self.turn_ended();
        scribe.ensure_turn();
        let said = fields.object("error").filled("message").or_else(|| fields.filled("error"));
        let fault = errors::from_message(&said.unwrap_or_else(|| "the turn failed".to_owned()));
        scribe.turn_completed(errors::failed_turn(fault, None));
    }

    /// Not the end: a model call may be tried again, and a turn that fails says so itself.
    fn failed(&mut self, message: &str, scribe: &mut Scribe) {
        let mut fault = errors::from_message(message);
        let retry = errors::is_retry(message);
        let (topic, level) = if retry { (Topic::Retry, Level::Warning) } else { (Topic::Warning, Level::Error) };
        if retry {
            fault.retryable = Some(true);
        } else {
            self.error = Some(fault.clone());
        }
        let notice = Notice::new(topic).with_level(level).with_text(message).with_name("error");
        scribe.notice(Notice { error: Some(fault), ..notice });
    }

    fn work_went_on(&mut self) {
        (self.prompted, self.error) = (true, None);
        self.responses.is_more();
    }

    fn turn_ended(&mut self) {
        self.work_went_on();
        self.flat.forget();
    }

    fn item(&mut self, stage: &str, record: Json<'_>, fields: &Object<'_>, scribe: &mut Scribe) {
        let Some(native) = fields.get("item").filter(|item| item.is_object()) else {
            if fields.has("item_type") {
                self.work_went_on();
            }
            return self.flat.item(stage, record, scribe);
        };
        let item = native.object();
        let kind = item.str("type").unwrap_or_default();
        if kind == "error" {
            return warn(&item.str("message").unwrap_or_default(), scribe);
        }
        self.work_went_on();
        scribe.ensure_turn();
        // A web search has two fields `id`; the first is the item's.
        let id = scribe.local_id(&item.str("id").unwrap_or_else(|| kind.clone()));
        let news = items::item(&kind, native, scribe.item(&id), scribe);
        match stage {
            "item.started" => scribe.item_started(&id, news),
            "item.updated" if scribe.item_is_open(&id) => scribe.item_set(&id, news),
            "item.updated" => scribe.item_started(&id, news),
            _ => {
                let status = if news.status == Status::Running { Status::Completed } else { news.status };
                scribe.item_completed(&id, news.with_status(status));
            }
        }
    }
}

/// An item of type `error` is a warning: about the configuration, a model that is not known, a model that was changed.
pub fn warn(message: &str, scribe: &mut Scribe) {
    if let Some((_, model)) = message.strip_prefix("model rerouted: ").and_then(|models| models.split_once(" -> ")) {
        scribe.notice(Notice::new(Topic::ModelChanged).with_text(message).with_name(model));
        return scribe.info(Info { model: Some(model.to_owned()), ..Info::default() });
    }
    let notice = Notice::new(Topic::Warning).with_level(Level::Warning).with_text(message).with_name("error");
    scribe.notice(Notice { error: Some(Fault::new(ErrorCode::Unknown, message)), ..notice });
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Body, EndReason, Event, Id, Usage};

    use crate::{Note, Options, Record, Start, Translator, source};

    const ASKED: &str = r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}"#;
    const DONE: &str = r#"{"type":"turn.completed","usage":{"input_tokens":300,"output_tokens":60}}"#;

    fn events(start: Start, lines: &str, notes: &[Note<'_>]) -> Vec<Event> {
        let mut translator = Translator::new(source("codex").unwrap(), Options { start, run: 2, ..Options::default() });
        let mut out = Vec::new();
        for line in lines.lines() {
            translator.record(&Record::from_line(line.as_bytes()).unwrap(), &mut out);
        }
        notes.iter().for_each(|note| translator.note(note, None, &mut out));
        translator.end(&mut out);
        out
    }

    fn check(resumed: bool, base: Option<u64>, input: u64, cumulative: bool) {
        let usage_base = base.map(|input| Usage { input, output: 10, ..Usage::default() });
        let start = Start { resumed: resumed.then(|| Id::from("t")), usage_base, ..Start::default() };
        let events = events(start, &format!("{ASKED}\n{DONE}"), &[]);
        let used = events.iter().find_map(|event| match &event.body {
            Body::Usage(usage) => Some((usage.input, usage.cumulative)),
            _ => None,
        });
        assert_eq!(used, Some((input, cumulative)));
    }

    #[test]
    fn usage_is_what_came_on_top() {
        check(false, None, 300, false);
        check(true, Some(200), 100, false);
        check(true, None, 300, true);
    }

    #[test]
    fn the_prompt_and_the_run_are_the_callers() {
        let start = Start { prompt: Some("go".into()), ..Start::default() };
        let item = r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"x"}}"#;
        let events = events(start, &format!("{ASKED}\n{item}\n{DONE}"), &[]);
        let prompt = events.iter().find_map(|event| match &event.body {
            Body::TurnStarted(turn) => turn.prompt.clone(),
            _ => None,
        });
        assert_eq!(prompt.as_deref(), Some("go"));
        assert!(events.iter().any(|event| event.item.as_deref() == Some("r2.item_0")));
    }

    #[test]
    fn what_is_only_said_on_standard_error_is_why_nothing_came() {
        let said = "Error: thread/resume: thread/resume failed: no rollout found for thread id x (code -32600)";
        let notes = [Note::Stderr(said), Note::Exited { code: Some(1), signal: None }];
        let events = events(Start::default(), "", &notes);
        let Some(Body::SessionEnded(ended)) = events.last().map(|event| &event.body) else { panic!("no end") };
        let code = ended.error.as_ref().map(|error| error.code);
        assert_eq!((ended.reason, code), (EndReason::Failed, Some(switchboard_event::ErrorCode::SessionNotFound)));
    }
}
