//! The messages of a dialect, held against all that it promises.

use switchboard_dialects::{DIALECTS, Dialect, Projection};
use switchboard_event::Event;

use super::{rules::Rules, schema::Schema};
use crate::{
    ledger::Broken,
    play::{messages, stored},
    text::Answer,
};

/// A longer session is saved so often; a shorter one after every event.
const MOST_SAVED: usize = 400;

/// A dialect and what its messages are held against.
pub struct Wire {
    /// The dialect.
    pub dialect: &'static Dialect,
    schema: Schema,
    rules: Rules,
}

/// All dialects.
///
/// # Errors
/// If a schema is not one, or a file of rules cannot be read.
pub fn wires() -> anyhow::Result<Vec<Wire>> {
    DIALECTS.iter().map(Wire::new).collect()
}

impl Wire {
    fn new(dialect: &'static Dialect) -> anyhow::Result<Self> {
        Ok(Self { dialect, schema: Schema::of(dialect)?, rules: Rules::of(dialect.name)? })
    }

    /// Checks the messages that a session's events give. The answer is what the text must add up to.
    ///
    /// # Errors
    /// If a promise is not kept.
    pub fn check(&self, events: &[Event], answer: &Answer) -> Result<(), Broken> {
        let messages = self.project(events);
        let values = messages.iter().map(|message| self.schema.read(message)).collect::<Result<Vec<_>, _>>();
        let values = values.map_err(|broken| self.name(&broken))?;
        self.rules.check(&values, answer).map_err(|broken| self.name(&broken))
    }

    /// Checks that the messages tell as many tokens as the events.
    ///
    /// # Errors
    /// If they do not.
    pub fn check_usage(&self, events: &[Event]) -> Result<(), Broken> {
        let messages = self.project(events);
        let values = messages.iter().map(|message| self.schema.read(message)).collect::<Result<Vec<_>, _>>();
        let values = values.map_err(|broken| self.name(&broken))?;
        self.rules.check_usage(&values, events).map_err(|broken| self.name(&broken))
    }

    /// A projection that is copied and saved after so many events, its copy, and what is restored from it, all go on as
    /// if nothing had happened. Events that were stored and read again give the same bytes.
    ///
    /// # Errors
    /// If they do not.
    pub fn check_replay(&self, events: &[Event], again: &[Event], cuts: &[usize]) -> Result<(), Broken> {
        let whole = self.project(events);
        for cut in cuts {
            let (before, after) = events.split_at(*cut.min(&events.len()));
            let mut projection = (self.dialect.projection)();
            let mut original = messages(&mut *projection, before);
            let mut copy = projection.snapshot();
            let (mut restored, _) = self.restored(&*projection)?;
            let (mut copied, mut resumed) = (original.clone(), original.clone());
            original.extend(messages(&mut *projection, after));
            copied.extend(messages(&mut *copy, after));
            resumed.extend(messages(&mut *restored, after));
            self.same(&whole, &original, "a projection that was copied goes on the same way")?;
            self.same(&whole, &copied, "a copy of a projection goes on the same way")?;
            self.same(&whole, &resumed, "a projection that was saved goes on the same way")?;
        }
        self.same(&whole, &self.project(again), "stored events give the same messages")
    }

    /// A projection that is saved and restored over and over goes on as if nothing had happened. Gives the size of the
    /// largest state that was saved.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_restored(&self, events: &[Event]) -> Result<usize, Broken> {
        let (mut projection, mut got, mut largest) = ((self.dialect.projection)(), Vec::new(), 0);
        for piece in events.chunks(events.len().div_ceil(MOST_SAVED).max(1)) {
            got.extend(messages(&mut *projection, piece));
            let (restored, size) = self.restored(&*projection)?;
            (projection, largest) = (restored, largest.max(size));
        }
        self.same(&self.project(events), &got, "a projection that was saved and restored goes on the same way")?;
        Ok(largest)
    }

    fn restored(&self, projection: &dyn Projection) -> Result<(Box<dyn Projection>, usize), Broken> {
        let broken = |why: String| Broken {
            rule: "a projection can be saved and restored",
            why: format!("{}: {why}", self.dialect.name),
        };
        let saved = projection.save().map_err(|error| broken(error.to_string()))?;
        let restored = (self.dialect.restore)(&saved).ok_or_else(|| broken(show(&saved)))?;
        Ok((restored, saved.len()))
    }

    /// The messages of a whole session.
    #[must_use]
    pub fn project(&self, events: &[Event]) -> Vec<Vec<u8>> {
        messages(&mut *(self.dialect.projection)(), events)
    }

    fn same(&self, want: &[Vec<u8>], got: &[Vec<u8>], rule: &'static str) -> Result<(), Broken> {
        let broken = || Broken { rule, why: format!("{}: {}", self.dialect.name, differ(want, got)) };
        if want == got { Ok(()) } else { Err(broken()) }
    }

    fn name(&self, broken: &Broken) -> Broken {
        Broken { rule: broken.rule, why: format!("{}: {}", self.dialect.name, broken.why) }
    }
}

/// The events as they are after they were stored.
///
/// # Errors
/// If one cannot be read.
pub fn read_again(events: &[Event]) -> Result<Vec<Event>, Broken> {
    let read = |text: &String| {
        Event::from_json(text).map_err(|error| Broken {
            rule: "a stored event can be read",
            why: format!("{error}: {}", show(text.as_bytes())),
        })
    };
    stored(events).iter().map(read).collect()
}

/// The first message that two lists do not share.
fn differ(want: &[Vec<u8>], got: &[Vec<u8>]) -> String {
    let at = want.iter().zip(got).position(|(a, b)| a != b).unwrap_or(want.len().min(got.len()));
    let side = |list: &[Vec<u8>]| list.get(at).map_or("nothing".to_owned(), |message| show(message));
    format!("message {at} is {}, not {}", side(got), side(want))
}

pub(super) fn show(message: &[u8]) -> String {
    String::from_utf8_lossy(message).chars().take(600).collect()
}
