//! Echo's own small protocol. `{"type":"task","text":…}` goes to it, `{"type":"echo","text":…}` comes back and ends
//! the turn; `{"type":"interrupt"}` ends it too. A line of text is a task that is answered at once.

use switchboard_event::{
    AgentMessage, Dir, Id, Item, Notice, Stop, Topic, TurnCompleted, TurnStarted, TurnStatus, UserMessage,
};

use crate::{Json, Object, Reader, Scribe};

/// Reads tasks and their echoes.
#[derive(Default)]
pub struct Live {
    messages: u64,
}

impl Reader for Live {
    fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        let text = fields.str("text").unwrap_or_default();
        match fields.str("type").as_deref() {
            // Without the other direction, nobody but us can repeat it.
            Some("task") if dir == Dir::In => self.at_once(&text, scribe),
            Some("task") => self.task(&text, &fields, scribe),
            Some("echo") => self.echo(&text, scribe),
            Some("interrupt") => interrupt(scribe),
            // Any other JSON is a line like any other: it is repeated as it was written.
            _ => self.at_once(&record.display(), scribe),
        }
    }

    fn text(&mut self, _: Dir, line: &str, scribe: &mut Scribe) {
        self.at_once(line.trim_end_matches('\r'), scribe);
    }
}

impl Live {
    fn at_once(&mut self, text: &str, scribe: &mut Scribe) {
        self.task(text, &Object::default(), scribe);
        self.echo(text, scribe);
    }

    fn task(&mut self, text: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.identify(&fields.str("session").unwrap_or_default());
        scribe.turn_started(TurnStarted { prompt: Some(text.to_owned()), ..TurnStarted::default() });
        let id = self.next_message(scribe);
        scribe.item_completed(&id, Item::new(UserMessage::text(text)));
    }

    fn echo(&mut self, text: &str, scribe: &mut Scribe) {
        scribe.ensure_turn();
        let id = self.next_message(scribe);
        scribe.item_completed(&id, Item::new(AgentMessage::text(text)));
        scribe.turn_completed(TurnCompleted::default());
    }

    fn next_message(&mut self, scribe: &Scribe) -> Id {
        self.messages += 1;
        scribe.local_id(&format!("message_{}", self.messages))
    }
}

fn interrupt(scribe: &mut Scribe) {
    scribe.notice(Notice::new(Topic::Interrupt));
    if scribe.in_turn() {
        let (status, stop) = (TurnStatus::Interrupted, Stop::Cancelled);
        scribe.turn_completed(TurnCompleted { status, stop, ..TurnCompleted::default() });
    }
}
