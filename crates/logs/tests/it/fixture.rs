//! A test home with logs, and a library over it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use switchboard_agents::{HostAccess, ScanDepth};
use switchboard_logs::{
    LedgerEntry, LibraryConfig, LogFilter, LogLibrary, LogSearchQuery, ScanReport, SearchWords, UsageLedger,
    candidate_homes,
};
use switchboard_testkit::corpus;
use switchboard_testkit::corpus::files::{CorpusWriter, ZipfVocabulary};
use switchboard_testkit::corpus::{CorpusOptions, CorpusTokens, CorpusTruth, plan};
use tempfile::TempDir;

/// A directory with a home and an index.
pub struct LibraryFixture {
    folder: TempDir,
}

/// Provides nothing of the machine that runs the test.
pub struct EmptyHost;

impl HostAccess for EmptyHost {
    fn env_var(&self, _: &str) -> Option<String> {
        None
    }

    fn home_dir(&self) -> PathBuf {
        PathBuf::from("/nowhere")
    }

    fn read_file(&self, _: &Path) -> Option<String> {
        None
    }

    fn list_dir(&self, _: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

impl LibraryFixture {
    /// Creates a home without logs.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    /// Creates a home with a corpus.
    pub fn with_corpus(wanted: &CorpusOptions) -> (Self, CorpusTruth) {
        let place = Self::new();
        let truth = corpus::write_corpus(place.folder.path(), wanted).unwrap();
        (place, truth)
    }

    /// Creates a home with the logs written by `write`.
    pub fn with_logs(write: impl FnOnce(&mut CorpusWriter) -> anyhow::Result<()>) -> (Self, CorpusTruth) {
        let place = Self::new();
        let mut corpus = CorpusWriter::new(&place.home_dir(), ZipfVocabulary::new(5_000), 1).unwrap();
        write(&mut corpus).unwrap();
        (place, corpus.truth)
    }

    pub fn root_dir(&self) -> &Path {
        self.folder.path()
    }

    pub fn home_dir(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Writes a file in the home, and returns its path.
    pub fn write_file(&self, path: &str, bytes: &[u8]) -> PathBuf {
        let path = self.home_dir().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Opens the library without a refresh.
    pub fn open_library(&self) -> LogLibrary {
        open_library(&self.home_dir(), &self.data_dir())
    }

    /// Opens and refreshes the library.
    pub fn refreshed_library(&self) -> (LogLibrary, ScanReport) {
        let library = self.open_library();
        let report = refresh_all(&library);
        (library, report)
    }

    /// Returns the snapshot of a new index over the same logs.
    pub fn fresh_snapshot(&self) -> LibrarySnapshot {
        let data = tempfile::tempdir().unwrap();
        let library = open_library(&self.home_dir(), &data.path().join("data"));
        refresh_all(&library);
        take_snapshot(&library)
    }
}

/// Opens a library over a home, with its index in `data`.
pub fn open_library(home: &Path, data: &Path) -> LogLibrary {
    let homes = candidate_homes(&EmptyHost, &[home.to_owned()], None);
    LogLibrary::open(LibraryConfig { data: data.to_owned(), homes, alone: false, keep: false, own: None }).unwrap()
}

/// Refreshes the index completely.
pub fn refresh_all(library: &LogLibrary) -> ScanReport {
    library.refresh_index(ScanDepth::All, &|_| {}).unwrap()
}

/// Answers of a library, for comparison.
#[derive(Debug, PartialEq)]
pub struct LibrarySnapshot {
    pub all: CorpusTokens,
    pub sessions: BTreeMap<String, CorpusTokens>,
    pub found: Vec<Vec<(u64, u32)>>,
    pub listed: Vec<String>,
}

/// Takes a snapshot of a library.
pub fn take_snapshot(library: &LogLibrary) -> LibrarySnapshot {
    let ledger = full_ledger(library);
    let mut listed: Vec<_> =
        library.list_sessions(&LogFilter::default()).unwrap().into_iter().map(|session| session.id).collect();
    listed.sort();
    let found =
        ["ba", "da mo", "xqclaude*", "nowhere-at-all"].iter().map(|words| hit_positions(library, words)).collect();
    LibrarySnapshot {
        all: tokens_by(&ledger, |_, _| String::new()).remove("").unwrap_or_default(),
        sessions: tokens_by_session(&ledger),
        found,
        listed,
    }
}

/// Returns the sessions of the hits.
pub fn hit_sessions(library: &LogLibrary, words: &str, limit: usize) -> Vec<String> {
    let query = LogSearchQuery {
        words: SearchWords::Plain(words.to_owned()),
        kinds: Vec::new(),
        filter: LogFilter::default(),
        limit,
    };
    library.search(&query).unwrap().hits.into_iter().map(|hit| hit.session).collect()
}

/// Returns the offsets of the hits with their turns.
pub fn hit_positions(library: &LogLibrary, words: &str) -> Vec<(u64, u32)> {
    let words = SearchWords::Plain(words.to_owned());
    let query = LogSearchQuery { words, kinds: Vec::new(), filter: LogFilter::default(), limit: 100_000 };
    let mut places: Vec<_> = library.search(&query).unwrap().hits.iter().map(|hit| (hit.offset, hit.turn)).collect();
    places.sort_unstable();
    places
}

/// Returns all replies.
pub fn full_ledger(library: &LogLibrary) -> UsageLedger {
    library.usage_ledger(&LogFilter::default()).unwrap()
}

/// Sums the tokens by a key.
pub fn tokens_by(
    ledger: &UsageLedger,
    key: impl Fn(&UsageLedger, &LedgerEntry) -> String,
) -> BTreeMap<String, CorpusTokens> {
    let mut sums: BTreeMap<String, CorpusTokens> = BTreeMap::new();
    for entry in &ledger.entries {
        *sums.entry(key(ledger, entry)).or_default() += entry_tokens(entry);
    }
    // Empty sums are dropped, since the expected totals have none.
    sums.retain(|_, tokens| tokens.total_tokens() > 0);
    sums
}

pub fn tokens_by_session(ledger: &UsageLedger) -> BTreeMap<String, CorpusTokens> {
    tokens_by(ledger, |ledger, entry| ledger.resolve_name(entry.session).to_owned())
}

/// Sums by day in a time zone.
pub fn tokens_by_day(ledger: &UsageLedger, zone: &str) -> BTreeMap<String, CorpusTokens> {
    tokens_by(ledger, |_, entry| plan::format_day(zone, entry.at.as_micros().div_euclid(1_000)))
}

fn entry_tokens(entry: &LedgerEntry) -> CorpusTokens {
    let used = entry.input + entry.output + entry.cache_read + entry.cache_write + entry.cache_write_1h;
    CorpusTokens {
        input: entry.input,
        output: entry.output,
        cache_read: entry.cache_read,
        cache_write: entry.cache_write + entry.cache_write_1h,
        cache_write_1h: entry.cache_write_1h,
        reasoning: entry.reasoning,
        replies: u64::from(used > 0),
    }
}
