//! A [`Skim`] made of any [`Reader`]: the events are made as ever, and what is wanted is taken from them. Not the
//! quickest way, but the same one by construction: for agents whose logs are small. A reader of logs writes every prompt
//! as an item, and every reply's figures under a key. And a [`Skim`] of events that are there already: Switchboard's own
//! log.

mod events;
mod own;
mod text;

use events::Events;
pub use events::Key;
pub use own::{own_key, own_skim};
use serde_json::value::RawValue;
use switchboard_event::{Dir, Level, Native, NativeBody, Notice, Topic};

use super::{Depth, Facts, Found, LogFile, Skim};
use crate::{Json, Reader, Scribe, Start};

/// What an agent knows about its logs beside what its events say.
#[derive(Clone, Copy)]
pub struct Ways {
    /// The agent.
    pub agent: &'static str,
    /// Makes the reader.
    pub reader: fn() -> Box<dyn Reader>,
    /// The record can matter for tokens; see [`Skim::counts`].
    pub counts: fn(&[u8]) -> bool,
    /// Fields that say nothing about tokens, and may be long.
    pub long: &'static [&'static str],
    /// What makes a reply the same everywhere.
    pub key: Key,
    /// What a record says about its session that is in no event. The subagent is what its figures stand under; the session
    /// itself is known by its id.
    pub facts: fn(Json<'_>, &mut Facts),
    /// What is wrong with a record that was read as far as it goes.
    pub wrong: fn(Json<'_>) -> Option<String>,
}

/// Skims by reading.
pub struct OfEvents {
    ways: Ways,
    reader: Box<dyn Reader>,
    scribe: Scribe,
    /// What the name of the file says.
    file: Facts,
    events: Events,
}

impl OfEvents {
    /// A skim for one file.
    #[must_use]
    pub fn new(ways: Ways, file: &LogFile) -> Self {
        Self {
            reader: (ways.reader)(),
            scribe: Scribe::new(ways.agent, 1, 1, 0, Start::default()),
            events: Events::new(ways.key),
            file: Facts { session: file.session.clone(), parent: file.parent.clone(), ..Facts::default() },
            ways,
        }
    }

    fn wrong(&self, record: Json<'_>) -> Option<String> {
        match record.is_object() {
            true => (self.ways.wrong)(record),
            false => Some("a record is no object".to_owned()),
        }
    }

    /// Takes what is wanted from the events that were made.
    fn take(&mut self, depth: Depth, found: &mut Found) {
        let made: Vec<_> = self.scribe.drain().collect();
        self.events.session = self.scribe.session().map(ToString::to_string);
        self.events.cwd = self.scribe.cwd().map(str::to_owned);
        for event in &made {
            self.events.event(event, depth, found);
        }
        self.events.tell(found);
        found.facts.session = found.facts.session.take().or_else(|| self.file.session.clone());
        found.facts.parent = found.facts.parent.take().or_else(|| self.file.parent.clone());
    }
}

impl Skim for OfEvents {
    fn counts(&self, record: &[u8]) -> bool {
        (self.ways.counts)(record)
    }

    fn record(&mut self, record: &str, depth: Depth, found: &mut Found) {
        let short;
        let record = match depth {
            Depth::Tokens if !self.ways.long.is_empty() => {
                short = Json::shortened(record, self.ways.long);
                short.as_deref().map(Json::known)
            }
            _ => Json::parse(record),
        };
        let Some(record) = record else { return found.is_no_json() };
        // That there is a record matters, and not what it holds: nobody keeps it here.
        let native = Native { dir: Dir::In, body: NativeBody::Json(RawValue::NULL.to_owned()) };
        self.scribe.begin(Some(native), self.events.at.unwrap_or_default(), None);
        self.scribe.be_brief(depth == Depth::Tokens);
        self.reader.read(Dir::In, record, &mut self.scribe);
        self.scribe.settle(|| unknown(record));
        self.events.at = self.scribe.told().or(self.events.at);
        self.events.began = self.events.began.or(self.events.at);
        let mut said = Facts::default();
        (self.ways.facts)(record, &mut said);
        self.events.subagent = said.subagent.take().or(self.events.subagent.take());
        found.facts.learn(said);
        self.take(depth, found);
        // Only those who want all of a log are told, so the others need not look.
        if depth == Depth::All
            && let Some(wrong) = self.wrong(record)
        {
            // One bad record is told once.
            (found.trouble, found.unknown) = (Some(wrong), None);
        }
    }

    fn end(&mut self, found: &mut Found) {
        self.scribe.begin(None, self.events.at.unwrap_or_default(), None);
        self.reader.end(&mut self.scribe);
        self.scribe.finish();
        self.take(Depth::All, found);
    }
}

/// A record that the reader has no words for.
fn unknown(record: Json<'_>) -> Notice {
    let notice = Notice::new(Topic::Unknown).with_level(Level::Debug);
    Notice { name: record.object().filled("type"), ..notice }
}
