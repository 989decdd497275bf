//! Performs a script in time: gives its lines one by one, waits where one waits, and stops when told.

use std::{collections::VecDeque, time::Duration};

use serde_json::json;
use switchboard_event::{Body, Event, Fault};

use super::{
    offers,
    verb::{Verb, Wait},
};
use crate::{
    Abilities, Agent, Answer, Command, Decision, Driver, Effect, Effects, Input, Launch, Order, Record, Signal, Timer,
    Unsupported,
    agent::{no_config, no_login},
    driver::turn_ended,
};

/// Script, as it can be run.
pub const AGENT: Agent = Agent {
    name: "script",
    title: "Script (built in: performs its prompt line by line)",
    provider: "switchboard",
    program: None,
    install: None,
    versions: None,
    abilities: Abilities {
        streaming: true,
        reasoning: true,
        plans: true,
        approvals: true,
        questions: true,
        interrupt: true,
        resume: true,
        fork: true,
        set_model: true,
        set_mode: true,
        one_shot: true,
        ..Abilities::NONE
    },
    launch,
    login: no_login,
    config: no_config,
    protected_paths: &[],
};

/// So many pieces of a burst are performed at once: enough to be fast, few enough to be stopped between.
const PIECES: u64 = 256;

/// So many times a second a piece of a burst is performed that has a rate.
const MOMENTS: u64 = 50;

const SLEEP: Timer = Timer("sleep");

fn launch(order: &Order<'_>) -> Result<Launch, Unsupported> {
    let session = order.made_up_session("script");
    Ok(Launch {
        source: "script",
        input: Input::Closed,
        driver: Some(Box::new(Performance { session, greets: order.prompt.text.is_empty(), ..Performance::default() })),
        counts_turns: true,
        ..Launch::default()
    })
}

/// A script being performed.
#[derive(Default)]
struct Performance {
    session: String,
    /// Nobody has said what to perform yet, so that it can only say what it offers.
    greets: bool,
    /// What is still to be performed in this turn.
    lines: VecDeque<String>,
    /// What the next line waits for.
    waiting: Option<Waiting>,
    performing: bool,
}

#[derive(PartialEq)]
enum Waiting {
    Time(Duration),
    Answer,
}

impl Driver for Performance {
    fn open(&mut self, effects: &mut Effects) {
        if self.greets {
            effects.send(&json!({ "type": "open", "session": self.session }));
        }
        effects.push(Effect::Ready);
    }

    fn saw(&mut self, _: &Record<'_>, events: &[Event], effects: &mut Effects) {
        if events.iter().any(|event| matches!(event.body, Body::RequestOpened(_))) {
            self.waiting = Some(Waiting::Answer);
        }
        if events.iter().any(|event| matches!(event.body, Body::RequestResolved(_))) {
            self.waiting = None;
        }
        if turn_ended(events) {
            self.stop();
            effects.disarm(SLEEP);
            return effects.push(Effect::Settled);
        }
        self.go_on(effects);
    }

    fn command(&mut self, command: Command, effects: &mut Effects) -> Result<(), Unsupported> {
        match command {
            Command::Prompt(prompt) => self.begin(&prompt.text, effects),
            Command::Answer(answer) => effects.send(&answered(&answer)),
            Command::Interrupt => {
                self.stop();
                effects.send(&json!({ "type": "interrupt" }));
            }
            Command::SetModel(model) => effects.send(&json!({ "type": "set", "model": model })),
            Command::SetOption { id, value } => effects.send(&json!({ "type": "set", "option": id, "value": value })),
            Command::SetMode(mode) => effects.send(&json!({ "type": "set", "mode": mode })),
            Command::Slash { name, arguments } => return self.slash(&name, arguments.trim(), effects),
            Command::Close => effects.push(Effect::Done),
        }
        Ok(())
    }

    fn has_command(&self, name: &str) -> Result<(), Unsupported> {
        offers::has_command(name)
    }

    fn signal(&mut self, signal: Signal, effects: &mut Effects) {
        if signal == Signal::Timer(SLEEP) {
            self.waiting = None;
            self.go_on(effects);
        }
    }
}

impl Performance {
    fn begin(&mut self, script: &str, effects: &mut Effects) {
        self.lines = script.lines().filter(|line| !line.trim().is_empty()).flat_map(pieces).collect();
        (self.performing, self.waiting) = (true, None);
        effects.send(&json!({ "type": "prompt", "text": script, "session": self.session }));
    }

    /// One of the commands: the reader performs it as it is read.
    fn slash(&mut self, name: &str, arguments: &str, effects: &mut Effects) -> Result<(), Unsupported> {
        offers::has_command(name)?;
        let session = &self.session;
        effects.send(&json!({ "type": "command", "name": name, "arguments": arguments, "session": session }));
        // What ends a turn says so itself.
        if name == "rename" {
            effects.push(Effect::Settled);
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.lines.clear();
        (self.performing, self.waiting) = (false, None);
    }

    /// Performs the next line, unless something is waited for. What comes of it calls us again.
    fn go_on(&mut self, effects: &mut Effects) {
        match self.waiting {
            Some(Waiting::Time(time)) => return effects.push(Effect::Arm(SLEEP, time)),
            Some(Waiting::Answer) => return,
            None if !self.performing => return,
            None => {}
        }
        let Some(line) = self.lines.pop_front() else {
            self.performing = false;
            return effects.push(Effect::Hear(json!({ "type": "done" }).to_string()));
        };
        let verb = Verb::parse(&line);
        if verb == Verb::Crash {
            self.stop();
            effects.push(Effect::Hear(line));
            return effects.give_up(Fault::new(switchboard_event::ErrorCode::ExecutionError, "the script crashed"));
        }
        if let Wait::Time(time) = verb.wait() {
            self.waiting = Some(Waiting::Time(time));
        }
        effects.push(Effect::Hear(line));
    }
}

/// A long burst is performed in pieces, so that nobody has to take it all at once. One that has a rate is performed in
/// pieces that take a moment each.
fn pieces(line: &str) -> Vec<String> {
    let Verb::Burst { from: 1, to, of, rate } = Verb::parse(line) else { return vec![line.to_owned()] };
    let size = rate.map_or(PIECES, |rate| (rate / MOMENTS).max(1));
    if to != of || of <= size {
        return vec![line.to_owned()];
    }
    let at = rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
    let piece = |n: u64| format!("burst {}-{} of {of}{at}", n * size + 1, ((n + 1) * size).min(of));
    (0..of.div_ceil(size)).map(piece).collect()
}

fn answered(answer: &Answer) -> serde_json::Value {
    let decision = match answer.decision {
        Decision::Allow => "accept",
        Decision::AllowSession => "acceptForSession",
        Decision::Decline => "decline",
        Decision::Cancel => "cancel",
    };
    let (request, answers, message) = (&*answer.request, &answer.answers, &answer.message);
    json!({ "type": "answer", "request": request, "decision": decision, "answers": answers, "message": message })
}
