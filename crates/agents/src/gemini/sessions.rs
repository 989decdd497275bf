//! The files in which Gemini CLI keeps its sessions: `tmp/<project>/chats/session-<time>-<first 8 of the id>.jsonl`.
//! Where the file of a session is, and how a copy of a session is made; the files' own records are not read here.

use std::{
    hash::BuildHasher as _,
    path::{Path, PathBuf},
};

use super::settings;
use crate::{Host, acp::Safeguard};

/// What is added to the name of a copy that is kept. Gemini CLI does not look at such files.
const KEPT: &str = ".kept";

/// The file of a session and the copy of it, as far as they are there.
pub fn safeguard(host: &dyn Host, cwd: &Path, session: &str) -> Option<Safeguard> {
    let names = named(host, cwd, session);
    let is_kept = |path: &PathBuf| path.to_string_lossy().ends_with(KEPT);
    let kept = names.iter().find(|path| is_kept(path));
    let file = names.iter().find(|path| !is_kept(path)).cloned();
    let file = file.or_else(|| kept.map(|kept| PathBuf::from(kept.to_string_lossy().trim_end_matches(KEPT))))?;
    let copy = PathBuf::from(format!("{}{KEPT}", file.to_string_lossy()));
    let copied = names.contains(&copy);
    Some(Safeguard { file, copy, copied })
}

/// The file of a session, which must be there.
pub fn file(host: &dyn Host, cwd: &Path, session: &str) -> Option<PathBuf> {
    let is_log = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
    named(host, cwd, session).into_iter().find(is_log)
}

/// A copy of a session under another id: the id, the new file, and what it holds.
pub fn copy(host: &dyn Host, cwd: &Path, session: &str, seed: &str) -> Option<(String, PathBuf, String)> {
    let (file, id) = (file(host, cwd, session)?, fresh_id(seed));
    let name = file.file_name()?.to_string_lossy().replace(&short(session), &short(&id));
    let text = host.read(&file)?.replace(session, &id);
    Some((id, file.with_file_name(name), text))
}

/// All files that are named after a session, the oldest first; those of this project where there are any.
fn named(host: &dyn Host, cwd: &Path, session: &str) -> Vec<PathBuf> {
    let tmp = settings::folder(host).join("tmp");
    let own = project(host, cwd).map(|slug| tmp.join(slug));
    let (id, kept) = (format!("-{}.jsonl", short(session)), format!("-{}.jsonl{KEPT}", short(session)));
    let of_session = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(&id) || name.ends_with(&kept)
    };
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

fn short(session: &str) -> String {
    session.chars().take(8).collect()
}

/// An id that no session has yet, made of a fresh secret and not giving it away.
fn fresh_id(seed: &str) -> String {
    let half = |n: u64| foldhash::quality::FixedState::with_seed(n).hash_one(seed);
    let hex = format!("{:016x}{:016x}", half(1), half(2));
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
