//! Short IDs of sessions: the shortest prefix that identifies one session.

use std::{path::Path, sync::Arc};

use switchboard_logs::{LibraryConfig, LogLibrary, LogsError, OwnLog, candidate_homes};
use switchboard_store::{SessionFilter, SessionLog, SqliteStore, StoreOptions};

use crate::{failure::Failure, host, view::sanitize::sanitize_line};

const INDEX_FILE: &str = "logs.db";

/// The minimum length for sessions in the agents' logs. Anything shorter is hard to recognize as an ID.
const MIN_LENGTH: usize = 8;

/// The minimum length for sessions of Switchboard: the time in milliseconds.
const MIN_OWN_LENGTH: usize = 13;

/// The ids of all sessions, sorted.
#[derive(Default)]
pub struct ShortIds(Vec<String>);

impl ShortIds {
    pub fn of_library(library: &LogLibrary) -> Result<Self, Failure> {
        Ok(Self::among(library.session_ids()?))
    }

    /// Includes Switchboard's own sessions and the indexed ones of agents. Reading the agents' logs again would take
    /// too long for a list.
    pub fn of_data(folder: &Path, log: &dyn SessionLog) -> Result<Self, Failure> {
        let own = log.list_sessions(&SessionFilter::default())?.into_iter().map(|session| session.id.to_string());
        Ok(Self::among(own.chain(indexed_ids(folder))))
    }

    pub fn among(ids: impl IntoIterator<Item = String>) -> Self {
        let mut ids: Vec<String> = ids.into_iter().collect();
        ids.sort();
        Self(ids)
    }

    /// Shortens the ID of a session in the agents' logs.
    pub fn shorten(&self, id: &str) -> String {
        self.shorten_to(id, MIN_LENGTH)
    }

    /// Shortens the ID of a session of Switchboard. IDs in another format are not shortened.
    pub fn shorten_own(&self, id: &str) -> String {
        let is_uuid = id.len() == 36 && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
        self.shorten_to(id, if is_uuid { MIN_OWN_LENGTH } else { id.len() })
    }

    fn shorten_to(&self, id: &str, min_length: usize) -> String {
        let at = self.0.partition_point(|other| other.as_str() < id);
        let before = at.checked_sub(1).and_then(|at| self.0.get(at));
        // Several agents may have the same ID; then no prefix is unique.
        let after = self.0.get(at..).unwrap_or_default().iter().find(|other| *other != id);
        let shared =
            [before, after].into_iter().flatten().map(|other| shared_chars(id, other)).max().unwrap_or_default();
        let length = (shared + 1).max(min_length);
        let short = id.char_indices().nth(length).and_then(|(end, _)| id.get(..end)).unwrap_or(id);
        sanitize_line(short)
    }
}

/// Returns the IDs of all sessions in the index, those of agents and of Switchboard. Empty without an index.
pub fn indexed_ids(folder: &Path) -> Vec<String> {
    if !folder.join(INDEX_FILE).is_file() {
        return Vec::new();
    }
    let read = || {
        let homes = host::host_environment().map(|machine| candidate_homes(&machine, &[], None)).unwrap_or_default();
        let data = folder.to_owned();
        let own = OwnLog::new(move || Ok(Arc::new(SqliteStore::open(&data, &StoreOptions::default())?)));
        let setup = LibraryConfig { data: folder.to_owned(), homes, alone: false, keep: false, own: Some(own) };
        LogLibrary::open(setup)?.session_ids()
    };
    // Without the index, short IDs may be ambiguous; commands report that and never guess.
    Result::<_, LogsError>::unwrap_or_default(read())
}

fn shared_chars(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {

    use super::ShortIds;

    #[test]
    fn a_short_id_means_one_session() {
        let ids = ["0198c0de-1111", "0198c0de-1222", "abc", "ses_12345678", "ses_12345699", "zzzzzzzzzzzzzz"];
        let short_ids = ShortIds::among(ids.map(str::to_owned));
        let short = ids.map(|id| short_ids.shorten(id));
        assert_eq!(short, ["0198c0de-11", "0198c0de-12", "abc", "ses_1234567", "ses_1234569", "zzzzzzzz"]);
        for (id, short) in ids.iter().zip(&short) {
            assert_eq!(ids.iter().filter(|other| other.starts_with(short.as_str())).collect::<Vec<_>>(), [id]);
        }
    }

    #[test]
    fn own_ids_show_their_time_and_more_if_they_must() {
        let own = "01a1e1f4-4385-7063-8dee-85f657829ba1";
        let alone = ShortIds::among([own.to_owned()]);
        assert_eq!(alone.shorten_own(own), "01a1e1f4-4385");
        assert_eq!(alone.shorten_own("an id that another program gave it"), "an id that another program gave it");
        let twin = ShortIds::among([own.to_owned(), "01a1e1f4-4385-70ff-8dee-85f657829ba1".to_owned()]);
        assert_eq!(twin.shorten_own(own), "01a1e1f4-4385-706");
    }
}
