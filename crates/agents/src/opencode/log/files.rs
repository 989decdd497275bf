//! Where OpenCode's logs lie: `opencode.db` (other channels have `opencode-CHANNEL.db`), and before 1.2 a tree of small
//! files, `storage/session/<project>/<session>.json` with its messages and their parts beside it.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use memchr::memmem::Finder;
use switchboard_event::{Timestamp, Usage};

use super::{reader, wrong::wrong};
use crate::{
    Facts, Form, Host, Json, LogFile, Logs, Piece, Queries, Rows,
    logs::{OfEvents, Ways},
    no_root,
};

/// The logs of OpenCode. It keeps them until somebody deletes them.
pub const LOGS: Logs = Logs {
    agent: "opencode",
    source: "opencode:log",
    homes,
    below: &[".local/share/opencode"],
    folders: &["opencode*.db", "storage/session"],
    file,
    skim: |file, _| Box::new(OfEvents::new(WAYS, file)),
    key,
    root: no_root,
    kept_days: None,
};

const WAYS: Ways = Ways { agent: "opencode", reader, counts, long: &[], key, facts, wrong };

/// Of the parts of a message, only the ends of steps have tokens, and tools are called by some.
const COUNTING: &[&str] = &["step-finish", "\"tool\""];

const QUERIES: Queries = Queries {
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
        Rows { table: "session", query: "SELECT * FROM session WHERE id = ?1", each: &[], counting: &[], long: &[] },
        Rows { table: "session_v2", query: "SELECT * FROM session_v2 WHERE id = ?1", each: &[], counting: &[], long: &[] },
        Rows {
            table: "session_message",
            query: "SELECT * FROM session_message WHERE session_id = ?1 ORDER BY seq, id",
            each: &[],
            counting: &[],
            long: &[],
        },
        Rows {
            table: "message",
            query: "SELECT id, session_id, time_created, time_updated, data FROM message WHERE session_id = ?1
                    ORDER BY time_created, id",
            each: &[Rows {
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
        Rows { table: "todo", query: "SELECT * FROM todo WHERE session_id = ?1 ORDER BY position", each: &[], counting: &[], long: &[] },
    ],
};

fn homes(host: &dyn Host) -> Vec<PathBuf> {
    let named = |name: &str| host.env(name).filter(|value| !value.is_empty());
    if let Some(folders) = named("OPENCODE_DATA_DIR") {
        return folders.split(',').map(|folder| PathBuf::from(folder.trim())).collect();
    }
    let usual = host.home().join(".local/share/opencode");
    named("XDG_DATA_HOME").map(|data| PathBuf::from(data).join("opencode")).into_iter().chain([usual]).collect()
}

fn file(path: &Path) -> Option<LogFile> {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let lone = LogFile::lines(None);
    match *parts {
        [name] if name.ends_with(".db") => {
            // A session that was moved here from the tree is read here.
            Some(LogFile { form: Form::Database(&QUERIES), twin: Some(("session ".to_owned(), 0)), ..lone })
        }
        // Rows that somebody took out, one a line.
        [name] if name.ends_with(".jsonl") => Some(LogFile { form: Form::Replayed, ..lone }),
        ["storage", "session", project, name] if !matches!(project, "message" | "part") => {
            let session = name.strip_suffix(".json")?;
            let twin = Some((format!("session {session}"), 1));
            Some(LogFile { form: Form::Tree(pieces), session: Some(session.to_owned()), twin, ..lone })
        }
        _ => None,
    }
}

/// The files of a session: its own, and each message with its parts.
fn pieces(host: &dyn Host, path: &Path) -> Vec<Piece> {
    let mut pieces = vec![Piece { table: "session", path: path.to_owned() }];
    let (Some(session), Some(folder)) = (path.file_stem(), path.parent()) else { return pieces };
    let storage = folder.parent().and_then(Path::parent);
    // The first versions had the messages below the sessions.
    let is_first = folder.file_name().is_some_and(|name| name == "info");
    let base = if is_first { folder.parent() } else { storage };
    let Some(base) = base else { return pieces };
    for message in host.list(&base.join("message").join(session)) {
        let Some(id) = message.file_stem().map(ToOwned::to_owned) else { continue };
        let parts = base.join("part");
        let parts = if is_first { parts.join(session).join(id) } else { parts.join(id) };
        pieces.push(Piece { table: "message", path: message });
        pieces.extend(host.list(&parts).into_iter().map(|path| Piece { table: "part", path }));
    }
    pieces
}

/// Rows of a database are written by us, so the table is spelled in one way; in other ways it is looked at.
fn counts(record: &[u8]) -> bool {
    static WORDS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| COUNTING.iter().map(Finder::new).collect());
    !record.starts_with(br#"{"table":"part","#) || WORDS.iter().any(|word| word.find(record).is_some())
}

/// A copy of a session has messages with new ids, and each with the time and the figures that it had: these make a reply
/// the same, with its number in the message. Without a time, its id does.
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

/// A session that works for another says so, and which of the agents it is.
fn facts(record: Json<'_>, facts: &mut Facts) {
    static PARENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"parent"));
    if PARENT.find(record.text().as_bytes()).is_none() {
        return;
    }
    let row = record.object().object("row");
    let parent = row.filled("parent_id").or_else(|| row.filled("parentID"));
    if parent.is_some() && record.object().str("table").is_some_and(|table| table.starts_with("session")) {
        // Older versions have the agent only in the title: `… (@general subagent)`.
        let title = row.str("title").unwrap_or_default();
        let titled =
            title.rsplit_once("(@").and_then(|(_, rest)| rest.split_once(' ')).map(|(name, _)| name.to_owned());
        facts.subagent = row.filled("agent").or(titled);
        facts.parent = parent;
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{file, homes, pieces};
    use crate::{Form, Host};

    /// Folders and what is in them.
    struct Folders(&'static [(&'static str, &'static str)]);

    impl Host for Folders {
        fn env(&self, name: &str) -> Option<String> {
            self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        }

        fn home(&self) -> PathBuf {
            PathBuf::from("/h")
        }

        fn read(&self, _: &Path) -> Option<String> {
            None
        }

        fn list(&self, folder: &Path) -> Vec<PathBuf> {
            let inside = self.0.iter().filter(|(of, _)| Path::new(of) == folder);
            inside.map(|(_, name)| folder.join(name)).collect()
        }
    }

    #[test]
    fn files_are_known_by_their_place() {
        let of = |path: &str| file(Path::new(path));
        assert!(matches!(of("opencode.db").unwrap().form, Form::Database(_)));
        assert!(matches!(of("opencode-dev.db").unwrap().form, Form::Database(_)));
        let tree = of("storage/session/global/ses_1.json").unwrap();
        assert!(matches!(tree.form, Form::Tree(_)));
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
