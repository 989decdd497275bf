//! What a person sees of a session: events in, text for two sinks out. The *answer* is what the agent writes, the
//! *activity* is everything else: commands, file changes, plans, problems, usage. On a terminal both go to the same
//! place; in a pipe the answer goes to standard output and the activity to standard error, so that scripts read the
//! answer alone. The module has no clock, terminal or input. Text from agents is untrusted and always sanitized.
//!
//! [`TranscriptView`] shows events and draws the status line, [`RequestPrompt`] is the conversation about one request.

mod ask;
pub mod figures;
mod file_changes;
pub mod fold;
mod items;
mod messages;
mod notices;
mod renderer;
pub mod sanitize;
mod status;
pub mod style;
mod tool_calls;
mod turns;

#[cfg(test)]
mod tests;

use std::{collections::HashMap, time::Duration};

pub use ask::{PromptStep, RequestPrompt};
use fold::{FoldedText, UNLIMITED, fold_lines};
use items::{OpenItem, SubagentTracker};
use messages::LastMessage;
use notices::TurnRequests;
use renderer::Renderer;
pub use renderer::{OutputSink, ViewOutput};
use sanitize::TextSanitizer;
use status::AgentStatus;
pub use style::paint;
use switchboard_event::{Event, EventBody, Id};
pub use tool_calls::describe_call;
use turns::TurnState;

/// Renders the events of a session.
#[derive(Debug)]
pub struct TranscriptView {
    pub(super) renderer: Renderer,
    pub(super) open: HashMap<Id, OpenItem>,
    pub(super) subagents: SubagentTracker,
    pub(super) requests: TurnRequests,
    pub(super) turn: TurnState,
    pub(super) doing: AgentStatus,
    pub(super) plan: String,
    pub(super) cwd: Option<String>,
    pub(super) last: LastMessage,
}

impl TranscriptView {
    /// Creates a view of a session from its beginning, or from the start of a run.
    #[must_use]
    pub fn new(options: ViewOptions) -> Self {
        Self {
            renderer: Renderer::new(options),
            open: HashMap::new(),
            subagents: SubagentTracker::default(),
            requests: TurnRequests::default(),
            turn: TurnState::default(),
            doing: AgentStatus::default(),
            plan: String::new(),
            cwd: None,
            last: LastMessage::default(),
        }
    }

    pub fn event(&mut self, event: &Event, out: &mut ViewOutput) {
        self.write(out, |view| view.show(event));
    }

    /// Draws or updates the status line. [`TranscriptView::event`] removes it before it writes.
    pub fn draw_status(&mut self, elapsed: Duration, out: &mut ViewOutput) {
        if self.doing.is_over {
            return;
        }
        let text = self.status(elapsed);
        self.write(out, |view| view.renderer.draw_status(&text));
    }

    /// Prepares the screen for other output: removes the status line and ends a begun line.
    pub fn pause(&mut self, out: &mut ViewOutput) {
        self.write(out, |view| {
            view.renderer.clear_status();
            view.renderer.break_line();
            view.renderer.forget_owner();
        });
    }

    /// Writes the caller's own text, such as that of a [`RequestPrompt`], below what was shown. It may end in the
    /// middle of a line: what follows begins a new one, and the status line waits.
    pub fn aside(&mut self, text: &str, out: &mut ViewOutput) {
        self.pause(out);
        self.write(out, |view| view.renderer.aside(text));
    }

    /// Records that the user typed a line, which ended the prompt before it.
    pub fn entered(&mut self) {
        self.renderer.entered();
    }

    pub fn resize(&mut self, width: u16) {
        self.renderer.options.width = width;
    }

    fn write(&mut self, out: &mut ViewOutput, write: impl FnOnce(&mut Self)) {
        std::mem::swap(&mut self.renderer.out, out);
        write(self);
        std::mem::swap(&mut self.renderer.out, out);
    }

    fn show(&mut self, event: &Event) {
        self.last.apply(event);
        self.doing.apply(event);
        self.renderer.depth = self.subagents.depth(event);
        match &event.body {
            EventBody::SessionStarted(started) => self.session_started(event, started),
            EventBody::SessionUpdated(updated) => self.session_updated(updated),
            EventBody::SessionEnded(ended) => self.session_ended(event, ended),
            EventBody::TurnStarted(turn) => self.turn_started(event, turn),
            EventBody::TurnCompleted(turn) => self.turn_completed(event, turn),
            EventBody::ItemStarted(item) => self.item_started(event, item),
            EventBody::ItemDelta(delta) => self.item_grew(event, delta),
            EventBody::ItemCompleted(item) => self.item_completed(event, item),
            EventBody::RequestOpened(request) => self.request_opened(event, request),
            EventBody::RequestResolved(resolved) => self.request_resolved(event, resolved),
            EventBody::Usage(usage) => self.turn.used(usage),
            EventBody::Notice(notice) => self.notice(event, notice),
        }
    }

    /// Folds a text, unless the view has full detail.
    pub(super) fn fold<'a>(&self, text: &'a str, head: usize, tail: usize) -> FoldedText<'a> {
        if self.renderer.options.detail == DetailLevel::Full {
            fold_lines(text, UNLIMITED, 0)
        } else {
            fold_lines(text, head, tail)
        }
    }

    /// Shows the last message, if the answer consists of that alone.
    pub(super) fn show_last_message(&mut self) {
        if self.renderer.options.last_message
            && let Some(text) = self.last.text()
        {
            let (text, id) = (TextSanitizer::whole(text), Id::from("last message"));
            self.renderer.write_message(&id, &text);
            self.renderer.finish(&id, OutputSink::Answer);
        }
    }
}

/// How a session is shown. The caller knows the terminal and the environment.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own, made by a flag or by the terminal")]
pub struct ViewOptions {
    /// Which sinks are terminals.
    pub screen: ScreenLayout,
    /// Use colors in the activity; the answer never has any.
    pub color: bool,
    /// Maximum width of a line of activity; 0 if unknown or irrelevant.
    pub width: u16,
    /// Show reasoning.
    pub reasoning: bool,
    /// Show the answer as it arrives. Otherwise each message is shown when it is complete, unless the agent retracted
    /// it.
    pub stream: bool,
    /// Of the activity, show only problems and the end.
    pub quiet: bool,
    /// Of the answer, show only the last message, at the end.
    pub last_message: bool,
    /// Show the first prompt, not only later ones.
    pub first_prompt: bool,
    /// At the end, show how to continue the session.
    pub resume: bool,
    /// How much of tool calls is shown.
    pub detail: DetailLevel,
}

/// How much of tool calls is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetailLevel {
    /// For watching: calls, and the output of commands.
    Live,
    /// For reading later: the beginning of each tool's output, thoughts in brief.
    Brief,
    Full,
}

/// Which sinks are terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenLayout {
    /// Neither is a terminal: no status line, no cursor movement.
    None,
    /// Only the activity goes to a terminal.
    Activity,
    /// Both go to the same terminal.
    Both,
}

impl ViewOptions {
    #[must_use]
    pub fn terminal(width: u16) -> Self {
        Self {
            screen: ScreenLayout::Both,
            color: true,
            width,
            reasoning: true,
            stream: true,
            quiet: false,
            last_message: false,
            first_prompt: false,
            resume: true,
            detail: DetailLevel::Live,
        }
    }

    /// Returns the options for pipes and files.
    #[must_use]
    pub fn piped() -> Self {
        Self { screen: ScreenLayout::None, color: false, width: 0, stream: false, ..Self::terminal(0) }
    }
}
