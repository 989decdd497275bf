//! The files in which Gemini CLI keeps its sessions: `tmp/<project>/chats/session-<time>-<first 8 of the id>.jsonl`.
//! Where the file of a session is, and how a session is copied; the files' own records are not read here.
//!
//! Gemini CLI (0.61.0) loses sessions that are continued: `--resume` and `session/load` first begin a new file under the
//! same name but for the minute, and the next start, whoever's it is, takes that file for an empty session and deletes all
//! files with the same last 8 letters. Within the same minute the new file even is the old one. So a session that is to
//! be continued is first copied to a name that ends otherwise. Gemini CLI looks for sessions by what is in the files; of
//! two that are alike it takes the one that comes first, and that is the copy from now on.

use std::{
    hash::BuildHasher as _,
    path::{Path, PathBuf},
};

use super::settings;
use crate::Host;

/// What the name of a copy begins with: it comes before any time.
const COPY: &str = "session-0-";

/// A session on disk.
pub struct Stored {
    /// The file that it is in.
    pub file: PathBuf,
    /// Where it must be copied to before it is continued.
    pub safe: Option<PathBuf>,
}

/// Finds a session by the names of the files.
pub fn find(host: &dyn Host, cwd: &Path, session: &str) -> Option<Stored> {
    let files = chats(host, cwd, session);
    let ends = |file: &PathBuf, with: &str| file.to_string_lossy().ends_with(&format!("-{with}.jsonl"));
    if let Some(file) = files.iter().find(|file| ends(file, &last(session))) {
        return Some(Stored { file: file.clone(), safe: None });
    }
    // Empty ones may be there too. The first file counts where none can be read.
    let size = |file: &&PathBuf| host.read(file).map_or(usize::MAX, |text| text.len());
    let own = files.iter().filter(|file| ends(file, &first(session))).rev();
    let file = own.max_by_key(size)?.clone();
    let name = file.file_name()?.to_string_lossy().replace(&first(session), &last(session));
    let safe = file.with_file_name(name.replacen("session-", COPY, 1));
    Some(Stored { file, safe: Some(safe) })
}

/// A copy of a session under another id: the id, the new file, and what it holds.
pub fn copy(host: &dyn Host, cwd: &Path, session: &str, seed: &str) -> Option<(String, PathBuf, String)> {
    let (file, id) = (find(host, cwd, session)?.file, fresh_id(seed));
    let name = file.file_name()?.to_string_lossy().replacen(COPY, "session-", 1);
    let name = name.replace(&first(session), &first(&id)).replace(&last(session), &first(&id));
    let text = host.read(&file)?.replace(session, &id);
    Some((id, file.with_file_name(name), text))
}

/// All files that are named after a session; those of this project where there are any.
fn chats(host: &dyn Host, cwd: &Path, session: &str) -> Vec<PathBuf> {
    let tmp = settings::folder(host).join("tmp");
    let own = project(host, cwd).map(|slug| tmp.join(slug));
    let names = [first(session), last(session)].map(|part| format!("-{part}.jsonl"));
    let of_session = |path: &PathBuf| names.iter().any(|name| path.to_string_lossy().ends_with(name));
    let in_folder = |folder: &PathBuf| -> Vec<PathBuf> {
        host.list(&folder.join("chats")).into_iter().filter(of_session).collect()
    };
    let found = own.iter().flat_map(in_folder).collect::<Vec<_>>();
    if found.is_empty() { host.list(&tmp).iter().flat_map(in_folder).collect() } else { found }
}

/// The short name of the project, from `projects.json`.
fn project(host: &dyn Host, cwd: &Path) -> Option<String> {
    let text = host.read(&settings::folder(host).join("projects.json"))?;
    crate::Json::parse(&text)?.object().object("projects").filled(&cwd.to_string_lossy())
}

/// What Gemini CLI names the file of a session after.
fn first(session: &str) -> String {
    session.chars().take(8).collect()
}

/// What the safe copy is named after.
fn last(session: &str) -> String {
    session.chars().skip(session.chars().count().saturating_sub(8)).collect()
}

/// An id that no session has yet, made of a fresh secret and not giving it away.
fn fresh_id(seed: &str) -> String {
    let half = |n: u64| foldhash::quality::FixedState::with_seed(n).hash_one(seed);
    let hex = format!("{:016x}{:016x}", half(1), half(2));
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
