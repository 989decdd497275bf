//! Locations of OpenCode's logs: `opencode.db` (`opencode-CHANNEL.db` for other channels), and before 1.2 a tree of
//! small files, `storage/session/<project>/<session>.json` next to its messages and their parts.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use memchr::memmem::Finder;
use switchboard_event::{Timestamp, Usage};

use super::{reader, wrong};
use crate::{
    AgentLogs, HostAccess, JsonView, LogFile, LogFormat, RecordFile, RowQuery, SessionFacts, SessionQueries,
    logs::{EventScanner, EventScannerConfig},
    no_workspace_root,
};

/// The logs of OpenCode, which never expire.
pub const LOGS: AgentLogs = AgentLogs {
    agent: "opencode",
    source: "opencode:log",
    homes,
    below: &[".local/share/opencode"],
    folders: &["opencode*.db", "storage/session"],
    file,
    skim: |file, _| Box::new(EventScanner::new(WAYS, file)),
    key,
    root: no_workspace_root,
    kept_days: None,
};

const WAYS: EventScannerConfig = EventScannerConfig { agent: "opencode", reader, counts, long: &[], key, facts, wrong };

/// Markers of the message parts that affect usage: only step ends have tokens, and tool parts count tool calls.
const COUNTING: &[&str] = &["step-finish", "\"tool\""];

const QUERIES: SessionQueries = SessionQueries {
    sessions: &[
        &[
            "SELECT id, time_updated || '.' || (SELECT count(*) || '.' || ifnull(max(time_updated), 0) FROM message WHERE session_id = s.id)
             || '.' || (SELECT count(*) FROM part WHERE session_id = s.id)
             || '.' || (SELECT count(*) || '.' || ifnull(max(time_updated), 0) FROM session_message WHERE session_id = s.id)
             FROM session s ORDER BY time_created, id",
            "SELECT id, time_updated || '.' || (SELECT count(*) || '.' || ifnull(max(time_updated), 0) FROM message WHERE session_id = s.id)
             || '.' || (SELECT count(*) FROM part WHERE session_id = s.id)
             FROM session s ORDER BY time_created, id",
        ],
        &["SELECT id, time_updated || '.' || (SELECT count(*) || '.' || ifnull(max(time_updated), 0) FROM session_message WHERE session_id = s.id)
           FROM session_v2 s ORDER BY time_created, id"],
        &["SELECT id, time_updated FROM session ORDER BY time_created, id"],
    ],
    rows: &[
        RowQuery { table: "session", query: "SELECT * FROM session WHERE id = ?1", each: &[], counting: &[], long: &[] },
        RowQuery { table: "session_v2", query: "SELECT * FROM session_v2 WHERE id = ?1", each: &[], counting: &[], long: &[] },
        RowQuery {
            table: "session_message",
            query: "SELECT * FROM session_message WHERE session_id = ?1 ORDER BY seq, id",
            each: &[],
            counting: &[],
            long: &[],
        },
        RowQuery {
            table: "message",
            query: "SELECT id, session_id, time_created, time_updated, data FROM message WHERE session_id = ?1
                    ORDER BY time_created, id",
            each: &[RowQuery {
                table: "part",
                query: "SELECT id, message_id, session_id, time_created, time_updated, data FROM part
                        WHERE message_id = ?1 AND session_id = (SELECT session_id FROM message WHERE id = ?1)
                        ORDER BY id",
                each: &[],
                counting: COUNTING,
                long: &["state"],
            }],
            counting: &[],
            long: &[],
        },
        RowQuery { table: "todo", query: "SELECT * FROM todo WHERE session_id = ?1 ORDER BY position", each: &[], counting: &[], long: &[] },
    ],
};

fn homes(host: &dyn HostAccess) -> Vec<PathBuf> {
    let named = |name: &str| host.env_var(name).filter(|value| !value.is_empty());
    if let Some(folders) = named("OPENCODE_DATA_DIR") {
        return folders.split(',').map(|folder| PathBuf::from(folder.trim())).collect();
    }
    let usual = host.home_dir().join(".local/share/opencode");
    named("XDG_DATA_HOME").map(|data| PathBuf::from(data).join("opencode")).into_iter().chain([usual]).collect()
}

fn file(path: &Path) -> Option<LogFile> {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let lone = LogFile::line_log(None);
    match *parts {
        [name] if name.ends_with(".db") => {
            // A session that was migrated from the tree is read from the database.
            Some(LogFile { form: LogFormat::Database(&QUERIES), twin: Some(("session ".to_owned(), 0)), ..lone })
        }
        // Exported rows, one per line.
        [name] if name.ends_with(".jsonl") => Some(LogFile { form: LogFormat::Replayed, ..lone }),
        ["storage", "session", project, name] if !matches!(project, "message" | "part") => {
            let session = name.strip_suffix(".json")?;
            let twin = Some((format!("session {session}"), 1));
            Some(LogFile { form: LogFormat::Tree(pieces), session: Some(session.to_owned()), twin, ..lone })
        }
        _ => None,
    }
}

/// Returns the files of a session: its own, and each message with its parts.
fn pieces(host: &dyn HostAccess, path: &Path) -> Vec<RecordFile> {
    let mut pieces = vec![RecordFile { table: "session", path: path.to_owned() }];
    let (Some(session), Some(folder)) = (path.file_stem(), path.parent()) else { return pieces };
    let storage = folder.parent().and_then(Path::parent);
    // The first versions stored messages below the sessions.
    let is_first = folder.file_name().is_some_and(|name| name == "info");
    let base = if is_first { folder.parent() } else { storage };
    let Some(base) = base else { return pieces };
    for message in host.list_dir(&base.join("message").join(session)) {
        let Some(id) = message.file_stem().map(ToOwned::to_owned) else { continue };
        let parts = base.join("part");
        let parts = if is_first { parts.join(session).join(id) } else { parts.join(id) };
        pieces.push(RecordFile { table: "message", path: message });
        pieces.extend(host.list_dir(&parts).into_iter().map(|path| RecordFile { table: "part", path }));
    }
    pieces
}

/// Switchboard writes database rows in a fixed format, so the table can be recognized by its prefix. Records in other
/// formats are always examined.
fn counts(record: &[u8]) -> bool {
    static WORDS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| COUNTING.iter().map(Finder::new).collect());
    !record.starts_with(br#"{"table":"part","#) || WORDS.iter().any(|word| word.find(record).is_some())
}

/// Returns the key of a reply. A copy of a session has messages with new ids but the same times and token counts, so
/// these identify a reply, together with its number in the message. Without a time, the id does.
fn key(session: &str, reply: &str, usage: &Usage, at: Option<Timestamp>) -> String {
    let Usage { input, output, cache_read, cache_write_5m, reasoning, .. } = usage;
    let model = usage.model.as_deref().unwrap_or_default();
    match at {
        Some(at) => {
            let step = reply.rfind('#').and_then(|at| reply.get(at..)).unwrap_or_default();
            let figures = format!("{input}.{output}.{cache_read}.{cache_write_5m}.{reasoning}");
            format!("opencode:{}:{model}:{figures}{step}", at.as_micros())
        }
        None => format!("opencode:{session}:{reply}"),
    }
}

/// Reads the parent session and the agent of a subagent's session.
fn facts(record: JsonView<'_>, facts: &mut SessionFacts) {
    static PARENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"parent"));
    if PARENT.find(record.raw_text().as_bytes()).is_none() {
        return;
    }
    let row = record.as_object().get_object("row");
    let parent = row.get_non_empty("parent_id").or_else(|| row.get_non_empty("parentID"));
    if parent.is_some() && record.as_object().get_str("table").is_some_and(|table| table.starts_with("session")) {
        // Older versions have the agent only in the title: `… (@general subagent)`.
        let title = row.get_str("title").unwrap_or_default();
        let titled =
            title.rsplit_once("(@").and_then(|(_, rest)| rest.split_once(' ')).map(|(name, _)| name.to_owned());
        facts.subagent = row.get_non_empty("agent").or(titled);
        facts.parent = parent;
    }
}

#[cfg(test)]
mod tests {

    use std::path::{Path, PathBuf};

    use super::{file, homes, pieces};
    use crate::{HostAccess, LogFormat};

    /// A host with a fixed list of directory entries.
    struct Folders(&'static [(&'static str, &'static str)]);

    impl HostAccess for Folders {
        fn env_var(&self, name: &str) -> Option<String> {
            self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        }

        fn home_dir(&self) -> PathBuf {
            PathBuf::from("/h")
        }

        fn read_file(&self, _: &Path) -> Option<String> {
            None
        }

        fn list_dir(&self, folder: &Path) -> Vec<PathBuf> {
            let inside = self.0.iter().filter(|(of, _)| Path::new(of) == folder);
            inside.map(|(_, name)| folder.join(name)).collect()
        }
    }

    #[test]
    fn files_are_known_by_their_place() {
        let of = |path: &str| file(Path::new(path));
        assert!(matches!(of("opencode.db").unwrap().form, LogFormat::Database(_)));
        assert!(matches!(of("opencode-dev.db").unwrap().form, LogFormat::Database(_)));
        let tree = of("storage/session/global/ses_1.json").unwrap();
        assert!(matches!(tree.form, LogFormat::Tree(_)));
        assert_eq!((tree.session.as_deref(), tree.twin), (Some("ses_1"), Some(("session ses_1".to_owned(), 1))));
        for other in ["storage/message/ses_1/msg_1.json", "storage/session/message/msg_1.json", "auth.json", "x/y.db"] {
            assert!(of(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_message_is_followed_by_its_parts() {
        let of = |folders, path: &str| -> Vec<String> {
            let found = pieces(&Folders(folders), Path::new(path));
            found.iter().map(|piece| format!("{} {}", piece.table, piece.path.display())).collect()
        };
        const TREE: &[(&str, &str)] = &[
            ("/s/message/ses_1", "msg_1.json"),
            ("/s/message/ses_1", "msg_2.json"),
            ("/s/part/msg_1", "prt_1.json"),
            ("/s/part/msg_2", "prt_2.json"),
        ];
        let expected = [
            "session /s/session/global/ses_1.json",
            "message /s/message/ses_1/msg_1.json",
            "part /s/part/msg_1/prt_1.json",
            "message /s/message/ses_1/msg_2.json",
            "part /s/part/msg_2/prt_2.json",
        ];
        assert_eq!(of(TREE, "/s/session/global/ses_1.json"), expected);
        const FIRST: &[(&str, &str)] =
            &[("/s/session/message/ses_1", "msg_1.json"), ("/s/session/part/ses_1/msg_1", "prt_1.json")];
        assert_eq!(of(FIRST, "/s/session/info/ses_1.json").len(), 3);
    }

    #[test]
    fn homes_are_where_the_environment_says() {
        let of = |env| homes(&Folders(env));
        assert_eq!(of(&[]), [PathBuf::from("/h/.local/share/opencode")]);
        assert_eq!(of(&[("XDG_DATA_HOME", "/x")])[0], PathBuf::from("/x/opencode"));
        assert_eq!(of(&[("OPENCODE_DATA_DIR", "/a, /b")]), [PathBuf::from("/a"), PathBuf::from("/b")]);
    }
}
