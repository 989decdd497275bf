//! Echo's own small protocol. `{"type":"task","text":…}` is sent to it, `{"type":"echo","text":…}` comes back and ends
//! the turn; `{"type":"interrupt"}` ends it too. A line of text is a task that is answered immediately.

use switchboard_event::{
    AgentMessage, Dir, Id, Item, Notice, Stop, Topic, TurnCompleted, TurnStarted, TurnStatus, UserMessage,
};

use crate::{JsonObject, JsonView, RecordReader, RunRecorder};

/// Reads tasks and their echoes.
#[derive(Default)]
pub struct EchoReader {
    messages: u64,
}

impl RecordReader for EchoReader {
    fn read(&mut self, dir: Dir, record: JsonView<'_>, scribe: &mut RunRecorder) {
        let fields = record.as_object();
        let text = fields.get_str("text").unwrap_or_default();
        match fields.get_str("type").as_deref() {
            // An incoming task has no driver that would echo it.
            Some("task") if dir == Dir::In => self.echo_immediately(&text, scribe),
            Some("task") => self.start_task(&text, &fields, scribe),
            Some("echo") => self.complete_echo(&text, scribe),
            Some("interrupt") => interrupt_turn(scribe),
            // Any other JSON is treated as a line of text and repeated verbatim.
            _ => self.echo_immediately(&record.display_text(), scribe),
        }
    }

    fn read_text(&mut self, _: Dir, line: &str, scribe: &mut RunRecorder) {
        self.echo_immediately(line.trim_end_matches('\r'), scribe);
    }
}

impl EchoReader {
    fn echo_immediately(&mut self, text: &str, scribe: &mut RunRecorder) {
        self.start_task(text, &JsonObject::default(), scribe);
        self.complete_echo(text, scribe);
    }

    fn start_task(&mut self, text: &str, fields: &JsonObject<'_>, scribe: &mut RunRecorder) {
        scribe.set_agent_session(&fields.get_str("session").unwrap_or_default());
        scribe.turn_started(TurnStarted { prompt: Some(text.to_owned()), ..TurnStarted::default() });
        let id = self.next_message_id(scribe);
        scribe.item_completed(&id, Item::new(UserMessage::text(text)));
    }

    fn complete_echo(&mut self, text: &str, scribe: &mut RunRecorder) {
        scribe.ensure_turn();
        let id = self.next_message_id(scribe);
        scribe.item_completed(&id, Item::new(AgentMessage::text(text)));
        scribe.turn_completed(TurnCompleted::default());
    }

    fn next_message_id(&mut self, scribe: &RunRecorder) -> Id {
        self.messages += 1;
        scribe.local_id(&format!("message_{}", self.messages))
    }
}

fn interrupt_turn(scribe: &mut RunRecorder) {
    scribe.write_notice(Notice::new(Topic::Interrupt));
    if scribe.in_turn() {
        let (status, stop) = (TurnStatus::Interrupted, Stop::Cancelled);
        scribe.turn_completed(TurnCompleted { status, stop, ..TurnCompleted::default() });
    }
}
