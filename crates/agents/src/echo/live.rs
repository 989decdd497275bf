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
