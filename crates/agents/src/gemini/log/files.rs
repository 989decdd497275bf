//! Where Gemini CLI's logs lie, and what each file is.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use memchr::memmem::Finder;
use sha2::{Digest as _, Sha256};
use switchboard_event::{Timestamp, Usage};

use super::reader;
use crate::{
    Facts, Form, Host, Json, LogFile, Logs,
    logs::{OfEvents, Ways, wrong_figures},
    split,
};

/// The logs of Gemini CLI. It deletes sessions after 30 days (`general.sessionRetention`).
pub const LOGS: Logs = Logs {
    agent: "gemini",
    source: "gemini:log",
    homes,
    below: &[".gemini"],
    folders: &["tmp"],
    file,
    skim: |file, _| Box::new(OfEvents::new(WAYS, file)),
    key,
    root,
    kept_days: Some(30),
};

/// What tools were given and gave back. Not what the model thought: tokens have a field of that name.
const LONG: &[&str] = &["args", "result", "resultDisplay"];

const WAYS: Ways = Ways { agent: "gemini", reader, counts, long: LONG, key, facts, wrong };

fn homes(host: &dyn Host) -> Vec<PathBuf> {
    // ccusage and others take several folders, with commas between them.
    let named = host.env("GEMINI_DATA_DIR").filter(|folders| !folders.is_empty());
    match named {
        Some(folders) => folders.split(',').map(|folder| PathBuf::from(folder.trim())).collect(),
        None => vec![host.home().join(".gemini")],
    }
}

/// `tmp/<project>/chats/session-….jsonl` or `….json`, `tmp/<project>/chats/<parent>/<id>.jsonl`, and
/// `tmp/<project>/logs.json`, which has the prompts of all sessions of a project. A file by itself is known by its ending.
fn file(path: &Path) -> Option<LogFile> {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let (folder, name) = parts.split_last().map(|(name, folder)| (folder, *name))?;
    if matches!(folder, ["tmp", _]) && name == "logs.json" {
        return Some(LogFile { form: Form::SharedDocument(prompts), ..LogFile::lines(None) });
    }
    let parent = match folder {
        [] | ["tmp", _, "chats"] => None,
        ["tmp", _, "chats", parent] => Some((*parent).to_owned()),
        _ => return None,
    };
    let (stem, form) = if let Some(stem) = name.strip_suffix(".jsonl") {
        (stem, Form::Replayed)
    } else {
        (name.strip_suffix(".json")?, Form::Document(records))
    };
    // A log that was continued since there are lines is there in both forms.
    let rank = u8::from(!matches!(form, Form::Replayed));
    let twin = Some((path.with_file_name(stem).to_string_lossy().into_owned(), rank)).filter(|_| !folder.is_empty());
    let session = parent.as_ref().map(|_| stem.to_owned());
    let named = stem.strip_prefix("session-").filter(|_| parent.is_none());
    let session_prefix = named.and_then(|name| name.rsplit('-').next()).filter(|id| id.len() == 8).map(str::to_owned);
    Some(LogFile { form, session_prefix, parent, twin, ..LogFile::lines(session) })
}

/// The elements of `logs.json`, each with its session.
fn prompts(text: &str) -> Vec<(String, String)> {
    let element = |text: &str| Some((Json::parse(text)?.object().filled("sessionId")?, text.to_owned()));
    split::elements(text).filter_map(element).collect()
}

/// The records of a document: the elements of an array; or what is known about the session, and each of its messages.
fn records(text: &str) -> Vec<String> {
    if text.starts_with('[') {
        return split::elements(text).map(str::to_owned).collect();
    }
    let is_messages = |(key, value): &(&str, &str)| *key == "\"messages\"" && value.starts_with('[');
    let header = split::fields(text).filter(|field| !is_messages(field));
    let header: Vec<_> = header.map(|(key, value)| format!("{key}:{value}")).collect();
    let messages = split::fields(text).filter(is_messages).flat_map(|(_, value)| split::elements(value));
    std::iter::once(format!("{{{}}}", header.join(","))).chain(messages.map(str::to_owned)).collect()
}

/// What the user said and what tools gave back to the model has neither tokens nor calls. In `logs.json` there is nothing
/// else, so it says who and when.
fn counts(record: &[u8]) -> bool {
    static WORDS: LazyLock<[Finder<'static>; 6]> = LazyLock::new(|| {
        ["\"tokens\"", "\"toolCalls\"", "\"messages\"", "\"$patch\"", "\"projectHash\"", "\"messageId\""]
            .map(Finder::new)
    });
    WORDS.iter().any(|word| word.find(record).is_some())
}

/// Message ids are unique over all sessions, which matters for copies; those of other writers may not be.
fn key(session: &str, message: &str, _: &Usage, _: Option<Timestamp>) -> String {
    let is_unique = message.len() >= 36 && message.bytes().filter(|byte| *byte == b'-').count() >= 4;
    if is_unique { format!("gemini:{message}") } else { format!("gemini:{session}:{message}") }
}

/// A subagent is told by its folder; the log only says that it is one.
fn facts(record: Json<'_>, facts: &mut Facts) {
    static SUBAGENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"subagent\""));
    if SUBAGENT.find(record.text().as_bytes()).is_none() {
        return;
    }
    let fields = record.object();
    if fields.is("kind", "subagent") {
        facts.subagent = fields.filled("sessionId");
    }
}

/// Figures of a message that are none. In a record with all messages, of the first that has some.
fn wrong(record: Json<'_>) -> Option<String> {
    static TOKENS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"tokens\""));
    TOKENS.find(record.text().as_bytes())?;
    let fields = record.object();
    let (set, patch) = (fields.object("$set"), fields.object("$patch"));
    let lists = [fields.array("messages"), set.array("messages"), patch.array("updates")];
    let mut messages = lists.into_iter().flatten().map(Json::object).chain([patch, fields]);
    let figures = ["input", "output", "cached", "thoughts", "tool"];
    messages.find_map(|message| wrong_figures("a message", message.get("tokens"), &figures))
}

/// The folder of a project: in `.project_root` beside its chats, or else by its short name or its hash in `projects.json`.
fn root(host: &dyn Host, path: &Path) -> Option<String> {
    let project = path
        .ancestors()
        .find(|folder| folder.parent().is_some_and(|tmp| tmp.file_name().is_some_and(|name| name == "tmp")))?;
    let beside = host.read(&project.join(".project_root")).map(|root| root.trim().to_owned());
    beside.filter(|root| !root.is_empty()).or_else(|| registered(host, project))
}

fn registered(host: &dyn Host, project: &Path) -> Option<String> {
    let name = project.file_name()?.to_str()?;
    let text = host.read(&project.parent()?.parent()?.join("projects.json"))?;
    let json = Json::parse(&text)?.object();
    // Older ones have no field around the projects.
    let projects = Some(json.object("projects")).filter(|projects| !projects.is_empty()).unwrap_or(json);
    let is_it = |root: &str, slug: Json<'_>| slug.str().is_some_and(|slug| slug == name) || sha256(root) == name;
    let of = |(root, slug): (&str, Json<'_>)| is_it(root, slug).then(|| root.to_owned());
    projects.iter().find_map(of)
}

/// What folders were called before they had short names.
fn sha256(root: &str) -> String {
    Sha256::digest(root.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{file, key, records, root, sha256};
    use crate::{Form, Host};

    /// A few files.
    struct Files(Vec<(&'static str, String)>);

    impl Host for Files {
        fn env(&self, _: &str) -> Option<String> {
            None
        }

        fn home(&self) -> PathBuf {
            PathBuf::new()
        }

        fn read(&self, path: &Path) -> Option<String> {
            self.0.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.clone())
        }

        fn list(&self, _: &Path) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    #[test]
    fn files_are_known_by_their_place() {
        let of = |path: &str| file(Path::new(path));
        let main = of("tmp/p/chats/session-2026-11-15T19-23-824dc906.jsonl").unwrap();
        assert!(matches!(main.form, Form::Replayed) && main.parent.is_none() && main.session.is_none());
        let old = of("tmp/p/chats/session-2026-11-15T19-23-824dc906.json").unwrap();
        assert!(matches!(old.form, Form::Document(_)));
        assert_eq!((main.twin.clone().unwrap().0, main.twin.unwrap().1), (old.twin.unwrap().0, 0));
        let sub = of("tmp/p/chats/the-parent/the-child.jsonl").unwrap();
        assert_eq!((sub.session.as_deref(), sub.parent.as_deref()), (Some("the-child"), Some("the-parent")));
        assert_eq!((main.session_prefix.as_deref(), sub.session_prefix), (Some("824dc906"), None));
        assert!(of("logs.json").is_some() && of("taken.jsonl").is_some());
        assert!(matches!(of("tmp/p/logs.json").unwrap().form, Form::SharedDocument(_)));
        for other in
            ["tmp/p/chats/logs/logs.json/x", "tmp/p/shell_history", "tmp/p/checkpoints/a.json", "settings.d/x.json"]
        {
            assert!(of(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_document_is_its_header_and_its_messages() {
        let text = r#"{"sessionId": "s", "messages": [ {"id":"a"} , 7, {"id":"b"}], "summary":null}"#;
        assert_eq!(records(text), [r#"{"sessionId":"s","summary":null}"#, r#"{"id":"a"}"#, "7", r#"{"id":"b"}"#]);
        assert_eq!(records(r#"[{"messageId":0},{"messageId":1}]"#).len(), 2);
        // What is not torn of one that is.
        assert_eq!(records(r#"{"sessionId":"s","messages":[{"id":"a"},{"id":"#)[1], r#"{"id":"a"}"#);
    }

    #[test]
    fn the_folder_is_beside_the_log() {
        let known = r#"{"projects":{"/w/b":"b","/w/c":"other"}}"#.to_owned();
        let files = Files(vec![("/h/tmp/a/.project_root", "/w/a\n".to_owned()), ("/h/projects.json", known)]);
        let of = |project: &str| root(&files, Path::new(&format!("/h/tmp/{project}/chats/session-1.jsonl")));
        assert_eq!(of("a").as_deref(), Some("/w/a"));
        assert_eq!(of("b").as_deref(), Some("/w/b"));
        assert_eq!(of(&sha256("/w/c")).as_deref(), Some("/w/c"));
        assert_eq!(of("d"), None);
    }

    #[test]
    fn ids_that_are_not_unique_are_their_sessions_own() {
        let of = |session, id| key(session, id, &switchboard_event::Usage::default(), None);
        assert_eq!(of("a", "450727c6-23cb-47a3-9672-57e6480430be"), of("b", "450727c6-23cb-47a3-9672-57e6480430be"));
        assert_ne!(of("a", "m1"), of("b", "m1"));
    }
}
