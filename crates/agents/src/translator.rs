//! A translator: one agent's records in, one session's events out. Adds to a reader what every agent needs: the
//! session's id, times, the end, and the promise that no record is lost.

use switchboard_event::{Body, Dir, Event, Id, Info, Level, Notice, Timestamp, Topic};

use crate::{Json, Note, Reader, Record, RecordBody, Scribe, Source, Start};

/// How many records may pass before a session without an id gets one made up.
const PATIENCE: usize = 64;

/// What a translator is told from outside.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The session's id; by default the agent's own.
    pub session: Option<Id>,
    /// Events are held back until the agent has said who it is, so that the first one can tell. Always so where
    /// the session's id is the agent's own.
    pub hold: bool,
    /// The agent's name, where several share what they speak.
    pub agent: Option<&'static str>,
    /// The id for a session whose agent never says one.
    pub made_up: Id,
    /// When the first record arrived, for a stream that has no times.
    pub arrival: Timestamp,
    /// Which run of the session this is, from 1.
    pub run: u32,
    /// How many events and turns the session has already.
    pub events_before: u64,
    /// How many turns the session has already.
    pub turns_before: u32,
    /// What is known about the session beside what its agent says.
    pub start: Start,
}

/// Turns the records of one run into events.
pub struct Translator {
    reader: Box<dyn Reader>,
    scribe: Scribe,
    session: Option<Id>,
    made_up: Id,
    hold: bool,
    held: Vec<Event>,
    records: usize,
    now: Timestamp,
    /// What the seconds of a transcript count from, if not from 1970.
    zero: Timestamp,
    /// `now` is more than the time at which the stream was opened.
    time_known: bool,
    /// Events may wait until it is. A session that has an id already runs, and the first event must not wait.
    waits_for_time: bool,
    /// The time of the last event that was given: no later one is earlier.
    latest: Timestamp,
}

/// Seconds of a transcript below this count from its own beginning.
const LONG_AGO: i64 = 100_000_000 * 1_000_000;

impl Translator {
    /// A translator for one source of records.
    #[must_use]
    pub fn new(source: &Source, options: Options) -> Self {
        let run = options.run.max(1);
        let reader = (source.reader)();
        let mut scribe = Scribe::new(
            options.agent.unwrap_or(source.agent),
            run,
            options.events_before + 1,
            options.turns_before,
            options.start,
        );
        scribe.product(reader.product());
        Self {
            waits_for_time: reader.tells_time() && options.session.is_none(),
            reader,
            scribe,
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

    /// Reads one record; gives the events that can be given now.
    pub fn record(&mut self, record: &Record<'_>, out: &mut Vec<Event>) {
        self.now = record.at.map_or(self.now, |at| self.anchored(at));
        self.time_known |= record.at.is_some_and(|at| at.as_micros() >= LONG_AGO);
        self.scribe.begin(Some(record.to_native()), self.now, record.at);
        match record.body {
            RecordBody::Json(raw) => self.reader.read(record.dir, Json::of(raw), &mut self.scribe),
            RecordBody::Text(text) => self.reader.text(record.dir, text, &mut self.scribe),
            RecordBody::Bytes(bytes) => {
                self.scribe.notice(Notice::new(Topic::Stdout).with_text(String::from_utf8_lossy(bytes)));
            }
        }
        self.scribe.settle(|| unknown(record));
        if let Some(told) = self.scribe.told() {
            if !std::mem::replace(&mut self.time_known, true) {
                self.date_held(told);
            }
            self.anchor(record.at, told);
            self.now = told;
        }
        self.records += 1;
        self.give(out);
    }

    /// The record belongs to another session: it is for another translator.
    #[must_use]
    pub fn is_another(&self, record: &Record<'_>) -> bool {
        match record.body {
            RecordBody::Json(raw) => self.reader.is_another(Json::of(raw), &self.scribe),
            RecordBody::Text(_) | RecordBody::Bytes(_) => false,
        }
    }

    /// The agent has nothing left to do, as far as its last record says, be the turn over or not.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.reader.is_resting()
    }

    /// Keeps a piece of a line that is too long to be read.
    pub fn piece(&mut self, piece: &[u8], at: Timestamp, out: &mut Vec<Event>) {
        let body = std::str::from_utf8(piece).map_or(RecordBody::Bytes(piece), RecordBody::Text);
        let record = Record { dir: Dir::In, at: Some(at), body };
        (self.now, self.time_known) = (at, true);
        self.scribe.begin(Some(record.to_native()), self.now, record.at);
        let text = "a piece of a line that is too long to be read";
        self.scribe.notice(Notice::new(Topic::Unknown).with_level(Level::Warning).with_text(text));
        self.scribe.settle(Notice::default);
        self.records += 1;
        self.give(out);
    }

    /// Hears what the wire never says.
    pub fn note(&mut self, note: &Note<'_>, at: Option<Timestamp>, out: &mut Vec<Event>) {
        self.now = at.unwrap_or(self.now);
        self.time_known |= at.is_some();
        self.scribe.begin(None, self.now, None);
        match note {
            Note::Stderr(line) => self.scribe.notice(Notice::new(Topic::Stderr).with_text(*line)),
            Note::Decided(request, by) => self.scribe.decided(request, *by),
            Note::Said(notice) => self.scribe.notice((*notice).clone()),
            Note::Stopping(why) => self.scribe.stopping(*why),
            Note::Closing => self.scribe.closing(),
            Note::Failed(fault) => self.scribe.suspect(fault.clone()),
            Note::Exited { code, signal } => self.scribe.exited(*code, *signal),
        }
        self.reader.note(note, &mut self.scribe);
        self.give(out);
    }

    /// The stream is over: closes what is open and gives the rest.
    pub fn end(&mut self, out: &mut Vec<Event>) {
        self.scribe.begin(None, self.now, None);
        self.reader.end(&mut self.scribe);
        self.scribe.finish();
        self.release(out);
    }

    /// Holds nothing back any longer, whoever the agent is.
    pub fn release(&mut self, out: &mut Vec<Event>) {
        self.records = PATIENCE;
        self.give(out);
    }

    /// The agent is there and has nothing to do yet. That the session began is told, also if the agent says nothing by
    /// itself.
    pub fn begun(&mut self, at: Timestamp, out: &mut Vec<Event>) {
        (self.now, self.time_known) = (at, true);
        self.scribe.begin(None, at, None);
        self.scribe.ensure_started();
        self.release(out);
    }

    /// The session's id, once it is known.
    #[must_use]
    pub fn session(&self) -> Option<&Id> {
        self.session.as_ref()
    }

    /// The agent's own id of the session, once it is known: perhaps only after the first events were given.
    #[must_use]
    pub fn agent_session(&self) -> Option<&Id> {
        self.scribe.session()
    }

    /// A transcript's time as a point in time.
    fn anchored(&self, at: Timestamp) -> Timestamp {
        let micros = at.as_micros();
        if micros < LONG_AGO { Timestamp::from_micros(self.zero.as_micros() + micros).unwrap_or(at) } else { at }
    }

    /// A record that says itself when it happened also says when the transcript began.
    fn anchor(&mut self, at: Option<Timestamp>, told: Timestamp) {
        if let Some(at) = at.filter(|at| at.as_micros() < LONG_AGO)
            && let Some(zero) = Timestamp::from_micros(told.as_micros() - at.as_micros())
        {
            self.zero = zero;
        }
    }

    /// Moves what was held back to the time of the stream, of which the first point is known now.
    fn date_held(&mut self, told: Timestamp) {
        let offset = told.as_micros() - self.now.as_micros();
        for event in &mut self.held {
            event.at = Timestamp::from_micros(event.at.as_micros() + offset).unwrap_or(told);
        }
        // What this record gave before it told its time.
        self.scribe.redate(self.now, told);
    }

    fn give(&mut self, out: &mut Vec<Event>) {
        if self.session.is_none() {
            self.session = self.scribe.session().cloned();
        }
        if self.session.is_none() && self.records >= PATIENCE {
            self.session = Some(self.made_up.clone());
        }
        self.hold &= self.scribe.session().is_none() && self.records < PATIENCE;
        let undated = self.waits_for_time && !self.time_known && self.records < PATIENCE;
        let Some(session) = self.session.as_ref().filter(|_| !self.hold && !undated) else {
            self.held.extend(self.scribe.drain());
            return;
        };
        if let Some((first, rest)) = self.held.split_first_mut() {
            self.scribe.complete_beginning(first);
            rest.iter_mut().for_each(forget_news);
        }
        let latest = &mut self.latest;
        let finish = |mut event: Event| {
            event.session = session.clone();
            *latest = event.at.max(*latest);
            event.at = *latest;
            event
        };
        out.extend(self.held.drain(..).chain(self.scribe.drain()).map(finish));
    }
}

/// What a beginning says that nobody has seen yet is no news after it. What the session was doing, is.
fn forget_news(event: &mut Event) {
    if let Body::SessionUpdated(updated) = &mut event.body {
        updated.info = Info { status: updated.info.status, ..Info::default() };
    }
}

/// What becomes of a record that a reader has no words for.
fn unknown(record: &Record<'_>) -> Notice {
    let mut notice = Notice::new(Topic::Unknown).with_level(Level::Debug);
    if let RecordBody::Json(raw) = record.body {
        let fields = Json::of(raw).object();
        let kind = fields.filled("type").or_else(|| fields.filled("method"));
        notice.name = kind.map(|kind| match fields.filled("subtype") {
            Some(subtype) => format!("{kind}/{subtype}"),
            None => kind,
        });
    }
    notice
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Event, Id, Timestamp};

    use super::{Options, Translator};
    use crate::{Record, source};

    fn translate(session: Option<&str>, lines: &[&str]) -> Vec<Event> {
        let arrival = Timestamp::parse("2030-01-01T00:00:00Z").unwrap();
        let options = Options { session: session.map(Id::from), arrival, ..Options::default() };
        let mut translator = Translator::new(source("board").unwrap(), options);
        let mut events = Vec::new();
        for line in lines {
            translator.record(&Record::from_line(line.as_bytes()).unwrap(), &mut events);
        }
        translator.end(&mut events);
        events
    }

    #[test]
    fn times_never_go_back_and_the_record_keeps_its_own() {
        let lines = [
            r#"{"id":"1","sessionId":"a","type":"log","payload":{"line":"x"},"timestamp":"2026-11-15T10:00:02Z"}"#,
            r#"{"id":"2","sessionId":"a","type":"log","payload":{"line":"y"},"timestamp":"2026-11-15T10:00:01Z"}"#,
            r#"{"id":"3","sessionId":"a","type":"log","payload":{"line":"z"},"timestamp":"2026-11-15T10:00:03Z"}"#,
        ];
        let events = translate(None, &lines);
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
        assert!(translate(None, &lines).iter().all(|event| event.at == told));
        // A session that runs does not wait.
        let events = translate(Some("mine"), &lines);
        assert!(events.is_sorted_by_key(|event| event.at));
    }
}
