//! Finds protected files in directories that a confined session may write: those that are there when it starts, which the
//! sandbox keeps as they are, and those that it has created or changed when it ends, which are reported.

use std::{
    collections::VecDeque,
    fs::{self, DirEntry},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use switchboard_event::Timestamp;

use crate::protected_paths::{can_hold_protected, is_protected, is_protected_directory};

/// Directories that are looked into when a session starts. Nested repositories beyond are only reported.
const MAX_DIRECTORIES_AT_START: usize = 1_000;

/// Directories that are looked into when a session ends.
const MAX_DIRECTORIES_AT_END: usize = 50_000;

/// Large directories of generated files, in which nothing runs by itself.
const SKIPPED: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__", ".cache", "dist", "build"];

/// The protected files and directories below some directories, without those in `exceptions`.
pub fn existing(roots: &[PathBuf], home: &Path, exceptions: &[PathBuf]) -> Vec<PathBuf> {
    let mut search = Search { home, left: MAX_DIRECTORIES_AT_START, found: Vec::new() };
    search.run(roots);
    search.found.retain(|path| !exceptions.iter().any(|exception| path.starts_with(exception)));
    search.found
}

/// Protected files that were created or changed since a time, and whether all directories were looked into.
pub fn changed_since(roots: &[PathBuf], home: &Path, since: Timestamp) -> (Vec<PathBuf>, bool) {
    let mut search = Search { home, left: MAX_DIRECTORIES_AT_END, found: Vec::new() };
    search.run(roots);
    let is_complete = search.left > 0;
    let mut changed = Vec::new();
    for path in search.found {
        collect_changed(&path, since, &mut changed);
    }
    (changed, is_complete)
}

fn collect_changed(path: &Path, since: Timestamp, changed: &mut Vec<PathBuf>) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    if found.is_dir() {
        entries(path).for_each(|entry| collect_changed(&entry.path(), since, changed));
    // The time of the last change of a file's metadata: a program can set the other times, and not this one.
    } else if found.ctime() >= since.as_micros().div_euclid(1_000_000) && !is_sample(path) {
        changed.push(path.to_owned());
    }
}

/// Git itself puts examples into every new repository, which it does not run.
fn is_sample(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sample")
}

struct Search<'a> {
    home: &'a Path,
    /// How many more directories are looked into.
    left: usize,
    found: Vec<PathBuf>,
}

impl Search<'_> {
    /// Level by level, since what is near matters most.
    fn run(&mut self, roots: &[PathBuf]) {
        let mut queue: VecDeque<PathBuf> = roots.iter().cloned().collect();
        while let Some(directory) = queue.pop_front() {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            for entry in entries(&directory) {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if is_candidate(&name) {
                    self.collect(&entry.path());
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !SKIPPED.contains(&&*name) {
                    queue.push_back(entry.path());
                }
            }
        }
    }

    /// A path that may be protected, or hold something that is.
    fn collect(&mut self, path: &Path) {
        let Ok(found) = fs::symlink_metadata(path) else { return };
        if !found.is_dir() {
            if is_protected(path, self.home) {
                self.found.push(path.to_owned());
            }
        } else if is_protected_directory(path, self.home) {
            self.found.push(path.to_owned());
        } else if self.left > 0 && can_hold_protected(path, self.home) {
            self.left -= 1;
            entries(path).for_each(|entry| self.collect(&entry.path()));
        }
    }
}

/// Whether a pattern can begin with this name. Nearly all names are passed over here.
fn is_candidate(name: &str) -> bool {
    let folded = name.to_lowercase();
    name.starts_with('.')
        || !name.is_ascii()
        || folded.starts_with("lefthook")
        || [".iml", ".code-workspace", ".json", ".jsonc"].iter().any(|ending| folded.ends_with(ending))
}

fn entries(directory: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use switchboard_event::Timestamp;

    use super::{changed_since, existing};
    use crate::protected_paths::patterns;

    #[test]
    fn every_pattern_for_any_directory_begins_with_a_candidate() {
        for pattern in patterns().filter(|pattern| !pattern.starts_with(['~', '/'])) {
            let first = pattern.split('/').next().unwrap().replace('*', "x");
            assert!(super::is_candidate(&first), "{pattern}");
        }
    }

    #[test]
    fn protected_files_are_found_at_any_depth() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for path in
            [".git/hooks/pre-commit", ".git/config", ".git/HEAD", "a/b/.git/config", ".vscode/tasks.json", "x.rs"]
        {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let relative = |paths: Vec<std::path::PathBuf>| {
            let mut names: Vec<_> =
                paths.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
            names.sort();
            names
        };
        let home = Path::new("/home/ada");
        let roots = [root.clone()];
        let found = relative(existing(&roots, home, &[]));
        assert_eq!(found, [".git/config", ".git/hooks", ".vscode/tasks.json", "a/b/.git/config"]);
        let found = relative(existing(&roots, home, &[root.join(".git")]));
        assert_eq!(found, [".vscode/tasks.json", "a/b/.git/config"]);
        let (changed, is_complete) = changed_since(&roots, home, Timestamp::from_micros(0).unwrap());
        let expected = [".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", "a/b/.git/config"];
        assert_eq!((relative(changed), is_complete), (expected.map(str::to_owned).to_vec(), true));
        let later = Timestamp::from_micros(32_503_680_000_000_000).unwrap();
        assert_eq!(changed_since(&roots, home, later), (Vec::new(), true));
    }
}
