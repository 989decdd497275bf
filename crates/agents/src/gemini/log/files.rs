//! Locations and kinds of Gemini CLI's log files.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use memchr::memmem::Finder;
use sha2::{Digest as _, Sha256};
use switchboard_event::{Timestamp, Usage};

use super::reader;
use crate::{
    AgentLogs, HostAccess, JsonView, LogFile, LogFormat, SessionFacts,
    logs::{EventScanner, EventScannerConfig, usage_figure_problem},
    split,
};

/// The logs of Gemini CLI, which deletes sessions after 30 days (`general.sessionRetention`).
pub const LOGS: AgentLogs = AgentLogs {
    agent: "gemini",
    source: "gemini:log",
    homes,
    below: &[".gemini"],
    folders: &["tmp"],
    file,
    skim: |file, _| Box::new(EventScanner::new(WAYS, file)),
    key,
    root,
    kept_days: Some(30),
};

/// Inputs and outputs of tools. Not the model's thoughts: token counts have a field of the same name.
const LONG_FIELDS: &[&str] = &["args", "result", "resultDisplay"];

const WAYS: EventScannerConfig =
    EventScannerConfig { agent: "gemini", reader, counts, long: LONG_FIELDS, key, facts, wrong };

fn homes(host: &dyn HostAccess) -> Vec<PathBuf> {
    // Like ccusage and other tools, accepts several directories, separated by commas.
    let named = host.env_var("GEMINI_DATA_DIR").filter(|folders| !folders.is_empty());
    match named {
        Some(folders) => folders.split(',').map(|folder| PathBuf::from(folder.trim())).collect(),
        None => vec![host.home_dir().join(".gemini")],
    }
}

/// Recognizes `tmp/<project>/chats/session-….jsonl` or `….json`, `tmp/<project>/chats/<parent>/<id>.jsonl`, and
/// `tmp/<project>/logs.json`, which has the prompts of all sessions of a project. A file without a directory is
/// recognized by its extension.
fn file(path: &Path) -> Option<LogFile> {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let (folder, name) = parts.split_last().map(|(name, folder)| (folder, *name))?;
    if matches!(folder, ["tmp", _]) && name == "logs.json" {
        return Some(LogFile { form: LogFormat::SharedDocument(split_prompts), ..LogFile::line_log(None) });
    }
    let parent = match folder {
        [] | ["tmp", _, "chats"] => None,
        ["tmp", _, "chats", parent] => Some((*parent).to_owned()),
        _ => return None,
    };
    let (stem, form) = if let Some(stem) = name.strip_suffix(".jsonl") {
        (stem, LogFormat::Replayed)
    } else {
        (name.strip_suffix(".json")?, LogFormat::Document(split_document))
    };
    // A log from before the line format that was resumed since exists in both formats.
    let rank = u8::from(!matches!(form, LogFormat::Replayed));
    let twin = Some((path.with_file_name(stem).to_string_lossy().into_owned(), rank)).filter(|_| !folder.is_empty());
    let session = parent.as_ref().map(|_| stem.to_owned());
    let named = stem.strip_prefix("session-").filter(|_| parent.is_none());
    let session_prefix = named.and_then(|name| name.rsplit('-').next()).filter(|id| id.len() == 8).map(str::to_owned);
    Some(LogFile { form, session_prefix, parent, twin, ..LogFile::line_log(session) })
}

/// Splits `logs.json` into its elements, each with its session.
fn split_prompts(text: &str) -> Vec<(String, String)> {
    let element = |text: &str| Some((JsonView::parse(text)?.as_object().get_non_empty("sessionId")?, text.to_owned()));
    split::split_elements(text).filter_map(element).collect()
}

/// Splits a document into records: the elements of an array, or the session's metadata and each of its messages.
fn split_document(text: &str) -> Vec<String> {
    if text.starts_with('[') {
        return split::split_elements(text).map(str::to_owned).collect();
    }
    let is_messages = |(key, value): &(&str, &str)| *key == "\"messages\"" && value.starts_with('[');
    let header = split::split_fields(text).filter(|field| !is_messages(field));
    let header: Vec<_> = header.map(|(key, value)| format!("{key}:{value}")).collect();
    let messages = split::split_fields(text).filter(is_messages).flat_map(|(_, value)| split::split_elements(value));
    std::iter::once(format!("{{{}}}", header.join(","))).chain(messages.map(str::to_owned)).collect()
}

/// User messages and tool results have neither tokens nor calls. `logs.json` has nothing else, so its elements count
/// for their session and time.
fn counts(record: &[u8]) -> bool {
    static WORDS: LazyLock<[Finder<'static>; 6]> = LazyLock::new(|| {
        ["\"tokens\"", "\"toolCalls\"", "\"messages\"", "\"$patch\"", "\"projectHash\"", "\"messageId\""]
            .map(Finder::new)
    });
    WORDS.iter().any(|word| word.find(record).is_some())
}

/// Message ids are globally unique, which identifies copies; those of other writers may not be.
fn key(session: &str, message: &str, _: &Usage, _: Option<Timestamp>) -> String {
    let is_unique = message.len() >= 36 && message.bytes().filter(|byte| *byte == b'-').count() >= 4;
    if is_unique { format!("gemini:{message}") } else { format!("gemini:{session}:{message}") }
}

/// The directory identifies a subagent's parent; the log only marks it as a subagent.
fn facts(record: JsonView<'_>, facts: &mut SessionFacts) {
    static SUBAGENT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"subagent\""));
    if SUBAGENT.find(record.raw_text().as_bytes()).is_none() {
        return;
    }
    let fields = record.as_object();
    if fields.str_equals("kind", "subagent") {
        facts.subagent = fields.get_non_empty("sessionId");
    }
}

/// Returns the first error in the token counts of a message, or of all messages in a record.
fn wrong(record: JsonView<'_>) -> Option<String> {
    static TOKENS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"tokens\""));
    TOKENS.find(record.raw_text().as_bytes())?;
    let fields = record.as_object();
    let (set, patch) = (fields.get_object("$set"), fields.get_object("$patch"));
    let lists = [fields.get_array("messages"), set.get_array("messages"), patch.get_array("updates")];
    let mut messages = lists.into_iter().flatten().map(JsonView::as_object).chain([patch, fields]);
    let figures = ["input", "output", "cached", "thoughts", "tool"];
    messages.find_map(|message| usage_figure_problem("a message", message.get("tokens"), &figures))
}

/// Returns the directory of a project: from `.project_root` next to its chats, or by its short name or hash in
/// `projects.json`.
fn root(host: &dyn HostAccess, path: &Path) -> Option<String> {
    let project = path
        .ancestors()
        .find(|folder| folder.parent().is_some_and(|tmp| tmp.file_name().is_some_and(|name| name == "tmp")))?;
    let beside = host.read_file(&project.join(".project_root")).map(|root| root.trim().to_owned());
    beside.filter(|root| !root.is_empty()).or_else(|| registered_root(host, project))
}

fn registered_root(host: &dyn HostAccess, project: &Path) -> Option<String> {
    let name = project.file_name()?.to_str()?;
    let text = host.read_file(&project.parent()?.parent()?.join("projects.json"))?;
    let json = JsonView::parse(&text)?.as_object();
    // Older files have no field around the projects.
    let projects = Some(json.get_object("projects")).filter(|projects| !projects.is_empty()).unwrap_or(json);
    let is_it =
        |root: &str, slug: JsonView<'_>| slug.as_str().is_some_and(|slug| slug == name) || sha256_hex(root) == name;
    let of = |(root, slug): (&str, JsonView<'_>)| is_it(root, slug).then(|| root.to_owned());
    projects.iter().find_map(of)
}

/// Returns the directory name of projects before they had short names.
fn sha256_hex(root: &str) -> String {
    Sha256::digest(root.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {

    use std::path::{Path, PathBuf};

    use super::{file, key, root, sha256_hex, split_document};
    use crate::{HostAccess, LogFormat};

    struct FixedFilesHost(Vec<(&'static str, String)>);

    impl HostAccess for FixedFilesHost {
        fn env_var(&self, _: &str) -> Option<String> {
            None
        }

        fn home_dir(&self) -> PathBuf {
            PathBuf::new()
        }

        fn read_file(&self, path: &Path) -> Option<String> {
            self.0.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.clone())
        }

        fn list_dir(&self, _: &Path) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    #[test]
    fn files_are_known_by_their_place() {
        let of = |path: &str| file(Path::new(path));
        let main = of("tmp/p/chats/session-2026-11-15T19-23-824dc906.jsonl").unwrap();
        assert!(matches!(main.form, LogFormat::Replayed) && main.parent.is_none() && main.session.is_none());
        let old = of("tmp/p/chats/session-2026-11-15T19-23-824dc906.json").unwrap();
        assert!(matches!(old.form, LogFormat::Document(_)));
        assert_eq!((main.twin.clone().unwrap().0, main.twin.unwrap().1), (old.twin.unwrap().0, 0));
        let sub = of("tmp/p/chats/the-parent/the-child.jsonl").unwrap();
        assert_eq!((sub.session.as_deref(), sub.parent.as_deref()), (Some("the-child"), Some("the-parent")));
        assert_eq!((main.session_prefix.as_deref(), sub.session_prefix), (Some("824dc906"), None));
        assert!(of("logs.json").is_some() && of("taken.jsonl").is_some());
        assert!(matches!(of("tmp/p/logs.json").unwrap().form, LogFormat::SharedDocument(_)));
        for other in
            ["tmp/p/chats/logs/logs.json/x", "tmp/p/shell_history", "tmp/p/checkpoints/a.json", "settings.d/x.json"]
        {
            assert!(of(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_document_is_its_header_and_its_messages() {
        let text = r#"{"sessionId": "s", "messages": [ {"id":"a"} , 7, {"id":"b"}], "summary":null}"#;
        assert_eq!(
            split_document(text),
            [r#"{"sessionId":"s","summary":null}"#, r#"{"id":"a"}"#, "7", r#"{"id":"b"}"#]
        );
        assert_eq!(split_document(r#"[{"messageId":0},{"messageId":1}]"#).len(), 2);
        // The intact part of a truncated document.
        assert_eq!(split_document(r#"{"sessionId":"s","messages":[{"id":"a"},{"id":"#)[1], r#"{"id":"a"}"#);
    }

    #[test]
    fn the_folder_is_beside_the_log() {
        let known = r#"{"projects":{"/w/b":"b","/w/c":"other"}}"#.to_owned();
        let files = FixedFilesHost(vec![("/h/tmp/a/.project_root", "/w/a\n".to_owned()), ("/h/projects.json", known)]);
        let of = |project: &str| root(&files, Path::new(&format!("/h/tmp/{project}/chats/session-1.jsonl")));
        assert_eq!(of("a").as_deref(), Some("/w/a"));
        assert_eq!(of("b").as_deref(), Some("/w/b"));
        assert_eq!(of(&sha256_hex("/w/c")).as_deref(), Some("/w/c"));
        assert_eq!(of("d"), None);
    }

    #[test]
    fn ids_that_are_not_unique_are_their_sessions_own() {
        let of = |session, id| key(session, id, &switchboard_event::Usage::default(), None);
        assert_eq!(of("a", "450727c6-23cb-47a3-9672-57e6480430be"), of("b", "450727c6-23cb-47a3-9672-57e6480430be"));
        assert_ne!(of("a", "m1"), of("b", "m1"));
    }
}
