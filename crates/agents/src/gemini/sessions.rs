//! Session files of Gemini CLI: `tmp/<project>/chats/session-<time>-<first 8 of the id>.jsonl`. Locates and copies
//! them; their records are not read here.
//!
//! Gemini CLI (0.61.0) loses sessions that are resumed: `--resume` and `session/load` first create a new file whose
//! name differs only in the minute, and the next start of any Gemini CLI takes that file for an empty session and
//! deletes all files with the same last 8 letters. Within the same minute the new file even is the old one. A session
//! is therefore copied to a name with another suffix before it is resumed. Gemini CLI looks up sessions by the content
//! of the files; of two equal ones it takes the first, which from then on is the copy.

use std::{
    hash::BuildHasher as _,
    path::{Path, PathBuf},
};

use super::settings;
use crate::HostAccess;

/// Prefix of a copy's name, which sorts before any time.
const COPY_PREFIX: &str = "session-0-";

/// A session on disk.
pub struct GeminiSessionFile {
    pub file: PathBuf,
    /// The copy to make before the session is resumed, if it does not exist yet.
    pub safe: Option<PathBuf>,
}

/// Finds a session by file names.
pub fn find_session(host: &dyn HostAccess, cwd: &Path, session: &str) -> Option<GeminiSessionFile> {
    let files = session_files(host, cwd, session);
    let ends = |file: &PathBuf, with: &str| file.to_string_lossy().ends_with(&format!("-{with}.jsonl"));
    if let Some(file) = files.iter().find(|file| ends(file, &id_suffix(session))) {
        return Some(GeminiSessionFile { file: file.clone(), safe: None });
    }
    // Empty files may exist too. If none can be read, the first file counts.
    let size = |file: &&PathBuf| host.read_file(file).map_or(usize::MAX, |text| text.len());
    let own = files.iter().filter(|file| ends(file, &id_prefix(session))).rev();
    let file = own.max_by_key(size)?.clone();
    let name = file.file_name()?.to_string_lossy().replace(&id_prefix(session), &id_suffix(session));
    let safe = file.with_file_name(name.replacen("session-", COPY_PREFIX, 1));
    Some(GeminiSessionFile { file, safe: Some(safe) })
}

/// Copies a session under a new id. Returns the id, the new file and its content.
pub fn copy_session(host: &dyn HostAccess, cwd: &Path, session: &str, seed: &str) -> Option<(String, PathBuf, String)> {
    let (file, id) = (find_session(host, cwd, session)?.file, fresh_id(seed));
    let name = file.file_name()?.to_string_lossy().replacen(COPY_PREFIX, "session-", 1);
    let name = name.replace(&id_prefix(session), &id_prefix(&id)).replace(&id_suffix(session), &id_prefix(&id));
    let text = host.read_file(&file)?.replace(session, &id);
    Some((id, file.with_file_name(name), text))
}

/// Returns all files that are named after a session, preferably those of this project.
fn session_files(host: &dyn HostAccess, cwd: &Path, session: &str) -> Vec<PathBuf> {
    let tmp = settings::gemini_home(host).join("tmp");
    let own = project_slug(host, cwd).map(|slug| tmp.join(slug));
    let names = [id_prefix(session), id_suffix(session)].map(|part| format!("-{part}.jsonl"));
    let of_session = |path: &PathBuf| names.iter().any(|name| path.to_string_lossy().ends_with(name));
    let in_folder = |folder: &PathBuf| -> Vec<PathBuf> {
        host.list_dir(&folder.join("chats")).into_iter().filter(of_session).collect()
    };
    let found = own.iter().flat_map(in_folder).collect::<Vec<_>>();
    if found.is_empty() { host.list_dir(&tmp).iter().flat_map(in_folder).collect() } else { found }
}

/// Returns the short name of the project, from `projects.json`.
fn project_slug(host: &dyn HostAccess, cwd: &Path) -> Option<String> {
    let text = host.read_file(&settings::gemini_home(host).join("projects.json"))?;
    crate::JsonView::parse(&text)?.as_object().get_object("projects").get_non_empty(&cwd.to_string_lossy())
}

/// Returns the part of the id in the name of Gemini CLI's file.
fn id_prefix(session: &str) -> String {
    session.chars().take(8).collect()
}

/// Returns the part of the id in the name of the safe copy.
fn id_suffix(session: &str) -> String {
    session.chars().skip(session.chars().count().saturating_sub(8)).collect()
}

/// Derives an unused id from a fresh secret without revealing it.
fn fresh_id(seed: &str) -> String {
    let half = |n: u64| foldhash::quality::FixedState::with_seed(n).hash_one(seed);
    let hex = format!("{:016x}{:016x}", half(1), half(2));
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
