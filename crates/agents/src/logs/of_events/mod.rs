//! A [`LogScanner`] based on any [`RecordReader`]: it extracts its output from the reader's events. Not the fastest way, but
//! consistent by construction: for agents whose logs are small. A reader of logs writes every prompt as an item, and
//! every reply's usage under a key. Also a [`LogScanner`] of existing events: Switchboard's own log.

mod events;
mod own;
mod text;

use events::EventExtractor;
pub use events::ReplyKey;
pub use own::{own_log_scanner, own_reply_key};
use serde_json::value::RawValue;
use switchboard_event::{Dir, Level, NativeBody, NativeRecord, Notice, Topic};

use super::{LogFile, LogScanner, ScanDepth, ScanOutput, SessionFacts};
use crate::{JsonView, RecordReader, RunRecorder, SessionContext};

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
    scribe: RunRecorder,
    /// The facts in the file name.
    file: SessionFacts,
    events: EventExtractor,
}

impl EventScanner {
    #[must_use]
    pub fn new(ways: EventScannerConfig, file: &LogFile) -> Self {
        Self {
            reader: (ways.reader)(),
            scribe: RunRecorder::new(ways.agent, 1, 1, 0, SessionContext::default()),
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
        let made: Vec<_> = self.scribe.drain().collect();
        self.events.session = self.scribe.agent_session().map(ToString::to_string);
        self.events.cwd = self.scribe.working_directory().map(str::to_owned);
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
        self.scribe.begin_record(Some(native), self.events.at.unwrap_or_default(), None);
        self.scribe.set_brief(depth == ScanDepth::Tokens);
        self.reader.read(Dir::In, record, &mut self.scribe);
        self.scribe.finish_record(|| unknown_record_notice(record));
        self.events.at = self.scribe.stated_time().or(self.events.at);
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
        self.scribe.begin_record(None, self.events.at.unwrap_or_default(), None);
        self.reader.finish(&mut self.scribe);
        self.scribe.finish_session();
        self.extract_recorded_events(ScanDepth::All, found);
    }
}

/// The notice for a record that the reader does not know.
fn unknown_record_notice(record: JsonView<'_>) -> Notice {
    let notice = Notice::new(Topic::Unknown).with_level(Level::Debug);
    Notice { name: record.as_object().get_non_empty("type"), ..notice }
}
