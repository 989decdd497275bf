//! The driver of echo, which plays both sides of the conversation.

use serde_json::json;
use switchboard_event::Event;

use crate::{
    Abilities, Agent, AgentCommand, AgentDriver, AgentLaunch, DriverEffect, DriverEffects, LaunchRequest, Record,
    StdinMode, UnsupportedOperation,
    agent::{no_config, no_login},
    commands,
    driver::has_turn_completed,
    launch::no_endpoints,
};

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
    endpoints: no_endpoints,
    protected_paths: &[],
};

fn launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let session = order.resumed_or_new_session_id("echo");
    Ok(AgentLaunch {
        source: "echo",
        input: StdinMode::Closed,
        driver: Some(Box::new(EchoDriver { session })),
        counts_turns: true,
        ..AgentLaunch::default()
    })
}

struct EchoDriver {
    session: String,
}

impl AgentDriver for EchoDriver {
    fn open(&mut self, effects: &mut DriverEffects) {
        effects.push(DriverEffect::Ready);
    }

    fn observe_record(&mut self, _: &Record<'_>, events: &[Event], effects: &mut DriverEffects) {
        if has_turn_completed(events) {
            effects.push(DriverEffect::Settled);
        }
    }

    fn handle_command(
        &mut self,
        handle_command: AgentCommand,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        match handle_command {
            AgentCommand::Prompt(prompt) => {
                effects.send_record(&json!({ "type": "task", "text": prompt.text, "session": self.session }));
                effects.push(DriverEffect::Hear(json!({ "type": "echo", "text": prompt.text }).to_string()));
            }
            AgentCommand::Interrupt => effects.send_record(&json!({ "type": "interrupt" })),
            AgentCommand::Close => effects.push(DriverEffect::Done),
            AgentCommand::Slash { name, .. } => return Err(commands::unknown_command_error(&name, [])),
            AgentCommand::Answer(_)
            | AgentCommand::SetModel(_)
            | AgentCommand::SetMode(_)
            | AgentCommand::SetOption { .. } => {
                return Err(UnsupportedOperation::new("echo has nothing to choose and asks nothing"));
            }
        }
        Ok(())
    }
}
