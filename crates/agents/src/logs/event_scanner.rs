//! A [`LogScanner`] based on any [`RecordReader`]: it extracts its output from the reader's events. Not the fastest way, but
//! consistent by construction: for agents whose logs are small. A reader of logs writes every prompt as an item, and
//! every reply's usage under a key. Also a [`LogScanner`] of existing events: Switchboard's own log.

use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;
use switchboard_event::{
    Details, Dir, Event, EventBody, Id, Info, Item, Level, NativeBody, NativeRecord, Notice, Status, Timestamp, Topic,
    TurnCompleted, Usage, UserMessage,
};

use super::{
    LogFile, LogScanner, PassageKind, ReplyTokens, ScanDepth, ScanOutput, SessionFacts, ToolCallRef, event_text,
};
use crate::{JsonView, RecordReader, RunRecorder, SessionContext};

/// The name of a record without a kind.
const UNNAMED_RECORD_KIND: &str = "one without a name";

/// The properties of an agent's logs that are not in its events.
#[derive(Clone, Copy)]
pub struct EventScannerConfig {
    pub agent: &'static str,
    /// Creates the reader.
    pub reader: fn() -> Box<dyn RecordReader>,
    /// Returns whether the record can affect token usage; see [`LogScanner::counts`].
    pub counts: fn(&[u8]) -> bool,
    /// Long fields without token usage.
    pub long: &'static [&'static str],
    /// The key that identifies a reply everywhere.
    pub key: ReplyKey,
    /// Adds facts of a record that are in no event. Usage is attributed to the subagent; the session is identified by
    /// its id.
    pub facts: fn(JsonView<'_>, &mut SessionFacts),
    /// Returns the problem of a record that could only be read in part.
    pub wrong: fn(JsonView<'_>) -> Option<String>,
}

/// Scans a log by reading it.
pub struct EventScanner {
    ways: EventScannerConfig,
    reader: Box<dyn RecordReader>,
    recorder: RunRecorder,
    /// The facts in the file name.
    file: SessionFacts,
    events: EventExtractor,
}

impl EventScanner {
    #[must_use]
    pub fn new(ways: EventScannerConfig, file: &LogFile) -> Self {
        Self {
            reader: (ways.reader)(),
            recorder: RunRecorder::new(ways.agent, 1, 1, 0, SessionContext::default()),
            events: EventExtractor::new(ways.key),
            file: SessionFacts {
                session: file.session.clone(),
                parent: file.parent.clone(),
                ..SessionFacts::default()
            },
            ways,
        }
    }

    fn record_problem(&self, record: JsonView<'_>) -> Option<String> {
        match record.is_object() {
            true => (self.ways.wrong)(record),
            false => Some("a record is no object".to_owned()),
        }
    }

    /// Extracts the output from the recorded events.
    fn extract_recorded_events(&mut self, depth: ScanDepth, found: &mut ScanOutput) {
        let made: Vec<_> = self.recorder.drain().collect();
        self.events.session = self.recorder.agent_session().map(ToString::to_string);
        self.events.cwd = self.recorder.working_directory().map(str::to_owned);
        for event in &made {
            self.events.extract_event(event, depth, found);
        }
        self.events.write_facts(found);
        found.facts.session = found.facts.session.take().or_else(|| self.file.session.clone());
        found.facts.parent = found.facts.parent.take().or_else(|| self.file.parent.clone());
    }
}

impl LogScanner for EventScanner {
    fn may_affect_usage(&self, record: &[u8]) -> bool {
        (self.ways.counts)(record)
    }

    fn scan_record(&mut self, record: &str, depth: ScanDepth, found: &mut ScanOutput) {
        let short;
        let record = match depth {
            ScanDepth::Tokens if !self.ways.long.is_empty() => {
                short = JsonView::shorten_fields(record, self.ways.long);
                short.as_deref().map(JsonView::from_valid_text)
            }
            _ => JsonView::parse(record),
        };
        let Some(record) = record else { return found.mark_not_json() };
        // Only the existence of the record matters here; its content is not stored.
        let native = NativeRecord { dir: Dir::In, body: NativeBody::Json(RawValue::NULL.to_owned()) };
        self.recorder.begin_record(Some(native), self.events.at.unwrap_or_default(), None);
        self.recorder.set_brief(depth == ScanDepth::Tokens);
        self.reader.read(Dir::In, record, &mut self.recorder);
        self.recorder.finish_record(|| unknown_record_notice(record));
        self.events.at = self.recorder.stated_time().or(self.events.at);
        self.events.began = self.events.began.or(self.events.at);
        let mut said = SessionFacts::default();
        (self.ways.facts)(record, &mut said);
        self.events.subagent = said.subagent.take().or(self.events.subagent.take());
        found.facts.merge_newer(said);
        self.extract_recorded_events(depth, found);
        // Only a full scan reports problems, so the others skip the check.
        if depth == ScanDepth::All
            && let Some(wrong) = self.record_problem(record)
        {
            // A bad record is reported once.
            (found.trouble, found.unknown) = (Some(wrong), None);
        }
    }

    fn finish(&mut self, found: &mut ScanOutput) {
        self.recorder.begin_record(None, self.events.at.unwrap_or_default(), None);
        self.reader.finish(&mut self.recorder);
        self.recorder.finish_session();
        self.extract_recorded_events(ScanDepth::All, found);
    }
}

/// The notice for a record that the reader does not know.
fn unknown_record_notice(record: JsonView<'_>) -> Notice {
    let notice = Notice::new(Topic::Unknown).with_level(Level::Debug);
    Notice { name: record.as_object().get_non_empty("type"), ..notice }
}

/// Builds the key that identifies a reply everywhere, from its session, its key there, its usage and its time.
pub type ReplyKey = fn(&str, &str, &Usage, Option<Timestamp>) -> String;

/// The state that later events need.
struct EventExtractor {
    key: ReplyKey,
    /// The session, and its working directory.
    pub session: Option<String>,
    pub cwd: Option<String>,
    /// The time of the last record that has one, and that of the first.
    pub at: Option<Timestamp>,
    pub began: Option<Timestamp>,
    pub info: Info,
    /// The subagent that the log belongs to.
    pub subagent: Option<String>,
    prompted: bool,
    /// The calls whose input was already written.
    calls: HashSet<Id>,
    /// The tools of replies without usage so far, and the keys of replies with usage.
    waiting: HashMap<Id, Vec<ToolCallRef>>,
    counted: HashMap<Id, String>,
}

impl EventExtractor {
    pub fn new(key: ReplyKey) -> Self {
        Self {
            key,
            session: None,
            cwd: None,
            at: None,
            began: None,
            info: Info::default(),
            subagent: None,
            prompted: false,
            calls: HashSet::new(),
            waiting: HashMap::new(),
            counted: HashMap::new(),
        }
    }

    /// Writes the current facts about the session.
    fn write_facts(&self, found: &mut ScanOutput) {
        let facts = &mut found.facts;
        facts.session.clone_from(&self.session);
        facts.cwd.clone_from(&self.cwd);
        (facts.model, facts.title) = (self.info.model.clone(), self.info.title.clone());
        facts.version.clone_from(&self.info.version);
        (facts.began, facts.updated) = (self.at, self.at);
        if let Some(context) = self.info.context {
            (facts.context_used, facts.context_size) = (context.used.or(facts.context_used), context.size);
        }
    }

    fn extract_event(&mut self, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        match &event.body {
            EventBody::SessionStarted(started) => self.info.apply_update(&started.info),
            EventBody::SessionUpdated(updated) => self.info.apply_update(&updated.info),
            EventBody::Usage(usage) if !usage.cumulative => self.extract_usage(usage, event, found),
            EventBody::ItemStarted(item) => self.extract_started_item(item, event, depth, found),
            EventBody::ItemCompleted(item) => self.extract_completed_item(item, event, depth, found),
            EventBody::TurnCompleted(turn) if depth == ScanDepth::All => self.extract_turn_error(turn, found),
            EventBody::Notice(notice) => self.extract_notice(notice, depth, found),
            _ => {}
        }
    }

    fn extract_usage(&mut self, usage: &Usage, event: &Event, found: &mut ScanOutput) {
        let session = self.session.as_deref().unwrap_or_default();
        // Usage without a key belongs to its event: two of them are never the same.
        let name = usage.key.clone().unwrap_or_else(|| Id::from(format!("#{}", event.seq)));
        let (tools, at) = (self.waiting.remove(&name).unwrap_or_default(), self.event_time(event));
        if event.thread.is_none() {
            found.facts.context_used = Some(usage.all_input());
        }
        let key = (self.key)(session, &name, usage, at);
        found.spent.push(ReplyTokens {
            key: key.clone(),
            at,
            model: usage.model.clone().or_else(|| self.info.model.clone()),
            cwd: self.cwd.clone(),
            subagent: event.thread.as_ref().map(ToString::to_string).or_else(|| self.subagent.clone()),
            // A reply that is older than its session was copied into it.
            copied: at < self.began,
            input: usage.input.saturating_add(usage.tool.unwrap_or(0)),
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write_5m,
            cache_write_1h: usage.cache_write_1h,
            reasoning: usage.reasoning,
            cost_usd: usage.cost_usd,
            tools,
            is_total: false,
        });
        self.counted.insert(name, key);
    }

    /// The time of an event, if any record had one.
    fn event_time(&self, event: &Event) -> Option<Timestamp> {
        self.at.map(|_| event.at)
    }

    /// Attributes a tool call to its reply.
    fn extract_tool_call(&mut self, item: &Item, event: &Event, found: &mut ScanOutput) {
        let (Some(id), Some(reply), Some(call)) = (&event.item, &item.reply, &item.call) else { return };
        let called = ToolCallRef { id: id.to_string(), name: call.name.clone() };
        match self.counted.get(reply) {
            Some(key) => {
                let (key, at) = (key.clone(), self.event_time(event));
                found.spent.push(ReplyTokens {
                    key,
                    at,
                    tools: vec![called],
                    copied: at < self.began,
                    ..ReplyTokens::default()
                });
            }
            None => self.waiting.entry(reply.clone()).or_default().push(called),
        }
    }

    fn extract_started_item(&mut self, item: &Item, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        if event_text::is_tool_item(item) {
            self.extract_tool_call(item, event, found);
            if depth == ScanDepth::All && item.call.as_ref().is_some_and(|call| call.input.is_some()) {
                self.write_call_passage(item, event, found);
            }
        }
    }

    /// Writes the input of a tool once.
    fn write_call_passage(&mut self, item: &Item, event: &Event, found: &mut ScanOutput) {
        if event.item.as_ref().is_some_and(|id| self.calls.insert(id.clone())) {
            found.add_passage(
                PassageKind::ToolCall,
                self.event_time(event),
                Some(event_text::tool_name(item)),
                &event_text::input_text(item),
            );
        }
    }

    fn extract_completed_item(&mut self, item: &Item, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        match &item.details {
            Details::UserMessage(message) => self.extract_user_message(message, event, depth, found),
            _ if depth < ScanDepth::All => {}
            Details::AgentMessage(message) => {
                let kind =
                    if item.status == Status::Superseded { PassageKind::Meta } else { PassageKind::AssistantMessage };
                found.add_passage(kind, self.event_time(event), None, &message.text);
            }
            Details::Reasoning(thought) => {
                let text = thought.text.as_deref().or(thought.summary.as_deref());
                found.add_passage(PassageKind::Reasoning, self.event_time(event), None, text.unwrap_or_default());
            }
            _ if event_text::is_tool_item(item) => {
                self.write_call_passage(item, event, found);
                found.add_passage(
                    PassageKind::ToolResult,
                    self.event_time(event),
                    Some(event_text::tool_name(item)),
                    &event_text::output_text(item),
                );
            }
            Details::Plan(plan) => {
                found.add_passage(PassageKind::Meta, self.event_time(event), None, &event_text::plan_text(plan))
            }
            Details::Unknown(unknown) => {
                found.add_passage(PassageKind::Meta, self.event_time(event), None, &unknown.name)
            }
            _ => {}
        }
    }

    /// The prompt of a subagent, or a message of the agent's host, is not a user message.
    fn extract_user_message(&mut self, message: &UserMessage, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        let text = message.joined_text();
        let is_prompt = !message.synthetic && event.thread.is_none() && event.parent.is_none();
        if is_prompt && !text.is_empty() {
            found.facts.prompts += 1;
            if !std::mem::replace(&mut self.prompted, true) {
                found.facts.prompt = Some(text.clone());
            }
        }
        if depth == ScanDepth::All {
            found.add_passage(
                if is_prompt { PassageKind::UserMessage } else { PassageKind::Meta },
                self.event_time(event),
                None,
                &text,
            );
        }
    }

    fn extract_turn_error(&self, turn: &TurnCompleted, found: &mut ScanOutput) {
        if let Some(error) = &turn.error {
            found.add_passage(PassageKind::SystemMessage, self.at, None, &error.message);
        }
    }

    fn extract_notice(&self, notice: &Notice, depth: ScanDepth, found: &mut ScanOutput) {
        if notice.topic == Topic::Unknown && notice.level == Level::Debug {
            let name = notice.name.as_deref().filter(|name| !name.is_empty());
            found.unknown = Some(name.unwrap_or(UNNAMED_RECORD_KIND).to_owned());
        }
        if let Some(kind) = event_text::notice_passage_kind(notice).filter(|_| depth == ScanDepth::All) {
            let error = notice.error.as_ref().map(|error| error.message.as_str());
            found.add_passage(kind, self.at, None, notice.text.as_deref().or(error).unwrap_or_default());
        }
    }
}

/// Scans a session that Switchboard ran, for agents that leave no log of their own.
#[must_use]
pub fn own_log_scanner() -> Box<dyn LogScanner> {
    Box::new(OwnLogScanner { events: EventExtractor::new(own_reply_key), prompt: None })
}

/// The key that identifies a reply of such a session everywhere.
#[must_use]
pub fn own_reply_key(session: &str, reply: &str, _: &Usage, _: Option<Timestamp>) -> String {
    format!("own:{session}:{reply}")
}

struct OwnLogScanner {
    events: EventExtractor,
    /// The prompt of the turn, which some agents repeat as a message.
    prompt: Option<String>,
}

impl OwnLogScanner {
    fn scan_event(&mut self, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        self.events.session.get_or_insert_with(|| event.session.to_string());
        self.events.at = Some(event.at);
        self.events.began = self.events.began.or(self.events.at);
        if let EventBody::TurnStarted(turn) = &event.body {
            self.prompt = turn.prompt.clone().filter(|prompt| !prompt.is_empty());
            self.write_prompt(depth, found);
        }
        if !self.repeats_prompt(event) {
            self.events.extract_event(event, depth, found);
        }
        self.events.cwd.clone_from(&self.events.info.cwd);
        self.events.write_facts(found);
    }

    fn write_prompt(&self, depth: ScanDepth, found: &mut ScanOutput) {
        let Some(prompt) = &self.prompt else { return };
        found.facts.prompts += 1;
        found.facts.prompt = Some(prompt.clone());
        if depth == ScanDepth::All {
            found.add_passage(PassageKind::UserMessage, self.events.at, None, prompt);
        }
    }

    fn repeats_prompt(&self, event: &Event) -> bool {
        match &event.body {
            EventBody::ItemStarted(item) | EventBody::ItemCompleted(item) => {
                matches!(&item.details, Details::UserMessage(message) if Some(message.joined_text()) == self.prompt)
            }
            _ => false,
        }
    }
}

impl LogScanner for OwnLogScanner {
    fn may_affect_usage(&self, _: &[u8]) -> bool {
        true
    }

    fn scan_record(&mut self, scan_record: &str, depth: ScanDepth, found: &mut ScanOutput) {
        let Some(scan_record) = JsonView::parse(scan_record) else { return found.mark_not_json() };
        match Event::from_json(scan_record.raw_text()) {
            Ok(event) => self.scan_event(&event, depth, found),
            Err(error) => found.trouble = Some(format!("an event of Switchboard's own log: {error}")),
        }
    }
}
