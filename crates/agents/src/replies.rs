//! Reply ids for agents without them: the model's output and tool calls are one reply until a tool has returned. Reply
//! counts are based on these ids.

use switchboard_event::Id;

use crate::RunRecorder;

/// The reply ids of a conversation.
#[derive(Default)]
pub struct ReplyIdSequence {
    current: Option<Id>,
    /// A tool has returned since: the next output belongs to another reply.
    acted: bool,
    count: u64,
}

impl ReplyIdSequence {
    /// Returns the reply id of model output or of a tool call.
    pub fn id_for_output(&mut self, scribe: &RunRecorder) -> Id {
        if self.acted {
            self.end_reply();
        }
        self.id_for_parallel_call(scribe)
    }

    /// Returns the reply id of another tool call in the same reply, even if others have returned.
    pub fn id_for_parallel_call(&mut self, scribe: &RunRecorder) -> Id {
        self.acted = false;
        let (current, count) = (&mut self.current, &mut self.count);
        let begin = || {
            *count += 1;
            scribe.local_id(&format!("reply_{count}"))
        };
        current.get_or_insert_with(begin).clone()
    }

    /// Sets the id that the agent has for the reply after all.
    pub fn set_current_id(&mut self, name: Id) {
        (self.current, self.acted) = (Some(name), false);
    }

    /// Marks that a tool has returned.
    pub fn mark_tool_result(&mut self) {
        self.acted = true;
    }

    /// Ends the reply at the beginning or the end of a turn.
    pub fn end_reply(&mut self) {
        (self.current, self.acted) = (None, false);
    }
}
