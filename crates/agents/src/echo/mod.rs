//! Echo: built in, without a process. It repeats its task, so that clients and tests have a predictable agent.

use serde_json::json;
use switchboard_event::{
    AgentMessage, Dir, Event, Id, Item, Notice, Stop, Topic, TurnCompleted, TurnStarted, TurnStatus, UserMessage,
};

use crate::{
    Abilities, Agent, AgentCommand, AgentDriver, AgentLaunch, DriverEffect, DriverEffects, JsonObject, JsonView,
    LaunchRequest, Record, RecordReader, RecordSource, RunRecorder, StdinMode, UnsupportedOperation,
    agent::{no_config, no_login},
    commands,
    driver::has_turn_completed,
    launch::no_endpoints,
};

/// The record sources of echo.
pub const SOURCES: &[RecordSource] = &[RecordSource {
    name: "echo",
    agent: "echo",
    title: "built in: repeats each line, or each `{\"type\":\"task\",\"text\":…}`",
    schema: None,
    reader: || Box::new(EchoReader::default()),
}];

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

/// Reads tasks and their echoes.
#[derive(Default)]
struct EchoReader {
    messages: u64,
}

impl RecordReader for EchoReader {
    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        let text = fields.get_str("text").unwrap_or_default();
        match fields.get_str("type").as_deref() {
            // An incoming task has no driver that would echo it.
            Some("task") if dir == Dir::In => self.echo_immediately(&text, recorder),
            Some("task") => self.start_task(&text, &fields, recorder),
            Some("echo") => self.complete_echo(&text, recorder),
            Some("interrupt") => interrupt_turn(recorder),
            // Any other JSON is treated as a line of text and repeated verbatim.
            _ => self.echo_immediately(&record.display_text(), recorder),
        }
    }

    fn read_text(&mut self, _: Dir, line: &str, recorder: &mut RunRecorder) {
        self.echo_immediately(line.trim_end_matches('\r'), recorder);
    }
}

impl EchoReader {
    fn echo_immediately(&mut self, text: &str, recorder: &mut RunRecorder) {
        self.start_task(text, &JsonObject::default(), recorder);
        self.complete_echo(text, recorder);
    }

    fn start_task(&mut self, text: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.set_agent_session(&fields.get_str("session").unwrap_or_default());
        recorder.turn_started(TurnStarted { prompt: Some(text.to_owned()), ..TurnStarted::default() });
        let id = self.next_message_id(recorder);
        recorder.item_completed(&id, Item::new(UserMessage::text(text)));
    }

    fn complete_echo(&mut self, text: &str, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        let id = self.next_message_id(recorder);
        recorder.item_completed(&id, Item::new(AgentMessage::text(text)));
        recorder.turn_completed(TurnCompleted::default());
    }

    fn next_message_id(&mut self, recorder: &RunRecorder) -> Id {
        self.messages += 1;
        recorder.local_id(&format!("message_{}", self.messages))
    }
}

fn interrupt_turn(recorder: &mut RunRecorder) {
    recorder.write_notice(Notice::new(Topic::Interrupt));
    if recorder.in_turn() {
        let (status, stop) = (TurnStatus::Interrupted, Stop::Cancelled);
        recorder.turn_completed(TurnCompleted { status, stop, ..TurnCompleted::default() });
    }
}

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
