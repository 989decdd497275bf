//! Trust in folders. Codex writes down that it trusts a folder as soon as it may write there (0.166); nobody asked
//! for that, so it is told that the folder is not trusted, unless the user has said something about it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::config_file;
use crate::Order;

/// What keeps Codex from writing its trust down: a setting for this process alone.
pub fn withheld(order: &Order<'_>) -> Option<Value> {
    let config = config_file::of_user(order.host);
    let places = places(order);
    let known = config.tables("projects").any(|(path, _)| places.contains(&PathBuf::from(path)));
    let folder = order.cwd.to_string_lossy();
    (!known).then(|| json!({ folder: { "trust_level": "untrusted" } }))
}

/// The folders whose trust counts for this one: itself, what lies above it, and the repository of a linked worktree.
fn places(order: &Order<'_>) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = order.cwd.ancestors().map(Path::to_owned).collect();
    let linked = order.cwd.ancestors().find_map(|folder| order.host.read(&folder.join(".git")));
    let repository = linked.as_deref().and_then(|text| text.strip_prefix("gitdir: ")).and_then(|text| {
        // `/repository/.git/worktrees/NAME`
        Path::new(text.trim()).ancestors().nth(3)
    });
    places.extend(repository.map(Path::to_owned));
    places
}
