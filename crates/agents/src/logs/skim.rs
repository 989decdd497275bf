//! Quick scanners of logs.

use super::ScanOutput;

/// How much a scan extracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanDepth {
    /// Token usage and its attribution.
    Tokens,
    /// Token usage and passages.
    All,
}

/// Scans one file, record by record. Its token usage equals that of the source's events, and it is much faster; a test
/// compares them on every recording.
pub trait LogScanner: Send {
    /// Returns whether the record can affect token usage: it has usage, or changes the attribution of later usage. Must
    /// be cheap, since it is called for every record, and the others are not even parsed; false positives are allowed.
    fn may_affect_usage(&self, record: &[u8]) -> bool;

    /// Scans a record and checks that it is JSON; if not, there is no other output. With [`ScanDepth::Tokens`], only
    /// records that can affect usage are passed, and no passages are wanted.
    fn scan_record(&mut self, record: &str, depth: ScanDepth, found: &mut ScanOutput);

    /// Writes the output that only the end of the file determines. Not called for a file that only grows, since it
    /// never ends.
    fn finish(&mut self, found: &mut ScanOutput) {
        let _unused = found;
    }

    /// Returns the state that is needed to continue after the last record. Empty for files that are always read from
    /// the start.
    fn save_state(&self) -> Vec<u8> {
        Vec::new()
    }
}
