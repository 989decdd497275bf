//! A home with logs, and a library over it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use switchboard_agents::{Depth, Host};
use switchboard_logs::{Entry, Filter, Ledger, Library, Query, Report, Setup, Words, looked_in};
use switchboard_testkit::corpus::{self, Tokens, Truth, Wanted, calendar, files::Corpus, words::Words as Vocabulary};
use tempfile::TempDir;

/// A folder with a home and an index in it.
pub struct Place {
    folder: TempDir,
}

/// Nothing of the machine that the test runs on.
pub struct Nowhere;

impl Host for Nowhere {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn home(&self) -> PathBuf {
        PathBuf::from("/nowhere")
    }

    fn read(&self, _: &Path) -> Option<String> {
        None
    }

    fn list(&self, _: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

impl Place {
    /// One without logs.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    /// One with a corpus.
    pub fn with_corpus(wanted: &Wanted) -> (Self, Truth) {
        let place = Self::new();
        let truth = corpus::write(place.folder.path(), wanted).unwrap();
        (place, truth)
    }

    /// One with what `write` puts into it.
    pub fn with(write: impl FnOnce(&mut Corpus) -> anyhow::Result<()>) -> (Self, Truth) {
        let place = Self::new();
        let mut corpus = Corpus::new(&place.home(), Vocabulary::new(5_000), 1).unwrap();
        write(&mut corpus).unwrap();
        (place, corpus.truth)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Writes a file of the home, and says where it is.
    pub fn file(&self, path: &str, bytes: &[u8]) -> PathBuf {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The library, as it was left.
    pub fn library(&self) -> Library {
        library(&self.home(), &self.data())
    }

    /// The library, with everything in it.
    pub fn current(&self) -> (Library, Report) {
        let library = self.library();
        let report = refresh(&library);
        (library, report)
    }

    /// What a new index over the same logs says.
    pub fn afresh(&self) -> Said {
        let data = tempfile::tempdir().unwrap();
        let library = library(&self.home(), &data.path().join("data"));
        refresh(&library);
        said(&library)
    }
}

/// A library over a home, with its index in a folder.
pub fn library(home: &Path, data: &Path) -> Library {
    let homes = looked_in(&Nowhere, &[home.to_owned()], None);
    Library::open(Setup { data: data.to_owned(), homes, alone: false, keep: false, own: None }).unwrap()
}

/// Brings it up to date.
pub fn refresh(library: &Library) -> Report {
    library.refresh(Depth::All, &|_| {}).unwrap()
}

/// What a library says to some questions, to be compared.
#[derive(Debug, PartialEq)]
pub struct Said {
    pub all: Tokens,
    pub sessions: BTreeMap<String, Tokens>,
    pub found: Vec<Vec<(u64, u32)>>,
    pub listed: Vec<String>,
}

/// Asks it.
pub fn said(library: &Library) -> Said {
    let ledger = ledger(library);
    let mut listed: Vec<_> =
        library.sessions(&Filter::default()).unwrap().into_iter().map(|session| session.id).collect();
    listed.sort();
    let found = ["ba", "da mo", "xqclaude*", "nowhere-at-all"].iter().map(|words| places(library, words)).collect();
    Said {
        all: by(&ledger, |_, _| String::new()).remove("").unwrap_or_default(),
        sessions: by_session(&ledger),
        found,
        listed,
    }
}

/// The sessions of what is found.
pub fn hits(library: &Library, words: &str, limit: usize) -> Vec<String> {
    let query = Query { words: Words::Plain(words.to_owned()), kinds: Vec::new(), filter: Filter::default(), limit };
    library.search(&query).unwrap().hits.into_iter().map(|hit| hit.session).collect()
}

/// Where something is found: the places of the records, each with its turn.
pub fn places(library: &Library, words: &str) -> Vec<(u64, u32)> {
    let words = Words::Plain(words.to_owned());
    let query = Query { words, kinds: Vec::new(), filter: Filter::default(), limit: 100_000 };
    let mut places: Vec<_> = library.search(&query).unwrap().hits.iter().map(|hit| (hit.offset, hit.turn)).collect();
    places.sort_unstable();
    places
}

/// All that was used.
pub fn ledger(library: &Library) -> Ledger {
    library.ledger(&Filter::default()).unwrap()
}

/// What was used, by something.
pub fn by(ledger: &Ledger, key: impl Fn(&Ledger, &Entry) -> String) -> BTreeMap<String, Tokens> {
    let mut sums: BTreeMap<String, Tokens> = BTreeMap::new();
    for entry in &ledger.entries {
        *sums.entry(key(ledger, entry)).or_default() += tokens(entry);
    }
    // What used nothing is not worth a row, and the truth has none.
    sums.retain(|_, tokens| tokens.total() > 0);
    sums
}

/// By session.
pub fn by_session(ledger: &Ledger) -> BTreeMap<String, Tokens> {
    by(ledger, |ledger, entry| ledger.name(entry.session).to_owned())
}

/// By day in a time zone.
pub fn by_day(ledger: &Ledger, zone: &str) -> BTreeMap<String, Tokens> {
    by(ledger, |_, entry| calendar::day(zone, entry.at.as_micros().div_euclid(1_000)))
}

fn tokens(entry: &Entry) -> Tokens {
    let used = entry.input + entry.output + entry.cache_read + entry.cache_write + entry.cache_write_1h;
    Tokens {
        input: entry.input,
        output: entry.output,
        cache_read: entry.cache_read,
        cache_write: entry.cache_write + entry.cache_write_1h,
        cache_write_1h: entry.cache_write_1h,
        reasoning: entry.reasoning,
        replies: u64::from(used > 0),
    }
}
