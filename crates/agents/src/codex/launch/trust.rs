//! Directory trust. Codex stores that it trusts a directory as soon as it may write there (0.166), which the user did
//! not ask for. It is therefore started with the directory marked as untrusted, unless the user's configuration
//! mentions the directory.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::config_file;
use crate::LaunchRequest;

/// Returns the setting that prevents Codex from storing trust, for this process alone.
pub fn untrusted_setting(order: &LaunchRequest<'_>) -> Option<Value> {
    let config = config_file::read_user_config(order.host);
    let places = trust_roots(order);
    let known = config.named_tables("projects").any(|(path, _)| places.contains(&PathBuf::from(path)));
    let folder = order.cwd.to_string_lossy();
    (!known).then(|| json!({ folder: { "trust_level": "untrusted" } }))
}

/// Returns the directories whose trust applies to this one: itself, its ancestors, and the repository of a linked
/// worktree.
fn trust_roots(order: &LaunchRequest<'_>) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = order.cwd.ancestors().map(Path::to_owned).collect();
    let linked = order.cwd.ancestors().find_map(|folder| order.host.read_file(&folder.join(".git")));
    let repository = linked.as_deref().and_then(|text| text.strip_prefix("gitdir: ")).and_then(|text| {
        // `/repository/.git/worktrees/NAME`
        Path::new(text.trim()).ancestors().nth(3)
    });
    places.extend(repository.map(Path::to_owned));
    places
}
