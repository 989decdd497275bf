//! Checks of logs and their index, independent of the output format.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
};

use switchboard_agents::{LOGS, find_agent};
use switchboard_engine::is_older_version;
use switchboard_event::{Id, Timestamp};
use switchboard_logs::{AgentHome, IndexHealth, LogFilter, LogLibrary, LogReadError, LogSession};

use crate::failure::Failure;

/// Sessions that their agent deletes within this many days are reported.
const SOON_DAYS: u64 = 7;

const DAY_MS: u64 = 86_400_000;

pub struct LogsCheckup {
    pub homes: Vec<HomeCheck>,
    pub health: IndexHealth,
    pub versions: Vec<VersionCount>,
    pub troubles: Vec<LogReadError>,
    /// Sessions that agents will delete soon, in order of deletion.
    pub leaving: Vec<ExpiringSession>,
    /// Events of Switchboard's own sessions with a wrong checksum.
    pub damaged: Vec<(Id, Vec<u64>)>,
}

/// A directory that was searched for logs.
pub struct HomeCheck {
    pub home: AgentHome,
    /// The directory has logs of the agent.
    pub is_there: bool,
    pub sessions: usize,
    /// The total size of the logs.
    pub bytes: u64,
}

pub struct VersionCount {
    pub agent: String,
    pub version: String,
    /// The number of sessions that this version was the last to write.
    pub sessions: usize,
    /// The tested version, if this one is newer.
    pub newer_than: Option<&'static str>,
}

pub struct ExpiringSession {
    pub session: LogSession,
    /// Days until the deletion; 0 for any time now.
    pub days: u64,
}

impl LogsCheckup {
    pub fn new(library: &LogLibrary, looked_in: &[AgentHome], now: Timestamp) -> Result<Self, Failure> {
        let sessions = library.list_sessions(&LogFilter::default())?;
        Ok(Self {
            homes: looked_in.iter().map(|home| check_home(home, &sessions)).collect(),
            health: library.check_health()?,
            versions: count_versions(&sessions),
            troubles: library.read_errors()?,
            leaving: find_expiring_sessions(&sessions, &library.sessions_with_copies()?, now),
            damaged: Vec::new(),
        })
    }
}

fn check_home(home: &AgentHome, sessions: &[LogSession]) -> HomeCheck {
    let inside = |session: &&LogSession| {
        home.has_logs()
            && session.agent == home.logs.agent
            && session.files.iter().any(|file| file.starts_with(&home.folder))
    };
    let sessions: Vec<&LogSession> = sessions.iter().filter(inside).collect();
    let alone: u64 = sessions.iter().filter_map(|session| session.bytes).sum();
    let bytes = alone + shared_database_bytes(&sessions);
    HomeCheck { is_there: home.has_logs(), sessions: sessions.len(), bytes, home: home.clone() }
}

/// Returns the size of databases that several sessions share.
fn shared_database_bytes(sessions: &[&LogSession]) -> u64 {
    let files = sessions.iter().filter(|session| session.bytes.is_none()).flat_map(|session| &session.files);
    let files: HashSet<&PathBuf> = files.collect();
    files.into_iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

fn count_versions(sessions: &[LogSession]) -> Vec<VersionCount> {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for session in sessions {
        if let Some(version) = session.facts.version.as_deref() {
            *seen.entry((&session.agent, version)).or_default() += 1;
        }
    }
    let newer = |name: &str, version: &str| {
        let tested = find_agent(name)?.versions?.tested;
        is_older_version(tested, version).then_some(tested)
    };
    let version = |((agent, version), sessions): ((&str, &str), usize)| VersionCount {
        newer_than: newer(agent, version),
        agent: agent.to_owned(),
        version: version.to_owned(),
        sessions,
    };
    seen.into_iter().map(version).collect()
}

/// Returns sessions of this machine that their agents delete soon and that have no copies.
fn find_expiring_sessions(
    sessions: &[LogSession],
    copied: &HashSet<(String, String)>,
    now: Timestamp,
) -> Vec<ExpiringSession> {
    let kept_days = |session: &LogSession| LOGS.iter().find(|logs| logs.agent == session.agent)?.kept_days;
    let mut leaving: Vec<ExpiringSession> = Vec::new();
    for session in sessions.iter().filter(|session| !session.gone && session.machine.is_none()) {
        let is_copied = copied.contains(&(session.agent.clone(), session.id.clone()));
        let (Some(days), Some(updated), false) = (kept_days(session), session.facts.updated, is_copied) else {
            continue;
        };
        let days = (u64::from(days) * DAY_MS).saturating_sub(now.millis_since(updated)) / DAY_MS;
        if days <= SOON_DAYS {
            leaving.push(ExpiringSession { session: session.clone(), days });
        }
    }
    leaving.sort_by_key(|leaving| leaving.session.facts.updated);
    leaving
}

#[cfg(test)]
mod tests {

    use std::collections::HashSet;

    use switchboard_agents::{LOGS, SessionFacts, find_agent};
    use switchboard_event::Timestamp;
    use switchboard_logs::LogSession;

    use super::{DAY_MS, count_versions, find_expiring_sessions};

    const NOW: i64 = 1_790_000_000_000;

    fn session(id: &str, agent: &str, days_ago: u64, version: &str) -> LogSession {
        let updated = Timestamp::from_millis(NOW - i64::try_from(days_ago * DAY_MS).unwrap());
        LogSession {
            id: id.to_owned(),
            agent: agent.to_owned(),
            machine: None,
            facts: SessionFacts { updated, version: Some(version.to_owned()), ..SessionFacts::default() },
            files: Vec::new(),
            gone: false,
            archived: false,
            bytes: None,
            own: None,
            subagents: Vec::new(),
        }
    }

    #[test]
    fn what_goes_soon_and_is_not_copied_is_told() {
        let logs = LOGS.iter().find(|logs| logs.kept_days.is_some()).unwrap();
        let kept = u64::from(logs.kept_days.unwrap());
        let gone = LogSession { gone: true, ..session("gone", logs.agent, kept, "1") };
        let elsewhere = LogSession { machine: Some("laptop".to_owned()), ..session("far", logs.agent, kept, "1") };
        let sessions = [
            session("new", logs.agent, 1, "1"),
            session("soon", logs.agent, kept - 3, "1"),
            session("due", logs.agent, kept + 10, "1"),
            session("copied", logs.agent, kept - 1, "1"),
            gone,
            elsewhere,
        ];
        let copied = HashSet::from([(logs.agent.to_owned(), "copied".to_owned())]);
        let leaving = find_expiring_sessions(&sessions, &copied, Timestamp::from_millis(NOW).unwrap());
        let told: Vec<_> = leaving.iter().map(|leaving| (leaving.session.id.as_str(), leaving.days)).collect();
        assert_eq!(told, [("due", 0), ("soon", 3)]);
    }

    #[test]
    fn versions_newer_than_tested_are_marked() {
        let (name, tested) = LOGS
            .iter()
            .find_map(|logs| Some((logs.agent, find_agent(logs.agent)?.versions?.tested)))
            .expect("an agent with logs and a tested version");
        let sessions =
            [session("a", name, 1, tested), session("b", name, 1, "9999.0.0"), session("c", name, 1, "0.0.1")];
        let newer: Vec<_> = count_versions(&sessions).into_iter().map(|v| (v.version, v.newer_than)).collect();
        let expected = [("0.0.1", None), (tested, None), ("9999.0.0", Some(tested))];
        assert_eq!(newer, expected.map(|(version, newer)| (version.to_owned(), newer)));
    }
}
