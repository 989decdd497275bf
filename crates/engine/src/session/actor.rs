//! The actor of a session: waits for input, has it translated, performs the effects of the driver, and writes all
//! events.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use switchboard_agents::{
    Agent, AgentCommand, AgentDriver, AgentPrompt, BoundedLineSplitter, DriverEffect, DriverEffects, DriverSignal,
    EngineNote, LineFrame, Record, RecordTranslator, StopCause,
};
use switchboard_client::http::SseEvent;
use switchboard_event::{Event, Fault, Id, Level, Notice, SessionConfig, Topic, Usage};
use switchboard_store::{AgentRun, StoreError};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tracing::{Level as TraceLevel, debug, enabled, error};

use super::{
    ActorChannels, AgentLink, EventWriter, NetworkApprovals, PrivateDirectory, SessionSandbox,
    approvals::{OpenRequests, SessionApprovals},
    event_effects::{McpItems, ModelReplies},
    link::{LinkEvent, OutgoingMessage, StderrLines},
    stop::{SESSION_ID_TIMEOUT, SessionTimers, StopStage, TimerKind},
};
use crate::{
    HostEnvironment, RequestAudience, SessionTimeouts,
    mask::{SecretMask, StreamMask},
    paths::Workspace,
    supervise::ProcessExit,
};

/// The interval between two checks for a session without output, for diagnostics.
const DIAGNOSTICS_INTERVAL: Duration = Duration::from_secs(30);

pub(crate) struct ActorParts {
    pub agent: &'static Agent,
    pub config: SessionConfig,
    pub workspace: Workspace,
    pub host: Arc<HostEnvironment>,
    pub translator: RecordTranslator,
    pub driver: Option<Box<dyn AgentDriver>>,
    pub link: AgentLink,
    pub link_events: mpsc::Receiver<LinkEvent>,
    pub channels: ActorChannels,
    pub event_writer: EventWriter,
    pub private: Option<PrivateDirectory>,
    pub run: Option<AgentRun>,
    pub audience: RequestAudience,
    pub stay: bool,
    pub timeouts: SessionTimeouts,
    /// The usage of the session, with all its earlier runs.
    pub usage: Usage,
    pub agent_counts_turns: bool,
    pub mask: SecretMask,
    pub sandbox: Option<SessionSandbox>,
    pub network: NetworkApprovals,
}

pub(crate) struct SessionActor {
    pub(super) parts: ActorParts,
    pub(super) stdout_lines: BoundedLineSplitter,
    pub(super) stderr_lines: StderrLines,
    pub(super) stream_mask: StreamMask,
    pub(super) open_requests: OpenRequests,
    pub(super) approvals: SessionApprovals,
    pub(super) timers: SessionTimers,
    pub(super) pending_effects: VecDeque<DriverEffect>,
    /// Messages to send once their events are committed.
    pub(super) outbox: Vec<OutgoingMessage>,
    pub(super) prompts: VecDeque<AgentCommand>,
    pub(super) is_ready: bool,
    /// A prompt was given and its turn has not ended.
    pub(super) is_busy: bool,
    /// No more prompts are taken.
    pub(super) is_closing: bool,
    pub(super) stop_stage: StopStage,
    pub(super) replies: ModelReplies,
    pub(super) mcp_items: McpItems,
    /// The agent's own ID of the session, as recorded in the log.
    pub(super) agent_session: Option<Id>,
    /// The reason why the session failed.
    pub(super) fault: Option<Fault>,
    pub(super) exit: Option<ProcessExit>,
    pub(super) stdout_closed: bool,
    pub(super) stderr_closed: bool,
    pub(super) agent_started: bool,
    pub(super) write_error: Option<String>,
    /// Notices that wait until the event that they refer to is written.
    pub(super) pending_notices: Vec<String>,
    last_agent_output: Instant,
}

impl SessionActor {
    pub fn new(parts: ActorParts) -> Self {
        Self {
            stdout_lines: BoundedLineSplitter::default(),
            stderr_lines: StderrLines::new(parts.mask.clone()),
            stream_mask: StreamMask::new(parts.mask.clone()),
            parts,
            open_requests: OpenRequests::default(),
            approvals: SessionApprovals::default(),
            timers: SessionTimers::default(),
            pending_effects: VecDeque::new(),
            outbox: Vec::new(),
            prompts: VecDeque::new(),
            is_ready: false,
            is_busy: false,
            is_closing: false,
            stop_stage: StopStage::default(),
            replies: ModelReplies::default(),
            mcp_items: McpItems::default(),
            agent_session: None,
            fault: None,
            exit: None,
            stdout_closed: false,
            stderr_closed: false,
            agent_started: false,
            write_error: None,
            pending_notices: Vec::new(),
            last_agent_output: Instant::now(),
        }
    }

    pub async fn run(mut self, prompt: Option<AgentPrompt>) {
        self.begin(prompt);
        while self.perform_and_commit().await && !self.is_finished() {
            if !self.pending_effects.is_empty() {
                // A built-in agent may produce many effects in a row: commands such as a stop are handled in between.
                if let Ok((command, reply)) = self.parts.channels.commands.try_recv() {
                    self.handle_command(command, reply).await;
                }
                continue;
            }
            tokio::select! {
                Some((command, reply)) = self.parts.channels.commands.recv() => self.handle_command(command, reply).await,
                Some(event) = self.parts.link_events.recv() => self.handle_link_events(event),
                timer = self.timers.next() => self.handle_timer(timer),
            }
        }
        self.finish().await;
    }

    fn begin(&mut self, prompt: Option<AgentPrompt>) {
        let timeouts = self.parts.timeouts;
        self.timers.arm(TimerKind::SessionId, SESSION_ID_TIMEOUT);
        if enabled!(TraceLevel::DEBUG) {
            self.timers.arm(TimerKind::Diagnostics, DIAGNOSTICS_INTERVAL);
        }
        if let Some(total) = timeouts.total {
            self.timers.arm(TimerKind::Total, total);
        }
        match self.parts.driver.as_mut() {
            Some(driver) => {
                self.prompts.extend(prompt.map(AgentCommand::Prompt));
                self.timers.arm(TimerKind::Handshake, timeouts.handshake);
                let mut effects = DriverEffects::default();
                driver.open(&mut effects);
                self.pending_effects.extend(effects.drain());
            }
            // The prompt was part of the start.
            None => {
                (self.is_ready, self.is_busy, self.is_closing) = (true, true, true);
                self.note_activity();
            }
        }
    }

    /// Handles an event of the link and those that wait behind it, so that they are committed together.
    fn handle_link_events(&mut self, first: LinkEvent) {
        self.handle_link_event(first);
        while self.pending_effects.is_empty()
            && self.outbox.is_empty()
            && !self.parts.event_writer.is_full()
            && let Ok(next) = self.parts.link_events.try_recv()
        {
            self.handle_link_event(next);
        }
    }

    fn handle_link_event(&mut self, event: LinkEvent) {
        if !matches!(event, LinkEvent::Exited(_)) {
            self.last_agent_output = Instant::now();
            self.note_activity();
        }
        match event {
            LinkEvent::Stdout(bytes) => {
                let mut lines = std::mem::take(&mut self.stdout_lines);
                lines.push(&bytes, |frame| self.read_frame(&frame));
                self.stdout_lines = lines;
            }
            LinkEvent::StdoutClosed => self.handle_stdout_closed(),
            LinkEvent::Stderr(bytes) => {
                for line in self.stderr_lines.push(&bytes) {
                    self.apply_note(&EngineNote::Stderr(&line));
                }
            }
            LinkEvent::StderrClosed => {
                debug!("standard error closed");
                self.stderr_closed = true;
            }
            LinkEvent::Exited(exit) => self.handle_exit(exit),
            LinkEvent::HttpAnswer(request, answer) => self.read_http_answer(&request, &answer),
            LinkEvent::Stream(SseEvent::Opened) => self.signal_driver(DriverSignal::StreamOpened),
            LinkEvent::Stream(SseEvent::Data(data)) => self.read_line(&data),
            LinkEvent::Stream(SseEvent::Closed(_)) => self.signal_driver(DriverSignal::StreamClosed),
            LinkEvent::Message(message) => self.read_line(message.as_bytes()),
            LinkEvent::MessagesEnded(Ok(())) => self.signal_driver(DriverSignal::StreamEnded),
            LinkEvent::MessagesEnded(Err(error)) => self.fail_lost_session(&error),
            LinkEvent::Network(event) => self.handle_network_event(event),
            LinkEvent::ConnectionAbandoned(request) => self.abandon_connection(&request),
            LinkEvent::GrantNotStored { host, port, error } => self.report_unstored_grant(&host, port, &error),
        }
    }

    /// Reads a line, or a piece of a line that is too long to parse: it is recorded, and the session continues.
    pub(super) fn read_frame(&mut self, frame: &LineFrame<'_>) {
        match frame {
            LineFrame::Line(line) => self.read_line(line),
            LineFrame::Piece { bytes, .. } => {
                let mut events = Vec::new();
                let bytes = self.parts.mask.mask_bytes(bytes);
                self.parts.translator.record_oversized_piece(&bytes, (self.parts.host.now)(), &mut events);
                self.apply_events(events);
            }
        }
    }

    pub(super) fn read_line(&mut self, line: &[u8]) {
        let line = self.parts.mask.mask_bytes(line);
        Record::for_each_in_live_line(&line, (self.parts.host.now)(), |record| self.translate_record(record));
    }

    /// Translates an incoming or outgoing record, and shows it to the driver.
    pub(super) fn translate_record(&mut self, record: &Record<'_>) {
        let mut events = Vec::new();
        self.parts.translator.translate_record(record, &mut events);
        if let Some(driver) = self.parts.driver.as_mut() {
            let mut effects = DriverEffects::default();
            driver.observe_record(record, &events, &mut effects);
            self.pending_effects.extend(effects.drain());
        }
        self.apply_events(events);
    }

    /// Translates a note of the engine, which is not part of the agent's protocol.
    pub(super) fn apply_note(&mut self, note: &EngineNote<'_>) {
        let mut events: Vec<Event> = Vec::new();
        self.parts.translator.apply_note(note, Some((self.parts.host.now)()), &mut events);
        self.apply_events(events);
    }

    pub fn write_notice(&mut self, notice: &Notice) {
        self.apply_note(&EngineNote::Said(notice));
    }

    pub(super) fn write_warning(&mut self, text: impl Into<String>) {
        self.write_notice(&Notice::new(Topic::Warning).with_level(Level::Warning).with_text(text));
    }

    fn signal_driver(&mut self, signal: DriverSignal) {
        if let Some(driver) = self.parts.driver.as_mut() {
            let mut effects = DriverEffects::default();
            driver.handle_signal(signal, &mut effects);
            self.pending_effects.extend(effects.drain());
        }
    }

    /// Begins the session without a prompt.
    pub(super) fn mark_started(&mut self) {
        let mut events = Vec::new();
        self.parts.translator.mark_started((self.parts.host.now)(), &mut events);
        self.apply_events(events);
    }

    fn handle_timer(&mut self, timer: TimerKind) {
        if timer != TimerKind::Diagnostics {
            debug!(?timer, "timer expired");
        }
        match timer {
            TimerKind::Diagnostics => self.log_inactivity(),
            TimerKind::Total | TimerKind::Idle => self.stop(StopCause::Timeout),
            TimerKind::Handshake => self.fail_handshake(),
            TimerKind::SessionId => {
                let mut events = Vec::new();
                self.parts.translator.release_held_events(&mut events);
                self.apply_events(events);
            }
            TimerKind::Unused => {
                self.is_closing = true;
                self.give_next_prompts();
            }
            TimerKind::Interrupt => {
                self.write_warning("the agent did not interrupt the turn, so it is stopped");
                self.stop(StopCause::Cancelled);
            }
            TimerKind::Stop => self.escalate_stop(),
            TimerKind::Drain => (self.stdout_closed, self.stderr_closed) = (true, true),
            TimerKind::Request(request) => self.expire_request(request),
            TimerKind::Driver(timer) => self.signal_driver(DriverSignal::Timer(timer)),
        }
    }

    /// Logs what a session without output waits for.
    fn log_inactivity(&mut self) {
        self.timers.arm(TimerKind::Diagnostics, DIAGNOSTICS_INTERVAL);
        let silent = self.last_agent_output.elapsed();
        if silent >= DIAGNOSTICS_INTERVAL {
            debug!(
                silent_seconds = silent.as_secs(),
                is_ready = self.is_ready,
                is_busy = self.is_busy,
                waits_for_answer = self.open_requests.is_waiting(),
                queued_prompts = self.prompts.len(),
                backlog = ?self.parts.link.backlog(),
                stop_stage = ?self.stop_stage,
                "no agent output"
            );
        }
    }

    /// Performs pending effects, commits their events, and then sends the outgoing messages. Returns false if the log
    /// cannot be written.
    async fn perform_and_commit(&mut self) -> bool {
        self.write_pending_notices();
        self.perform_pending_effects();
        // Committed first, so that the agent's reports about itself are visible as soon as it is ready.
        let became_ready = self.is_ready && !*self.parts.channels.ready.borrow();
        let written = match self.outbox.is_empty() && !became_ready {
            true => self.parts.event_writer.submit().await,
            false => self.parts.event_writer.commit().await,
        };
        if became_ready {
            debug!("agent ready");
            self.parts.channels.ready.send_replace(true);
        }
        self.send_outbox(written)
    }

    fn perform_pending_effects(&mut self) {
        while !self.parts.event_writer.is_full()
            && let Some(effect) = self.pending_effects.pop_front()
        {
            self.perform_effect(effect);
        }
    }

    /// Sends the outgoing messages, unless the write failed.
    pub(super) fn send_outbox(&mut self, written: Result<(), StoreError>) -> bool {
        if let Err(error) = written {
            error!(%error, "events could not be written");
            if matches!(error, StoreError::NotOwner(_) | StoreError::NoSession(_) | StoreError::Unreachable(_)) {
                // Another process may continue the session, so its agent must not.
                self.parts.link.stop(Duration::ZERO);
            }
            self.write_error.get_or_insert(error.to_string());
            return false;
        }
        for message in std::mem::take(&mut self.outbox) {
            self.parts.link.send(message);
        }
        true
    }

    /// Commits all events before replying to a command.
    pub(super) async fn reply<T>(&mut self, reply: oneshot::Sender<T>, result: T) {
        self.perform_pending_effects();
        let written = self.parts.event_writer.commit().await;
        self.send_outbox(written);
        // The receiver may be gone.
        drop(reply.send(result));
    }

    fn is_finished(&self) -> bool {
        self.stdout_closed && (!self.parts.link.has_process() || self.exit.is_some() && self.stderr_closed)
    }
}
