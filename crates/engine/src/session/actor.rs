//! The actor: waits for what comes next, has it read, does what the driver wants, writes everything down.

use std::{collections::VecDeque, sync::Arc};

use switchboard_agents::{
    Agent, BoundedLines, Command, Driver, Effect, Effects, Frame, Note, Prompt, Record, Signal, Translator, Why,
};
use switchboard_client::http::SseEvent;
use switchboard_event::{Event, Fault, Notice, SessionConfig, Topic, Usage};
use switchboard_store::{Run, StoreError};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    Journal, Link, Private,
    desk::Desk,
    handle::{Ordered, Outcome},
    link::Arrival,
    sandbox_notices::SessionSandbox,
    session_approvals::SessionApprovals,
    stderr::Stderr,
    stop::Ladder,
    timers::{Due, Timers},
};
use crate::{
    Audience, Limits, Machine,
    mask::{Mask, StreamMask},
    paths::Workspace,
    supervise::Exit,
};

/// What an actor is made of.
pub(crate) struct Parts {
    pub agent: &'static Agent,
    pub config: SessionConfig,
    pub workspace: Workspace,
    pub machine: Arc<Machine>,
    pub translator: Translator,
    pub driver: Option<Box<dyn Driver>>,
    pub link: Link,
    pub arrivals: mpsc::Receiver<Arrival>,
    pub orders: mpsc::Receiver<Ordered>,
    pub outcome: watch::Sender<Option<Outcome>>,
    /// The agent is ready for prompts.
    pub ready: watch::Sender<bool>,
    pub journal: Journal,
    pub private: Option<Private>,
    /// The processes of the run.
    pub run: Option<Run>,
    pub audience: Audience,
    pub stay: bool,
    pub limits: Limits,
    /// What the session had used before this run.
    pub used: Usage,
    /// The agent counts turns itself.
    pub counts_turns: bool,
    /// What is not to be kept of what comes and goes.
    pub mask: Mask,
    /// The sandbox around a confined session.
    pub sandbox: Option<SessionSandbox>,
}

/// The actor of one session.
pub(crate) struct Actor {
    pub(super) parts: Parts,
    pub(super) lines: BoundedLines,
    pub(super) stderr: Stderr,
    pub(super) stream_mask: StreamMask,
    pub(super) desk: Desk,
    pub(super) approvals: SessionApprovals,
    pub(super) timers: Timers,
    pub(super) todo: VecDeque<Effect>,
    /// What is to be sent once what was told of it is committed.
    pub(super) outbox: Vec<Outgoing>,
    /// Prompts and slash commands that wait for the agent.
    pub(super) prompts: VecDeque<Command>,
    pub(super) ready: bool,
    /// A prompt was given and its turn is not over.
    pub(super) busy: bool,
    /// No more prompts are taken.
    pub(super) closing: bool,
    pub(super) ladder: Ladder,
    pub(super) replies: super::told::Replies,
    pub(super) tools: super::told::Tools,
    /// The agent's own id of the session, as it is written down.
    pub(super) named: Option<switchboard_event::Id>,
    /// Why it could not go on.
    pub(super) fault: Option<Fault>,
    pub(super) exit: Option<Exit>,
    pub(super) silent: bool,
    /// Nor beside.
    pub(super) quiet: bool,
    pub(super) outcome: Outcome,
    /// Notices that wait until the event that they are about is written down.
    pub(super) pending_notices: Vec<String>,
}

/// What is to be sent.
pub(super) enum Outgoing {
    Record(Box<serde_json::value::RawValue>),
    Request(switchboard_agents::HttpRequest),
    CloseInput,
}

impl Actor {
    pub fn new(parts: Parts) -> Self {
        Self {
            stderr: Stderr::new(parts.mask.clone()),
            stream_mask: StreamMask::new(parts.mask.clone()),
            parts,
            lines: BoundedLines::default(),
            desk: Desk::default(),
            approvals: SessionApprovals::default(),
            timers: Timers::default(),
            todo: VecDeque::new(),
            outbox: Vec::new(),
            prompts: VecDeque::new(),
            ready: false,
            busy: false,
            closing: false,
            ladder: Ladder::default(),
            replies: super::told::Replies::default(),
            tools: super::told::Tools::default(),
            named: None,
            fault: None,
            exit: None,
            silent: false,
            quiet: false,
            outcome: Outcome::default(),
            pending_notices: Vec::new(),
        }
    }

    /// Says something that only Switchboard knows.
    pub fn say(&mut self, notice: &Notice) {
        self.note(&Note::Said(notice));
    }

    /// Runs the session to its end.
    pub async fn run(mut self, first: Option<Prompt>) {
        self.begin(first);
        while self.settle().await && !self.is_over() {
            if !self.todo.is_empty() {
                // A built-in agent has much to say: whoever wants it to stop is heard in between.
                if let Ok((order, reply)) = self.parts.orders.try_recv() {
                    self.ordered(order, reply).await;
                }
                continue;
            }
            tokio::select! {
                ordered = self.parts.orders.recv() => match ordered {
                    Some((order, reply)) => self.ordered(order, reply).await,
                    // Nobody is left who could want anything; the session goes on to its end.
                    None => self.parts.orders = never(),
                },
                Some(arrival) = self.parts.arrivals.recv() => self.all_arrived(arrival),
                due = self.timers.next() => self.due(due),
            }
        }
        self.finish().await;
    }

    fn begin(&mut self, first: Option<Prompt>) {
        let limits = self.parts.limits;
        self.timers.arm(Due::Beginning, super::stop::BEGINNING);
        if let Some(total) = limits.total {
            self.timers.arm(Due::Total, total);
        }
        self.prompts.extend(first.map(Command::Prompt));
        match self.parts.driver.as_mut() {
            Some(driver) => {
                self.timers.arm(Due::Handshake, limits.handshake);
                let mut effects = Effects::default();
                driver.open(&mut effects);
                self.todo.extend(effects.drain());
            }
            // Its prompt went with its start.
            None => {
                (self.ready, self.busy, self.closing) = (true, true, true);
                self.prompts.clear();
                self.sign_of_life();
            }
        }
    }

    /// What came, and what came with it: much at once is committed together.
    fn all_arrived(&mut self, first: Arrival) {
        self.arrived(first);
        while self.todo.is_empty()
            && self.outbox.is_empty()
            && !self.parts.journal.is_full()
            && let Ok(next) = self.parts.arrivals.try_recv()
        {
            self.arrived(next);
        }
    }

    fn arrived(&mut self, arrival: Arrival) {
        if !matches!(arrival, Arrival::Exited(_)) {
            self.sign_of_life();
        }
        match arrival {
            Arrival::Stdout(bytes) => self.hear_bytes(&bytes),
            Arrival::StdoutEnd => self.fell_silent(),
            Arrival::Stderr(bytes) => {
                for line in self.stderr.push(&bytes) {
                    self.note(&Note::Stderr(&line));
                }
            }
            Arrival::StderrEnd => self.quiet = true,
            Arrival::Exited(exit) => self.exited(exit),
            Arrival::Answer(request, answer) => self.answered(&request, &answer),
            Arrival::Stream(SseEvent::Opened) => self.signal(Signal::StreamOpened),
            Arrival::Stream(SseEvent::Data(data)) => self.hear(&data),
            Arrival::Stream(SseEvent::Closed(_)) => self.signal(Signal::StreamClosed),
            Arrival::Message(message) => self.hear(message.as_bytes()),
            Arrival::MessagesEnd(Ok(())) => self.signal(Signal::StreamEnded),
            Arrival::MessagesEnd(Err(error)) => self.lost(&error),
        }
    }

    pub(super) fn hear_bytes(&mut self, bytes: &[u8]) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes, |frame| self.hear_frame(&frame));
        self.lines = lines;
    }

    /// A line, or a piece of one that is too long to be read: it is kept, and the session goes on.
    pub(super) fn hear_frame(&mut self, frame: &Frame<'_>) {
        match frame {
            Frame::Line(line) => self.hear(line),
            Frame::Piece { bytes, .. } => {
                let mut events = Vec::new();
                let bytes = self.parts.mask.cover(bytes);
                self.parts.translator.piece(&bytes, (self.parts.machine.now)(), &mut events);
                self.told(events);
            }
        }
    }

    /// The agent said something.
    pub(super) fn hear(&mut self, line: &[u8]) {
        let line = self.parts.mask.cover(line);
        Record::for_each_live(&line, (self.parts.machine.now)(), |record| self.record(record));
    }

    /// A record came or went.
    pub(super) fn record(&mut self, record: &Record<'_>) {
        let mut events = Vec::new();
        self.parts.translator.record(record, &mut events);
        if let Some(driver) = self.parts.driver.as_mut() {
            let mut effects = Effects::default();
            driver.saw(record, &events, &mut effects);
            self.todo.extend(effects.drain());
        }
        self.told(events);
    }

    /// Something that the wire does not say.
    pub(super) fn note(&mut self, note: &Note<'_>) {
        let mut events: Vec<Event> = Vec::new();
        self.parts.translator.note(note, Some((self.parts.machine.now)()), &mut events);
        self.told(events);
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.say(&Notice::new(Topic::Warning).with_level(switchboard_event::Level::Warning).with_text(text));
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(driver) = self.parts.driver.as_mut() {
            let mut effects = Effects::default();
            driver.signal(signal, &mut effects);
            self.todo.extend(effects.drain());
        }
    }

    /// The session begins without a prompt.
    pub(super) fn begun(&mut self) {
        let mut events = Vec::new();
        self.parts.translator.begun((self.parts.machine.now)(), &mut events);
        self.told(events);
    }

    fn due(&mut self, due: Due) {
        match due {
            Due::Total | Due::Idle => self.stop(Why::Timeout),
            Due::Handshake => self.too_slow(),
            Due::Beginning => {
                let mut events = Vec::new();
                self.parts.translator.release(&mut events);
                self.told(events);
            }
            Due::Unused => {
                self.closing = true;
                self.go_on();
            }
            Due::Interrupt => {
                self.warn("the agent did not stop the turn when it was told to, so it is stopped itself");
                self.stop(Why::Cancelled);
            }
            Due::Stop => self.climb(),
            Due::Drain => (self.silent, self.quiet) = (true, true),
            Due::Request(request) => self.expire(request),
            Due::Driver(timer) => self.signal(Signal::Timer(timer)),
        }
    }

    /// Does what is to be done, or much of it, and has it committed; what is to be sent waits for that. False if it
    /// cannot be written down.
    async fn settle(&mut self) -> bool {
        self.send_pending_notices();
        self.do_todo();
        // Whoever waits for it to be ready then knows what it has said about itself.
        let is_news = self.ready && !*self.parts.ready.borrow();
        let written = match self.outbox.is_empty() && !is_news {
            true => self.parts.journal.submit().await,
            false => self.parts.journal.commit().await,
        };
        if is_news {
            self.parts.ready.send_replace(true);
        }
        self.send_out(written)
    }

    fn do_todo(&mut self) {
        while !self.parts.journal.is_full()
            && let Some(effect) = self.todo.pop_front()
        {
            self.perform(effect);
        }
    }

    /// Sends what may be sent now.
    fn send_out(&mut self, written: Result<(), StoreError>) -> bool {
        if let Err(error) = written {
            self.outcome.unwritten.get_or_insert(error.to_string());
            return false;
        }
        for outgoing in std::mem::take(&mut self.outbox) {
            self.parts.link.send_out(outgoing);
        }
        true
    }

    /// Commits before somebody is told that something was done.
    pub(super) async fn reply<T>(&mut self, reply: oneshot::Sender<T>, answer: T) {
        self.do_todo();
        let written = self.parts.journal.commit().await;
        self.send_out(written);
        // Whoever asked may have gone.
        drop(reply.send(answer));
    }

    fn is_over(&self) -> bool {
        if self.parts.link.is_process() { self.exit.is_some() && self.silent && self.quiet } else { self.silent }
    }
}

fn never() -> mpsc::Receiver<Ordered> {
    let (sender, receiver) = mpsc::channel(1);
    // Kept for ever, so that nobody hears of its end again and again.
    std::mem::forget(sender);
    receiver
}
