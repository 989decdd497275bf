//! The contract between an agent's directory and the rest: a [`RecordReader`] interprets records and writes their events to
//! the [`RunRecorder`].

use switchboard_event::{Decider, Dir, Fault, Id, Notice, RequestOpened, RequestResolved, SessionConfig, Topic, Usage};

use crate::{JsonView, RunRecorder};

/// Reads the records of one agent. It never fails: records that it does not understand are left to the translator,
/// which keeps them as a `notice`.
pub trait RecordReader: Send {
    /// Returns whether the records have timestamps. Events then wait for the first one, so that earlier events get a
    /// time of the stream and not that of its reading.
    fn has_timestamps(&self) -> bool {
        false
    }

    /// Returns the product's own name, if logs know it by another name than users type.
    fn product_name(&self) -> Option<&'static str> {
        None
    }

    /// Reads one JSON record and writes its events.
    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder);

    /// Reads one record that is text, not JSON. Most agents print such lines by accident.
    fn read_text(&mut self, dir: Dir, line: &str, recorder: &mut RunRecorder) {
        let _unused = dir;
        recorder.write_notice(Notice::new(Topic::Stdout).with_text(line.trim_end_matches('\r')));
    }

    /// Handles information that is not on the wire.
    fn handle_note(&mut self, note: &EngineNote<'_>, recorder: &mut RunRecorder) {
        let _unused = (note, recorder);
    }

    /// Returns whether the record belongs to another session than those before: some files hold several, one after the
    /// other.
    fn starts_other_session(&self, record: JsonView<'_>, recorder: &RunRecorder) -> bool {
        let _unused = (record, recorder);
        false
    }

    /// Returns whether the agent is idle according to the last record, although it does not mark the end of a turn:
    /// records of the turn may still follow.
    fn is_idle(&self) -> bool {
        false
    }

    /// Closes, at the end of the stream, what the agent's own rules tell to close. The recorder closes the rest.
    fn finish(&mut self, recorder: &mut RunRecorder) {
        let _unused = recorder;
    }
}

/// What Switchboard knows about a session independently of its agent.
#[derive(Clone, Debug, Default)]
pub struct SessionContext {
    /// The settings it was started with.
    pub config: SessionConfig,
    /// The prompt it was started with, if that is not on the wire.
    pub prompt: Option<String>,
    /// The session that it continues.
    pub resumed: Option<Id>,
    /// The value of a running usage total before this run.
    pub usage_base: Option<Usage>,
}

/// Information that is not on the wire.
#[derive(Clone, Debug)]
pub enum EngineNote<'a> {
    /// A line on the agent's standard error.
    Stderr(&'a str),
    /// A request is about to be answered by this decider: the wire shows only the answer.
    Decided(&'a Id, Decider),
    /// A notice of Switchboard itself.
    Said(&'a Notice),
    /// Switchboard itself asks for an approval, on behalf of the agent's action.
    Asked(&'a RequestOpened),
    /// A request of Switchboard itself was answered.
    Answered(&'a RequestResolved),
    /// Switchboard is stopping the agent.
    Stopping(StopCause),
    /// No more work will come: the agent is expected to exit by itself, which is not a failure.
    Closing,
    /// The likely cause, if the session turns out to have failed.
    Failed(Fault),
    /// The agent's process ended.
    Exited {
        code: Option<i32>,
        /// The signal that killed it.
        signal: Option<i32>,
    },
}

/// The reason why Switchboard stops an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// A client asked for it.
    Cancelled,
    /// The session took too long.
    Timeout,
    /// The turn limit was reached.
    MaxTurns,
}

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
    pub fn id_for_output(&mut self, recorder: &RunRecorder) -> Id {
        if self.acted {
            self.end_reply();
        }
        self.id_for_parallel_call(recorder)
    }

    /// Returns the reply id of another tool call in the same reply, even if others have returned.
    pub fn id_for_parallel_call(&mut self, recorder: &RunRecorder) -> Id {
        self.acted = false;
        let (current, count) = (&mut self.current, &mut self.count);
        let begin = || {
            *count += 1;
            recorder.local_id(&format!("reply_{count}"))
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
