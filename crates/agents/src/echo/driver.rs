//! What is said to echo, and what it says back: the driver plays both sides.

use serde_json::json;
use switchboard_event::Event;

use crate::{
    Abilities, Agent, Command, Driver, Effect, Effects, Input, Launch, Order, Record, Unsupported,
    agent::{no_config, no_login},
    commands,
    driver::turn_ended,
};

/// Echo, as it can be run.
pub const AGENT: Agent = Agent {
    name: "echo",
    title: "Echo (built in: repeats its task)",
    provider: "switchboard",
    program: None,
    install: None,
    versions: None,
    abilities: Abilities { interrupt: true, resume: true, fork: true, one_shot: true, ..Abilities::NONE },
    launch,
    login: no_login,
    config: no_config,
    protected_paths: &[],
};

fn launch(order: &Order<'_>) -> Result<Launch, Unsupported> {
    let session = order.made_up_session("echo");
    Ok(Launch {
        source: "echo",
        input: Input::Closed,
        driver: Some(Box::new(Echo { session })),
        counts_turns: true,
        ..Launch::default()
    })
}

struct Echo {
    session: String,
}

impl Driver for Echo {
    fn open(&mut self, effects: &mut Effects) {
        effects.push(Effect::Ready);
    }

    fn saw(&mut self, _: &Record<'_>, events: &[Event], effects: &mut Effects) {
        if turn_ended(events) {
            effects.push(Effect::Settled);
        }
    }

    fn command(&mut self, command: Command, effects: &mut Effects) -> Result<(), Unsupported> {
        match command {
            Command::Prompt(prompt) => {
                effects.send(&json!({ "type": "task", "text": prompt.text, "session": self.session }));
                effects.push(Effect::Hear(json!({ "type": "echo", "text": prompt.text }).to_string()));
            }
            Command::Interrupt => effects.send(&json!({ "type": "interrupt" })),
            Command::Close => effects.push(Effect::Done),
            Command::Slash { name, .. } => return Err(commands::unknown(&name, [])),
            Command::Answer(_) | Command::SetModel(_) | Command::SetMode(_) | Command::SetOption { .. } => {
                return Err(Unsupported::new("echo has nothing to choose and asks nothing"));
            }
        }
        Ok(())
    }
}
