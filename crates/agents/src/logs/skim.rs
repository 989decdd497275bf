//! A quick way through a log: what was used, what was said, and nothing that takes long to find out.

use super::Found;

/// How much is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// What was used, and by whom.
    Tokens,
    /// And what was said and done.
    All,
}

/// Looks through one file, record by record. It says the same about tokens as the events of the source do, and is much
/// faster; a test compares them on every recording.
pub trait Skim: Send {
    /// The record can matter for tokens: it has some, or changes to whom later ones belong. Cheap, since it is asked of
    /// every record, and the others are not even parsed; it may say yes too often.
    fn counts(&self, record: &[u8]) -> bool;

    /// Looks at a record, and checks that it is JSON; if not, that is the only thing found. With [`Depth::Tokens`], only
    /// those that count are shown, and no passages are wanted.
    fn record(&mut self, record: &str, depth: Depth, found: &mut Found);

    /// The file is over: what could only be told now. Not for a file that only grows; it is never over.
    fn end(&mut self, found: &mut Found) {
        let _unused = found;
    }

    /// What has to be known to go on behind the last record. Nothing for files that are always read from the start.
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
}
