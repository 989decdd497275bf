//! Finds protected files in directories that a confined session may write: those that are there when it starts, which the
//! sandbox keeps as they are, and those that it has created or changed when it ends, which are reported.

use std::{
    collections::{BTreeSet, VecDeque},
    fs::{self, DirEntry},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use switchboard_event::Timestamp;

use crate::protected_paths::{can_hold_protected, is_protected, is_protected_directory};

/// Directories that are looked into for nested ones when a session starts.
const MAX_DIRECTORIES_AT_START: usize = 1_000;

/// Directories that are looked into when a session ends.
const MAX_DIRECTORIES_AT_END: usize = 50_000;

/// Directories with protected files that are looked into, whichever of them come first.
const MAX_PROTECTED_DIRECTORIES: usize = 10_000;

/// Links that are followed on the way to one file.
const MAX_LINKS: usize = 8;

/// Large directories of generated files, which are looked into last.
const GENERATED: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__", ".cache", "dist", "build"];

/// What git keeps in large numbers and does not run.
const GIT_DATA: &[&str] = &["objects", "refs", "logs", "lfs"];

/// How much later than a change the clock may be from which the time of the change is taken, in microseconds.
const CLOCK_TOLERANCE_MICROS: i64 = 10_000;

/// Protected files and directories.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProtectedFiles {
    /// Their real paths.
    pub paths: Vec<PathBuf>,
    /// All directories near the workspace's top were looked into.
    pub is_complete: bool,
}

/// The protected files and directories below some directories, without those in `exceptions`.
pub fn existing(roots: &[PathBuf], home: &Path, exceptions: &[PathBuf]) -> ProtectedFiles {
    let mut found = Search::new(roots, home, MAX_DIRECTORIES_AT_START).run();
    found.paths.retain(|path| !exceptions.iter().any(|exception| path.starts_with(exception)));
    found
}

/// Protected files that were created or changed since a time.
pub fn changed_since(roots: &[PathBuf], home: &Path, since: Timestamp) -> ProtectedFiles {
    let found = Search::new(roots, home, MAX_DIRECTORIES_AT_END).run();
    let mut changed = Vec::new();
    for path in &found.paths {
        collect_changed(path, since, &mut changed);
    }
    ProtectedFiles { paths: changed, ..found }
}

fn collect_changed(path: &Path, since: Timestamp, changed: &mut Vec<PathBuf>) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    if found.is_dir() {
        entries(path).for_each(|entry| collect_changed(&entry.path(), since, changed));
        return;
    }
    // The time of the last change of a file's metadata: a program can set the other times, and not this one.
    let time = found.ctime().saturating_mul(1_000_000).saturating_add(found.ctime_nsec() / 1_000);
    if time.saturating_add(CLOCK_TOLERANCE_MICROS) >= since.as_micros() && !is_sample(path) {
        changed.push(path.to_owned());
    }
}

/// Git itself puts examples into every new repository, which it does not run.
fn is_sample(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sample")
}

struct Search<'a> {
    roots: &'a [PathBuf],
    home: &'a Path,
    /// How many more directories are looked into for nested ones.
    left: usize,
    /// How many more directories with protected files are looked into.
    protected_left: usize,
    found: BTreeSet<PathBuf>,
}

impl<'a> Search<'a> {
    fn new(roots: &'a [PathBuf], home: &'a Path, left: usize) -> Self {
        Self { roots, home, left, protected_left: MAX_PROTECTED_DIRECTORIES, found: BTreeSet::new() }
    }

    /// Level by level, since what is near matters most, and generated files last.
    fn run(mut self) -> ProtectedFiles {
        let (mut queue, mut last): (VecDeque<_>, VecDeque<_>) = (self.roots.iter().cloned().collect(), VecDeque::new());
        self.roots.iter().for_each(|root| self.collect(root, root, MAX_LINKS));
        while let Some(directory) = queue.pop_front().or_else(|| last.pop_front()) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            for entry in entries(&directory) {
                let (name, path) = (entry.file_name(), entry.path());
                let name = name.to_string_lossy();
                if is_candidate(&name) {
                    self.collect(&path, &path, MAX_LINKS);
                }
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir()) && name != ".git";
                match GENERATED.contains(&&*name) {
                    false if is_directory => queue.push_back(path),
                    true if is_directory => last.push_back(path),
                    _ => {}
                }
            }
        }
        let is_complete = self.protected_left > 0 && queue.is_empty();
        ProtectedFiles { paths: self.found.into_iter().collect(), is_complete }
    }

    /// A path that may be protected, or hold something that is. `named` is the path by which programs find it, `real` the
    /// one without links, which counts only in a directory that can be written.
    fn collect(&mut self, named: &Path, real: &Path, links: usize) {
        let Ok(found) = fs::symlink_metadata(real) else { return };
        if found.is_symlink() {
            let target = fs::canonicalize(real).ok().filter(|_| links > 0);
            let inside = target.filter(|target| self.roots.iter().any(|root| target.starts_with(root)));
            inside.iter().for_each(|target| self.collect(named, target, links - 1));
        } else if !found.is_dir() {
            if is_protected(named, self.home) {
                self.found.insert(real.to_owned());
            }
        } else if is_protected_directory(named, self.home) {
            self.found.insert(real.to_owned());
        } else if self.protected_left > 0 && can_hold_protected(named, self.home) {
            self.protected_left -= 1;
            let is_git = real.join("HEAD").is_file();
            let is_passed_over = |name: &str| is_git && GIT_DATA.contains(&name);
            for entry in entries(real).filter(|entry| !is_passed_over(&entry.file_name().to_string_lossy())) {
                self.collect(&named.join(entry.file_name()), &entry.path(), links);
            }
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
        let found = relative(existing(&roots, home, &[]).paths);
        assert_eq!(found, [".git/config", ".git/hooks", ".vscode/tasks.json", "a/b/.git/config"]);
        let found = relative(existing(&roots, home, &[root.join(".git")]).paths);
        assert_eq!(found, [".vscode/tasks.json", "a/b/.git/config"]);
        let changed = changed_since(&roots, home, Timestamp::from_micros(0).unwrap());
        let expected = [".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", "a/b/.git/config"];
        assert_eq!((relative(changed.paths), changed.is_complete), (expected.map(str::to_owned).to_vec(), true));
        let later = Timestamp::from_micros(32_503_680_000_000_000).unwrap();
        assert_eq!(changed_since(&roots, home, later).paths, Vec::<std::path::PathBuf>::new());
    }

    #[test]
    fn links_many_directories_and_hidden_places_do_not_hide_protected_files() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let write = |path: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        (0..1_200).for_each(|number| write(&format!(".git/modules/m/objects/{number}/x")));
        for path in
            [".git/modules/m/HEAD", ".worktrees/f/.git/config", "build/r/.git/config", "cfg/tasks.json", "z.json"]
        {
            write(path);
        }
        std::os::unix::fs::symlink("cfg", root.join(".vscode")).unwrap();
        std::os::unix::fs::symlink("z.json", root.join(".mcp.json")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join(".envrc")).unwrap();
        let roots = [root.clone()];
        let found = existing(&roots, Path::new("/home/ada"), &[]);
        let expected = [".worktrees/f/.git/config", "build/r/.git/config", "cfg/tasks.json", "z.json"];
        assert_eq!(found.paths, expected.map(|path| root.join(path)));
        // A workspace that is itself protected, or holds what is.
        for (path, expected) in [(".worktrees/f/.git", "config"), ("cfg/../.git/modules/m", "HEAD")] {
            let git = [root.join(path)];
            let found = existing(&git, Path::new("/home/ada"), &[]).paths;
            assert_eq!(found.contains(&git[0].join(expected)), expected == "config", "{found:?}");
        }
    }
}
