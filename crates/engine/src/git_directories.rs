//! The repository of a linked worktree lies outside of the workspace, and committing writes to it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::git_config::read_path;

/// The directories that git writes to for a workspace that is a linked worktree; none for others.
///
/// The file `.git` is part of the workspace, so an agent may have written it. The repository must name the workspace as
/// one of its worktrees, which only a program with access to the repository can have brought about.
pub fn of_linked_worktree(workspace: &Path) -> Vec<PathBuf> {
    find(workspace).unwrap_or_default()
}

/// The files and directories of a repository that run code later or say where it is, as far as they exist. Its directory may
/// have any name, so they are not recognized by their paths. The directory for hooks is created: otherwise it could be
/// created and filled from inside.
pub fn protected(repository: &Path) -> Vec<PathBuf> {
    drop(fs::create_dir_all(repository.join("hooks")));
    let worktrees = fs::read_dir(repository.join("worktrees")).into_iter().flatten().flatten();
    let worktrees = worktrees.flat_map(|worktree| WORKTREE_FILES.map(|name| worktree.path().join(name)));
    let own = REPOSITORY_FILES.map(|name| repository.join(name)).into_iter().chain(worktrees);
    own.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink())).collect()
}

const REPOSITORY_FILES: [&str; 4] = ["hooks", "config", "config.worktree", "info/attributes"];

const WORKTREE_FILES: [&str; 3] = ["gitdir", "commondir", "config.worktree"];

fn find(workspace: &Path) -> Option<Vec<PathBuf>> {
    let link = workspace.join(".git");
    let own = resolve(workspace, read_path(&link, "gitdir: ")?)?;
    let common = resolve(&own, read_path(&own.join("commondir"), "")?)?;
    let back = read_path(&own.join("gitdir"), "")?;
    let names_us = fs::canonicalize(back).ok()? == fs::canonicalize(&link).ok()?;
    let is_repository =
        common.join("HEAD").is_file() && common.join("objects").is_dir() && common.join("refs").is_dir();
    let is_inside = own.starts_with(common.join("worktrees"));
    (names_us && is_repository && is_inside).then(|| vec![common])
}

fn resolve(base: &Path, path: PathBuf) -> Option<PathBuf> {
    fs::canonicalize(base.join(path)).ok()
}
