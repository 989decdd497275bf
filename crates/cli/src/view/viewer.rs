//! The view of a session: takes events, gives text. Only dispatches; each kind of thing is shown in a file of its own.

use std::{collections::HashMap, time::Duration};

use switchboard_event::{Event, EventBody, Id};

use super::{
    clean::Flow,
    fold::{Folded, WHOLE, fold},
    items::Open,
    last::LastMessage,
    options::{Detail, Options},
    output::{Output, Sink},
    paper::Paper,
    requests::Requests,
    status::Doing,
    subagents::Subagents,
    turns::Turn,
};

/// What a person sees of a session.
#[derive(Debug)]
pub struct View {
    pub(super) paper: Paper,
    pub(super) open: HashMap<Id, Open>,
    pub(super) subagents: Subagents,
    pub(super) requests: Requests,
    pub(super) turn: Turn,
    pub(super) doing: Doing,
    /// The plan as it was last shown.
    pub(super) plan: String,
    /// The folder the session works in.
    pub(super) cwd: Option<String>,
    pub(super) last: LastMessage,
}

impl View {
    /// A view of a session from its beginning, or from where a run begins.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            paper: Paper::new(options),
            open: HashMap::new(),
            subagents: Subagents::default(),
            requests: Requests::default(),
            turn: Turn::default(),
            doing: Doing::default(),
            plan: String::new(),
            cwd: None,
            last: LastMessage::default(),
        }
    }

    /// Shows an event.
    pub fn event(&mut self, event: &Event, out: &mut Output) {
        self.write(out, |view| view.show(event));
    }

    /// Draws the status line, or draws it again. To be called every tenth of a second or so while a turn runs;
    /// [`View::event`] takes the line away before it writes.
    pub fn draw_status(&mut self, elapsed: Duration, out: &mut Output) {
        if self.doing.is_over {
            return;
        }
        let text = self.status(elapsed);
        self.write(out, |view| view.paper.draw_status(&text));
    }

    /// Prepares the screen for other output: removes the status line and ends a begun line.
    pub fn pause(&mut self, out: &mut Output) {
        self.write(out, |view| {
            view.paper.clear_status();
            view.paper.break_line();
            view.paper.disown();
        });
    }

    /// Writes something of the caller's own, such as what [`super::Asking`] says, below what was shown. It may end
    /// in the middle of a line: what is shown next begins a new one, and the status line waits.
    pub fn aside(&mut self, text: &str, out: &mut Output) {
        self.pause(out);
        self.write(out, |view| view.paper.aside(text));
    }

    /// Notes that the user typed a line, which ended the prompt in front of it.
    pub fn entered(&mut self) {
        self.paper.entered();
    }

    /// The terminal has another width now.
    pub fn resize(&mut self, width: u16) {
        self.paper.options.width = width;
    }

    fn write(&mut self, out: &mut Output, write: impl FnOnce(&mut Self)) {
        std::mem::swap(&mut self.paper.out, out);
        write(self);
        std::mem::swap(&mut self.paper.out, out);
    }

    fn show(&mut self, event: &Event) {
        self.last.see(event);
        self.doing.see(event);
        self.paper.depth = self.subagents.depth(event);
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

    /// A text in short, unless all of it is wanted.
    pub(super) fn fold<'a>(&self, text: &'a str, head: usize, tail: usize) -> Folded<'a> {
        if self.paper.options.detail == Detail::Full { fold(text, WHOLE, 0) } else { fold(text, head, tail) }
    }

    /// The answer is only its last message, and now is the time for it.
    pub(super) fn tell_last_message(&mut self) {
        if self.paper.options.last_message
            && let Some(text) = self.last.text()
        {
            let (text, id) = (Flow::whole(text), Id::from("last message"));
            self.paper.say(&id, &text);
            self.paper.finish(&id, Sink::Answer);
        }
    }
}
