//! Translates one agent's records into one session's events. Adds to a reader what every agent needs: the session's id,
//! timestamps, the end, and the guarantee that no record is lost.

use switchboard_event::{Dir, Event, EventBody, Id, Info, Level, Notice, Timestamp, Topic};

use crate::{EngineNote, JsonView, Record, RecordBody, RecordReader, RecordSource, RunRecorder, SessionContext};

/// The number of records after which a session without an id gets a generated one.
const MAX_RECORDS_WITHOUT_SESSION_ID: usize = 64;

/// The settings of a translator.
#[derive(Clone, Debug, Default)]
pub struct TranslatorOptions {
    /// The session's id; by default the agent's own.
    pub session: Option<Id>,
    /// Holds events back until the agent has identified itself, so that the first event is complete. Implied if the
    /// session's id is the agent's own.
    pub hold: bool,
    /// The agent's name, if several agents share a protocol.
    pub agent: Option<&'static str>,
    /// The id for a session whose agent never reports one.
    pub made_up: Id,
    /// The arrival time of the first record, for a stream without timestamps.
    pub arrival: Timestamp,
    /// The number of this run in the session, from 1.
    pub run: u32,
    /// The number of events that the session already has.
    pub events_before: u64,
    /// The number of turns that the session already has.
    pub turns_before: u32,
    /// What Switchboard knows about the session independently of its agent.
    pub start: SessionContext,
}

/// Translates the records of one run into events.
pub struct RecordTranslator {
    reader: Box<dyn RecordReader>,
    recorder: RunRecorder,
    session: Option<Id>,
    made_up: Id,
    hold: bool,
    held: Vec<Event>,
    records: usize,
    now: Timestamp,
    /// The start of a transcript with relative times.
    zero: Timestamp,
    /// `now` is more precise than the time at which the stream was opened.
    time_known: bool,
    /// Events may wait for a known time. A session that already has an id is running, and its first event must not
    /// wait.
    waits_for_time: bool,
    /// The time of the last emitted event: later events are never earlier.
    latest: Timestamp,
}

/// Transcript times below this are relative to its beginning.
const MAX_RELATIVE_TIME_MICROS: i64 = 100_000_000 * 1_000_000;

impl RecordTranslator {
    #[must_use]
    pub fn new(source: &RecordSource, options: TranslatorOptions) -> Self {
        let run = options.run.max(1);
        let reader = (source.reader)();
        let mut recorder = RunRecorder::new(
            options.agent.unwrap_or(source.agent),
            run,
            options.events_before + 1,
            options.turns_before,
            options.start,
        );
        recorder.set_product(reader.product_name());
        Self {
            waits_for_time: reader.has_timestamps() && options.session.is_none(),
            reader,
            recorder,
            session: options.session,
            made_up: options.made_up,
            hold: options.hold,
            held: Vec::new(),
            records: 0,
            now: options.arrival,
            zero: options.arrival,
            time_known: false,
            latest: Timestamp::default(),
        }
    }

    /// Reads one record and emits the events that can be emitted now.
    pub fn translate_record(&mut self, record: &Record<'_>, out: &mut Vec<Event>) {
        self.now = record.at.map_or(self.now, |at| self.to_absolute_time(at));
        self.time_known |= record.at.is_some_and(|at| at.as_micros() >= MAX_RELATIVE_TIME_MICROS);
        self.recorder.begin_record(Some(record.to_native()), self.now, record.at);
        match record.body {
            RecordBody::Json(raw) => self.reader.read(record.dir, JsonView::from_raw(raw), &mut self.recorder),
            RecordBody::Text(text) => self.reader.read_text(record.dir, text, &mut self.recorder),
            RecordBody::Bytes(bytes) => {
                self.recorder.write_notice(Notice::new(Topic::Stdout).with_text(String::from_utf8_lossy(bytes)));
            }
        }
        self.recorder.finish_record(|| unknown_record_notice(record));
        if let Some(told) = self.recorder.stated_time() {
            if !std::mem::replace(&mut self.time_known, true) {
                self.redate_held_events(told);
            }
            self.update_transcript_start(record.at, told);
            self.now = told;
        }
        self.records += 1;
        self.emit_events(out);
    }

    /// Returns whether the record belongs to another session, and thus to another translator.
    #[must_use]
    pub fn starts_other_session(&self, record: &Record<'_>) -> bool {
        match record.body {
            RecordBody::Json(raw) => self.reader.starts_other_session(JsonView::from_raw(raw), &self.recorder),
            RecordBody::Text(_) | RecordBody::Bytes(_) => false,
        }
    }

    /// Returns whether the agent is idle according to its last record, even if the turn is not over.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.reader.is_idle()
    }

    /// Records a piece of a line that is too long to be read.
    pub fn record_oversized_piece(&mut self, piece: &[u8], at: Timestamp, out: &mut Vec<Event>) {
        let body = std::str::from_utf8(piece).map_or(RecordBody::Bytes(piece), RecordBody::Text);
        let record = Record { dir: Dir::In, at: Some(at), body };
        (self.now, self.time_known) = (at, true);
        self.recorder.begin_record(Some(record.to_native()), self.now, record.at);
        let text = "a piece of a line that is too long to be read";
        self.recorder.write_notice(Notice::new(Topic::Unknown).with_level(Level::Warning).with_text(text));
        self.recorder.finish_record(Notice::default);
        self.records += 1;
        self.emit_events(out);
    }

    /// Handles information that is not on the wire.
    pub fn apply_note(&mut self, note: &EngineNote<'_>, at: Option<Timestamp>, out: &mut Vec<Event>) {
        self.now = at.unwrap_or(self.now);
        self.time_known |= at.is_some();
        self.recorder.begin_record(None, self.now, None);
        match note {
            EngineNote::Stderr(line) => self.recorder.write_notice(Notice::new(Topic::Stderr).with_text(*line)),
            EngineNote::Decided(request, by) => self.recorder.set_decider(request, *by),
            EngineNote::Said(notice) => self.recorder.write_notice((*notice).clone()),
            EngineNote::Asked(request) => self.recorder.request_opened(None, (*request).clone()),
            EngineNote::Answered(resolved) => drop(self.recorder.request_resolved((*resolved).clone())),
            EngineNote::Stopping(why) => self.recorder.set_stop_cause(*why),
            EngineNote::Closing => self.recorder.set_closing(),
            EngineNote::Failed(fault) => self.recorder.set_suspected_fault(fault.clone()),
            EngineNote::Exited { code, signal } => self.recorder.set_exit_status(*code, *signal),
        }
        self.reader.handle_note(note, &mut self.recorder);
        self.emit_events(out);
    }

    /// Ends the stream: closes everything that is open and emits the rest.
    pub fn finish(&mut self, out: &mut Vec<Event>) {
        self.recorder.begin_record(None, self.now, None);
        self.reader.finish(&mut self.recorder);
        self.recorder.finish_session();
        self.release_held_events(out);
    }

    /// Stops holding events back, even if the agent has not identified itself.
    pub fn release_held_events(&mut self, out: &mut Vec<Event>) {
        self.records = MAX_RECORDS_WITHOUT_SESSION_ID;
        self.emit_events(out);
    }

    /// Starts the session of an agent that is ready and idle. The start event is emitted even if the agent writes
    /// nothing by itself.
    pub fn mark_started(&mut self, at: Timestamp, out: &mut Vec<Event>) {
        (self.now, self.time_known) = (at, true);
        self.recorder.begin_record(None, at, None);
        self.recorder.ensure_started();
        self.release_held_events(out);
    }

    #[must_use]
    pub fn session_id(&self) -> Option<&Id> {
        self.session.as_ref()
    }

    /// Returns the agent's own id of the session, once it is known: possibly only after the first events.
    #[must_use]
    pub fn agent_session(&self) -> Option<&Id> {
        self.recorder.agent_session()
    }

    /// Converts a transcript's time to an absolute time.
    fn to_absolute_time(&self, at: Timestamp) -> Timestamp {
        let micros = at.as_micros();
        if micros < MAX_RELATIVE_TIME_MICROS {
            Timestamp::from_micros(self.zero.as_micros() + micros).unwrap_or(at)
        } else {
            at
        }
    }

    /// Derives the beginning of the transcript from a record with an absolute time.
    fn update_transcript_start(&mut self, at: Option<Timestamp>, told: Timestamp) {
        if let Some(at) = at.filter(|at| at.as_micros() < MAX_RELATIVE_TIME_MICROS)
            && let Some(zero) = Timestamp::from_micros(told.as_micros() - at.as_micros())
        {
            self.zero = zero;
        }
    }

    /// Moves held events to the time of the stream, of which the first point is now known.
    fn redate_held_events(&mut self, told: Timestamp) {
        let offset = told.as_micros() - self.now.as_micros();
        for event in &mut self.held {
            event.at = Timestamp::from_micros(event.at.as_micros() + offset).unwrap_or(told);
        }
        // Events of this record from before its time was known.
        self.recorder.redate_events(self.now, told);
    }

    fn emit_events(&mut self, out: &mut Vec<Event>) {
        if self.session.is_none() {
            self.session = self.recorder.agent_session().cloned();
        }
        if self.session.is_none() && self.records >= MAX_RECORDS_WITHOUT_SESSION_ID {
            self.session = Some(self.made_up.clone());
        }
        self.hold &= self.recorder.agent_session().is_none() && self.records < MAX_RECORDS_WITHOUT_SESSION_ID;
        let undated = self.waits_for_time && !self.time_known && self.records < MAX_RECORDS_WITHOUT_SESSION_ID;
        let Some(session) = self.session.as_ref().filter(|_| !self.hold && !undated) else {
            self.held.extend(self.recorder.drain());
            return;
        };
        if let Some((first, rest)) = self.held.split_first_mut() {
            self.recorder.complete_start_event(first);
            rest.iter_mut().for_each(strip_known_info);
        }
        let latest = &mut self.latest;
        let finish = |mut event: Event| {
            event.session = session.clone();
            *latest = event.at.max(*latest);
            event.at = *latest;
            event
        };
        out.extend(self.held.drain(..).chain(self.recorder.drain()).map(finish));
    }
}

/// Removes info that the completed start event already has. The status is kept.
fn strip_known_info(event: &mut Event) {
    if let EventBody::SessionUpdated(updated) = &mut event.body {
        updated.info = Info { status: updated.info.status, ..Info::default() };
    }
}

/// The notice for a record that the reader does not know.
fn unknown_record_notice(record: &Record<'_>) -> Notice {
    let mut notice = Notice::new(Topic::Unknown).with_level(Level::Debug);
    if let RecordBody::Json(raw) = record.body {
        let fields = JsonView::from_raw(raw).as_object();
        let kind = fields.get_non_empty("type").or_else(|| fields.get_non_empty("method"));
        notice.name = kind.map(|kind| match fields.get_non_empty("subtype") {
            Some(subtype) => format!("{kind}/{subtype}"),
            None => kind,
        });
    }
    notice
}

#[cfg(test)]
mod tests {

    use switchboard_event::{Event, Id, Timestamp};

    use super::{RecordTranslator, TranslatorOptions};
    use crate::{Record, find_source};

    fn translate_lines(session: Option<&str>, lines: &[&str]) -> Vec<Event> {
        let arrival = Timestamp::parse("2030-01-01T00:00:00Z").unwrap();
        let options = TranslatorOptions { session: session.map(Id::from), arrival, ..TranslatorOptions::default() };
        let mut translator = RecordTranslator::new(find_source("board").unwrap(), options);
        let mut events = Vec::new();
        for line in lines {
            translator.translate_record(&Record::from_line(line.as_bytes()).unwrap(), &mut events);
        }
        translator.finish(&mut events);
        events
    }

    #[test]
    fn times_never_go_back_and_the_record_keeps_its_own() {
        let lines = [
            r#"{"id":"1","sessionId":"a","type":"log","payload":{"line":"x"},"timestamp":"2026-11-15T10:00:02Z"}"#,
            r#"{"id":"2","sessionId":"a","type":"log","payload":{"line":"y"},"timestamp":"2026-11-15T10:00:01Z"}"#,
            r#"{"id":"3","sessionId":"a","type":"log","payload":{"line":"z"},"timestamp":"2026-11-15T10:00:03Z"}"#,
        ];
        let events = translate_lines(None, &lines);
        assert!(events.is_sorted_by_key(|event| event.at));
        assert_eq!(events[0].at, Timestamp::parse("2026-11-15T10:00:02Z").unwrap());
        assert_eq!(events.last().unwrap().at, Timestamp::parse("2026-11-15T10:00:03Z").unwrap());
        assert!(serde_json::to_string(&events).unwrap().contains("2026-11-15T10:00:01Z"));
    }

    #[test]
    fn what_comes_before_the_first_time_has_it_and_not_that_of_the_reading() {
        let lines = [
            r#"{"id":1,"method":"GET","path":"/api/sessions/a","status":200,"body":{"id":"a"}}"#,
            r#"{"id":"1","sessionId":"a","type":"log","payload":{"line":"x"},"timestamp":"2026-11-15T10:00:02Z"}"#,
        ];
        let told = Timestamp::parse("2026-11-15T10:00:02Z").unwrap();
        assert!(translate_lines(None, &lines).iter().all(|event| event.at == told));
        // A running session does not wait.
        let events = translate_lines(Some("mine"), &lines);
        assert!(events.is_sorted_by_key(|event| event.at));
    }
}
