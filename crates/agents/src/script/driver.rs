//! Performs a script in real time: one line after the other, with pauses, until it is stopped.

use std::{collections::VecDeque, time::Duration};

use serde_json::json;
use switchboard_event::{Event, EventBody, Fault};

use super::{
    offers,
    verb::{ScriptVerb, VerbWait},
};
use crate::{
    Abilities, Agent, AgentCommand, AgentDriver, AgentLaunch, DriverEffect, DriverEffects, DriverSignal, DriverTimer,
    LaunchRequest, Record, RequestAnswer, RequestDecision, StdinMode, UnsupportedOperation,
    agent::{no_config, no_login},
    driver::has_turn_completed,
    launch::no_endpoints,
};

/// The agent definition of the script agent.
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
    endpoints: no_endpoints,
    protected_paths: &[],
};

/// Maximum number of burst pieces per record: enough to be fast, few enough to be interruptible.
const PIECES: u64 = 256;

/// Number of records per second for a burst with a rate.
const MOMENTS: u64 = 50;

const SLEEP: DriverTimer = DriverTimer("sleep");

fn launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let session = order.resumed_or_new_session_id("script");
    Ok(AgentLaunch {
        source: "script",
        input: StdinMode::Closed,
        driver: Some(Box::new(ScriptDriver {
            session,
            greets: order.prompt.text.is_empty(),
            ..ScriptDriver::default()
        })),
        counts_turns: true,
        ..AgentLaunch::default()
    })
}

/// Performs a script.
#[derive(Default)]
struct ScriptDriver {
    session: String,
    /// There is no first prompt, so the session only reports its offers.
    greets: bool,
    /// The remaining lines of this turn.
    lines: VecDeque<String>,
    /// The event that the next line waits for.
    waiting: Option<ScriptPause>,
    performing: bool,
}

#[derive(PartialEq)]
enum ScriptPause {
    Time(Duration),
    Answer,
}

impl AgentDriver for ScriptDriver {
    fn open(&mut self, effects: &mut DriverEffects) {
        if self.greets {
            effects.send_record(&json!({ "type": "open", "session": self.session }));
        }
        effects.push(DriverEffect::Ready);
    }

    fn observe_record(&mut self, _: &Record<'_>, events: &[Event], effects: &mut DriverEffects) {
        if events.iter().any(|event| matches!(event.body, EventBody::RequestOpened(_))) {
            self.waiting = Some(ScriptPause::Answer);
        }
        if events.iter().any(|event| matches!(event.body, EventBody::RequestResolved(_))) {
            self.waiting = None;
        }
        if has_turn_completed(events) {
            self.stop();
            effects.disarm_timer(SLEEP);
            return effects.push(DriverEffect::Settled);
        }
        self.perform_next_line(effects);
    }

    fn handle_command(
        &mut self,
        handle_command: AgentCommand,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        match handle_command {
            AgentCommand::Prompt(prompt) => self.begin(&prompt.text, effects),
            AgentCommand::Answer(answer) => effects.send_record(&answer_record(&answer)),
            AgentCommand::Interrupt => {
                self.stop();
                effects.send_record(&json!({ "type": "interrupt" }));
            }
            AgentCommand::SetModel(model) => effects.send_record(&json!({ "type": "set", "model": model })),
            AgentCommand::SetOption { id, value } => {
                effects.send_record(&json!({ "type": "set", "option": id, "value": value }))
            }
            AgentCommand::SetMode(mode) => effects.send_record(&json!({ "type": "set", "mode": mode })),
            AgentCommand::Slash { name, arguments } => return self.slash(&name, arguments.trim(), effects),
            AgentCommand::Close => effects.push(DriverEffect::Done),
        }
        Ok(())
    }

    fn check_slash_command(&self, name: &str) -> Result<(), UnsupportedOperation> {
        offers::has_command(name)
    }

    fn handle_signal(&mut self, signal: DriverSignal, effects: &mut DriverEffects) {
        if signal == DriverSignal::Timer(SLEEP) {
            self.waiting = None;
            self.perform_next_line(effects);
        }
    }
}

impl ScriptDriver {
    fn begin(&mut self, script: &str, effects: &mut DriverEffects) {
        self.lines = script.lines().filter(|line| !line.trim().is_empty()).flat_map(pieces).collect();
        (self.performing, self.waiting) = (true, None);
        effects.send_record(&json!({ "type": "prompt", "text": script, "session": self.session }));
    }

    /// Sends a slash command, which the reader performs when it reads it.
    fn slash(&mut self, name: &str, arguments: &str, effects: &mut DriverEffects) -> Result<(), UnsupportedOperation> {
        offers::has_command(name)?;
        let session = &self.session;
        effects.send_record(&json!({ "type": "command", "name": name, "arguments": arguments, "session": session }));
        // The end of a turn is reported by the reader.
        if name == "rename" {
            effects.push(DriverEffect::Settled);
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.lines.clear();
        (self.performing, self.waiting) = (false, None);
    }

    /// Performs the next line, unless the script is waiting. The resulting record continues the script.
    fn perform_next_line(&mut self, effects: &mut DriverEffects) {
        match self.waiting {
            Some(ScriptPause::Time(time)) => return effects.push(DriverEffect::Arm(SLEEP, time)),
            Some(ScriptPause::Answer) => return,
            None if !self.performing => return,
            None => {}
        }
        let Some(line) = self.lines.pop_front() else {
            self.performing = false;
            return effects.push(DriverEffect::Hear(json!({ "type": "done" }).to_string()));
        };
        let verb = ScriptVerb::parse(&line);
        if verb == ScriptVerb::Crash {
            self.stop();
            effects.push(DriverEffect::Hear(line));
            return effects.give_up(Fault::new(switchboard_event::ErrorCode::ExecutionError, "the script crashed"));
        }
        if let VerbWait::Time(time) = verb.wait() {
            self.waiting = Some(ScriptPause::Time(time));
        }
        effects.push(DriverEffect::Hear(line));
    }
}

/// Splits a long burst into pieces, so that no client receives it all at once. With a rate, each piece lasts a fixed
/// time.
fn pieces(line: &str) -> Vec<String> {
    let ScriptVerb::Burst { from: 1, to, of, rate } = ScriptVerb::parse(line) else { return vec![line.to_owned()] };
    let size = rate.map_or(PIECES, |rate| (rate / MOMENTS).max(1));
    if to != of || of <= size {
        return vec![line.to_owned()];
    }
    let at = rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
    let piece = |n: u64| format!("burst {}-{} of {of}{at}", n * size + 1, ((n + 1) * size).min(of));
    (0..of.div_ceil(size)).map(piece).collect()
}

fn answer_record(answer: &RequestAnswer) -> serde_json::Value {
    let decision = match answer.decision {
        RequestDecision::Allow => "accept",
        RequestDecision::AllowSession => "acceptForSession",
        RequestDecision::Decline => "decline",
        RequestDecision::Cancel => "cancel",
    };
    let (request, answers, message) = (&*answer.request, &answer.answers, &answer.message);
    json!({ "type": "answer", "request": request, "decision": decision, "answers": answers, "message": message })
}
