//! Finds protected files in directories that a confined session may write: those that exist when it starts, which the
//! sandbox makes read-only, and those that it has created or changed when it ends, which are reported.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::OsStr,
    fs::{self, DirEntry},
    io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use switchboard_event::Timestamp;

use crate::{
    git::UserGitConfig,
    protected_paths::{PathMatch, ProtectedPatterns},
};

/// The maximum number of directories that are searched when a session starts.
const MAX_DIRECTORIES_AT_START: usize = 5_000;

/// The maximum number of directories that are searched when a session ends.
const MAX_DIRECTORIES_AT_END: usize = 50_000;

/// The maximum number of directories with protected files that are searched, in order of discovery.
const MAX_PROTECTED_DIRECTORIES: usize = 10_000;

/// The maximum number of protected files that are found when a session ends.
const MAX_FILES_AT_END: usize = 100_000;

/// The maximum number of links that are followed on the way to one file.
const MAX_LINKS: usize = 8;

/// Large directories of generated files, which are searched last.
const GENERATED_DIRECTORIES: &[&str] =
    &["node_modules", "target", ".venv", "venv", "__pycache__", ".cache", "dist", "build"];

/// Directories in which git stores many files that it does not run.
const GIT_DATA_DIRECTORIES: &[&str] = &["objects", "refs", "logs", "lfs"];

/// The tolerance, in microseconds, between the engine's clock and the coarser clock of file timestamps.
const CLOCK_TOLERANCE_MICROS: i64 = 10_000;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProtectedFiles {
    /// Their paths, without links when a session starts.
    pub paths: Vec<PathBuf>,
    /// Every directory was searched.
    pub is_complete: bool,
}

/// Returns the protected files and directories below some directories, without those in `exceptions`.
pub fn find_existing_files(roots: &[PathBuf], home: &Path, exceptions: &[PathBuf]) -> ProtectedFiles {
    let search = ProtectedFileSearch::new(roots, home, MAX_DIRECTORIES_AT_START, SearchExtent::Tops).run();
    let is_excepted = |path: &PathBuf| exceptions.iter().any(|exception| path.starts_with(exception));
    let is_complete = search.is_complete;
    let mut paths: Vec<_> = search.found.into_keys().collect();
    paths.retain(|path| !is_excepted(path));
    ProtectedFiles { paths, is_complete }
}

/// Protected files that existed when a session started, and that it could not replace.
#[derive(Clone, Debug, Default)]
pub struct KnownFiles {
    identities: BTreeMap<PathBuf, (u64, u64)>,
}

impl KnownFiles {
    /// Records the current files at some paths.
    pub fn remember(paths: &[PathBuf]) -> Self {
        let identity = |path: &PathBuf| Some((path.clone(), identity(path)?));
        Self { identities: paths.iter().filter_map(identity).collect() }
    }

    /// Returns the known file or directory that a path is or lies in, if it is still the same.
    fn covering<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.ancestors().find(|path| self.identities.get(*path).is_some_and(|known| identity(path) == Some(*known)))
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Returns the protected files that were created or changed since a time, or got their protected name since. Those
/// nearest to the top come first.
pub fn find_changed_files(roots: &[PathBuf], home: &Path, since: Timestamp, known: &KnownFiles) -> ProtectedFiles {
    let search = ProtectedFileSearch::new(roots, home, MAX_DIRECTORIES_AT_END, SearchExtent::Files).run();
    let is_complete = search.is_complete;
    let found = search.found.into_iter();
    let changed = found.filter(|(real, named)| !is_sample(real) && is_new(roots, real, named, since, known));
    let mut paths: Vec<_> = changed.map(|(_, named)| named).collect();
    paths.sort_by_cached_key(|path| (path.components().count(), path.clone()));
    ProtectedFiles { paths, is_complete }
}

/// Returns whether a protected file is new or changed. A file that is moved together with its directory keeps its
/// times, so the directories on the way count, too, below the known ones. So do links by which the file has its
/// protected name.
fn is_new(roots: &[PathBuf], real: &Path, named: &Path, since: Timestamp, known: &KnownFiles) -> bool {
    let is_changed = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| was_changed(&found, since));
    let is_changed_link = |path: &Path| path.is_symlink() && is_changed(path);
    if is_changed(real) || real != named && named.ancestors().any(is_changed_link) {
        return true;
    }
    // The target of an old link is judged by itself.
    if real.is_symlink() {
        return false;
    }
    let root = roots.iter().filter(|root| real.starts_with(root)).max_by_key(|root| root.as_os_str().len());
    let top = known.covering(real).or(root.map(PathBuf::as_path)).unwrap_or(Path::new("/"));
    real.ancestors().take_while(|path| *path != top).any(is_changed)
}

fn was_changed(found: &fs::Metadata, since: Timestamp) -> bool {
    // The time of the last change of a file's metadata: a program can set the other times, but not this one.
    let time = found.ctime().saturating_mul(1_000_000).saturating_add(found.ctime_nsec() / 1_000);
    time.saturating_add(CLOCK_TOLERANCE_MICROS) >= since.as_micros()
}

/// Returns whether a file is a sample hook. Git puts samples into every new repository and does not run them.
fn is_sample(path: &Path) -> bool {
    let hooks = path.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "hooks"));
    let is_repository = hooks.and_then(Path::parent).is_some_and(|git| git.join("HEAD").is_file());
    is_repository && path.extension().is_some_and(|extension| extension == "sample")
}

/// The results that a search collects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchExtent {
    /// Files, and directories whose whole content is protected.
    Tops,
    Files,
}

struct ProtectedFileSearch<'a> {
    roots: &'a [PathBuf],
    patterns: ProtectedPatterns,
    user: UserGitConfig,
    extent: SearchExtent,
    /// The number of directories that may still be searched.
    left: usize,
    /// The number of directories with protected files that may still be searched.
    protected_left: usize,
    is_complete: bool,
    /// The real paths, and the names by which programs find them.
    found: BTreeMap<PathBuf, PathBuf>,
}

/// A directory that may have protected files somewhere below it.
struct SearchDirectory {
    path: PathBuf,
    matched: PathMatch,
    /// Its direct entries were collected already.
    is_collected: bool,
}

struct PathCandidate {
    /// The path by which programs find it.
    named: PathBuf,
    /// The path without links.
    real: PathBuf,
    matched: PathMatch,
    /// Links that may still be followed.
    links: usize,
    /// It lies in a directory that is protected as a whole.
    is_covered: bool,
}

impl<'a> ProtectedFileSearch<'a> {
    fn new(roots: &'a [PathBuf], home: &Path, left: usize, extent: SearchExtent) -> Self {
        Self {
            roots,
            patterns: ProtectedPatterns::new(home),
            user: UserGitConfig::read(home),
            extent,
            left,
            protected_left: MAX_PROTECTED_DIRECTORIES,
            is_complete: true,
            found: BTreeMap::new(),
        }
    }

    /// Searches level by level, since near files matter most, and generated files last.
    fn run(mut self) -> Self {
        let (mut queue, mut last) = (VecDeque::new(), VecDeque::new());
        for root in self.roots {
            let matched = self.patterns.locate(root);
            let named = self.user.named_paths_above(root);
            self.collect_named(named);
            self.collect(root, matched.clone());
            let is_collected = matched.can_hold_protected || matched.is_protected_directory;
            queue.push_back(SearchDirectory { path: root.clone(), matched, is_collected });
        }
        while let Some(directory) = queue.pop_front().or_else(|| last.pop_front()) {
            if self.left == 0 {
                self.is_complete = false;
                break;
            }
            self.left -= 1;
            for entry in self.entries(&directory.path) {
                let name = entry.file_name();
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let is_unrelated = directory.matched.is_unrelated() && !is_candidate(&name);
                if is_unrelated && !is_directory {
                    continue;
                }
                let path = directory.path.join(&name);
                let matched =
                    if is_unrelated { PathMatch::default() } else { self.patterns.enter(&directory.matched, &name) };
                if !directory.is_collected && !matched.is_unrelated() {
                    self.collect(&path, matched.clone());
                }
                if name == ".git" {
                    let named = self.user.named_paths(&directory.path);
                    self.collect_named(named);
                } else if is_directory && !matched.is_protected_directory {
                    let is_generated = GENERATED_DIRECTORIES.iter().any(|generated| name == *generated);
                    let is_collected = matched.can_hold_protected;
                    let next = SearchDirectory { path, matched, is_collected };
                    if is_generated { last.push_back(next) } else { queue.push_back(next) }
                }
            }
        }
        self
    }

    /// Collects paths that the configuration of a repository names. They run or configure something, whatever their
    /// names.
    fn collect_named(&mut self, named: Vec<PathBuf>) {
        for path in named {
            let real = fs::canonicalize(&path).unwrap_or(path);
            let is_inside = self.roots.iter().any(|root| real.starts_with(root) && real != *root);
            if is_inside && !self.roots.iter().any(|root| root.starts_with(&real)) {
                self.collect(&real, PathMatch::whole());
            }
        }
    }

    fn collect(&mut self, path: &Path, matched: PathMatch) {
        let (named, real, links) = (path.to_owned(), path.to_owned(), MAX_LINKS);
        // A queue instead of recursion: a tree can be deeper than the stack.
        let mut left = VecDeque::from([PathCandidate { named, real, matched, links, is_covered: false }]);
        while let Some(candidate) = left.pop_front() {
            self.visit(candidate, &mut left);
        }
    }

    fn visit(&mut self, candidate: PathCandidate, left: &mut VecDeque<PathCandidate>) {
        let PathCandidate { named, real, matched, links, is_covered: is_parent_covered } = candidate;
        let Ok(found) = fs::symlink_metadata(&real) else { return };
        if found.is_symlink() {
            if self.extent == SearchExtent::Files && (matched.is_protected || matched.can_hold_protected) {
                self.insert(real.clone(), named.clone());
            }
            let target = fs::canonicalize(&real).ok().filter(|_| links > 0);
            let inside = target.filter(|target| self.roots.iter().any(|root| target.starts_with(root)));
            if let Some(real) = inside {
                left.push_back(PathCandidate { named, real, matched, links: links - 1, is_covered: false });
            }
        } else if !found.is_dir() {
            if matched.is_protected && !(is_parent_covered && self.extent == SearchExtent::Tops) {
                self.insert(real, named);
            }
        } else if matched.is_protected_directory || matched.can_hold_protected {
            if self.protected_left == 0 {
                self.is_complete = false;
                return;
            }
            self.protected_left -= 1;
            let is_covered = is_parent_covered || matched.is_protected_directory;
            let is_git = real.join("HEAD").is_file();
            for entry in self.entries(&real) {
                let (name, path) = (entry.file_name(), entry.path());
                if is_git && is_git_data(&name, &path) {
                    continue;
                }
                // In a covered directory, only links lead elsewhere.
                let is_skipped = self.extent == SearchExtent::Tops
                    && is_covered
                    && entry.file_type().is_ok_and(|kind| kind.is_file());
                if !is_skipped {
                    let matched = self.patterns.enter(&matched, &name);
                    left.push_back(PathCandidate { named: named.join(&name), real: path, matched, links, is_covered });
                }
            }
            if self.extent == SearchExtent::Tops && matched.is_protected_directory && !is_parent_covered {
                self.insert(real, named);
            }
        }
    }

    fn insert(&mut self, real: PathBuf, named: PathBuf) {
        if self.found.len() >= MAX_FILES_AT_END {
            self.is_complete = false;
        } else {
            self.found.entry(real).or_insert(named);
        }
    }

    /// Returns the entries of a directory. An unreadable one makes the search incomplete, unless it is another user's.
    fn entries(&mut self, directory: &Path) -> Vec<DirEntry> {
        match fs::read_dir(directory) {
            Ok(entries) => entries.flatten().collect(),
            Err(error) => {
                let is_foreign = || {
                    let own = rustix::process::geteuid().as_raw();
                    fs::symlink_metadata(directory).is_ok_and(|found| found.uid() != own)
                };
                self.is_complete &= match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => true,
                    io::ErrorKind::PermissionDenied => is_foreign(),
                    _ => false,
                };
                Vec::new()
            }
        }
    }
}

/// Returns whether a path is data of a repository. A repository itself is not: a submodule can have any name.
fn is_git_data(name: &OsStr, path: &Path) -> bool {
    GIT_DATA_DIRECTORIES.iter().any(|data| name == *data)
        && !(path.join("HEAD").is_file() && path.join("config").is_file())
}

/// Returns whether a pattern can begin with this name. Nearly all names are ruled out here.
fn is_candidate(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let ends_with = |ending: &&str| {
        let at = bytes.len().checked_sub(ending.len());
        at.and_then(|at| bytes.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(ending.as_bytes()))
    };
    bytes.first() == Some(&b'.')
        || !bytes.is_ascii()
        || bytes.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"lefthook"))
        || [".iml", ".code-workspace", ".json", ".jsonc"].iter().any(ends_with)
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        os::unix::fs::MetadataExt as _,
        path::{Path, PathBuf},
        slice::from_ref,
        time::Duration,
    };

    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    use switchboard_event::Timestamp;

    use super::{KnownFiles, ProtectedFiles, find_changed_files, find_existing_files, is_candidate};
    use crate::{protected_paths::patterns, test_tree::TestTree};

    /// A workspace with files that are all older than the start of a session.
    struct AgedWorkspace {
        tree: TestTree,
        root: PathBuf,
        started: Timestamp,
        known: KnownFiles,
    }

    impl AgedWorkspace {
        fn new(files: &[(&str, &str)]) -> Self {
            let tree = TestTree::new(&[]);
            files.iter().for_each(|(path, text)| tree.write(path, text));
            let newest = fs::metadata(tree.join(files.last().unwrap().0)).unwrap();
            // Later than the clock's tolerance.
            std::thread::sleep(Duration::from_millis(30));
            let started = newest.ctime() * 1_000_000 + newest.ctime_nsec() / 1_000 + 20_000;
            let mut workspace = Self {
                root: tree.to_owned(),
                tree,
                started: Timestamp::from_micros(started).unwrap(),
                known: KnownFiles::default(),
            };
            workspace.known = KnownFiles::remember(&workspace.find_existing(&[]).paths);
            workspace
        }

        fn find_existing(&self, exceptions: &[PathBuf]) -> ProtectedFiles {
            find_existing_files(from_ref(&self.root), &self.root.join("home"), exceptions)
        }

        fn existing(&self) -> Vec<String> {
            self.relative(&self.find_existing(&[]))
        }

        fn changed(&self) -> Vec<String> {
            self.relative(&find_changed_files(from_ref(&self.root), &self.root.join("home"), self.started, &self.known))
        }

        fn relative(&self, files: &ProtectedFiles) -> Vec<String> {
            files.paths.iter().map(|path| self.tree.relative(path)).collect()
        }
    }

    #[test]
    fn every_pattern_for_any_directory_begins_with_a_candidate() {
        for pattern in patterns().filter(|pattern| !pattern.starts_with(['~', '/'])) {
            let first = pattern.split('/').next().unwrap().replace('*', "x");
            assert!(is_candidate(first.as_ref()), "{pattern}");
        }
    }

    #[test]
    fn protected_files_are_found_at_any_depth() {
        let files =
            [".git/hooks/pre-commit", ".git/config", ".git/HEAD", "a/b/.git/config", ".vscode/tasks.json", "x.rs"];
        let mut workspace = AgedWorkspace::new(&files.map(|path| (path, "")));
        assert_eq!(workspace.existing(), [".git/config", ".git/hooks", ".vscode/tasks.json", "a/b/.git/config"]);
        let unexcepted = workspace.find_existing(&[workspace.root.join(".git")]);
        assert_eq!(workspace.relative(&unexcepted), [".vscode/tasks.json", "a/b/.git/config"]);
        workspace.started = Timestamp::from_micros(32_503_680_000_000_000).unwrap();
        assert_eq!(workspace.changed(), [""; 0]);
        (workspace.started, workspace.known) = (Timestamp::from_micros(0).unwrap(), KnownFiles::default());
        let expected = [".git/config", ".vscode/tasks.json", ".git/hooks/pre-commit", "a/b/.git/config"];
        assert_eq!(workspace.changed(), expected);
    }

    #[test]
    fn links_many_directories_and_hidden_places_do_not_hide_protected_files() {
        let tree = TestTree::new(&[]);
        (0..1_200).for_each(|number| tree.write(&format!(".git/modules/m/objects/{number}/x"), ""));
        for path in
            [".git/modules/m/HEAD", ".worktrees/f/.git/config", "build/r/.git/config", "cfg/tasks.json", "z.json"]
        {
            tree.write(path, "");
        }
        tree.link("cfg", ".vscode");
        tree.link("z.json", ".mcp.json");
        tree.link("nowhere", ".envrc");
        let find = |root: PathBuf| find_existing_files(&[root], Path::new("/home/ada"), &[]).paths;
        let expected = [".worktrees/f/.git/config", "build/r/.git/config", "cfg/tasks.json", "z.json"];
        assert_eq!(find(tree.to_owned()), expected.map(|path| tree.join(path)));
        // A workspace that is itself protected, or contains protected files.
        for (path, expected) in [(".worktrees/f/.git", "config"), ("cfg/../.git/modules/m", "HEAD")] {
            let git = tree.join(path);
            let found = find(git.clone());
            assert_eq!(found.contains(&git.join(expected)), expected == "config", "{found:?}");
        }
    }

    #[test]
    fn files_that_are_moved_with_their_directory_are_new() {
        let workspace = AgedWorkspace::new(&[
            ("templates/editor/tasks.json", ""),
            ("tpl/config", ""),
            ("old/.git/config", ""),
            ("old/.git/hooks/pre-commit", ""),
            ("hooks/pre-push", ""),
            ("cfg/tasks.json", ""),
        ]);
        fs::create_dir(workspace.root.join("sub")).unwrap();
        // Neither a file that is new in a directory nor one in the workspace makes protected files new.
        workspace.tree.write("old/new.rs", "");
        workspace.tree.write("new.rs", "");
        assert_eq!(workspace.changed(), [""; 0]);
        for (from, to) in [("templates/editor", ".vscode"), ("tpl", "sub/.git"), ("hooks", "sub/.git/hooks")] {
            fs::rename(workspace.root.join(from), workspace.root.join(to)).unwrap();
        }
        workspace.tree.link("../cfg", "old/.vscode");
        workspace.tree.link("/elsewhere", ".envrc");
        let expected = [
            ".envrc",
            ".vscode/tasks.json",
            "old/.vscode",
            "old/.vscode/tasks.json",
            "sub/.git/config",
            "sub/.git/hooks/pre-push",
        ];
        assert_eq!(workspace.changed(), expected);
    }

    #[test]
    fn a_deep_tree_is_searched_to_a_bound_that_is_reported() {
        let workspace = AgedWorkspace::new(&[(".git/HEAD", ""), (".git/config", "")]);
        for (top, file) in [(".git/modules", "config"), (".husky", "x"), ("src", ".envrc")] {
            workspace.tree.write(&format!("{top}/{}{file}", "a/".repeat(1_500)), "");
        }
        let (found, changed) = (workspace.find_existing(&[]), workspace.changed());
        assert!(found.is_complete && found.paths.len() == 4, "{} of 4", found.paths.len());
        assert_eq!(changed.len(), 3);
        // Deeper than a path can name.
        let mut directory = File::open(workspace.root.join("src")).unwrap();
        for _ in 0..3_000 {
            mkdirat(&directory, "b", Mode::RWXU).unwrap();
            directory = openat(&directory, "b", OFlags::DIRECTORY, Mode::empty()).unwrap().into();
        }
        assert!(!workspace.find_existing(&[]).is_complete);
    }

    #[test]
    fn a_bound_on_directories_is_reported() {
        let workspace = AgedWorkspace::new(&[("x", "")]);
        for number in 0..6_000 {
            fs::create_dir_all(workspace.root.join(format!("node_modules/{number}"))).unwrap();
        }
        assert!(!workspace.find_existing(&[]).is_complete);
    }

    #[test]
    fn paths_that_the_configuration_of_git_names_are_protected() {
        let workspace = AgedWorkspace::new(&[
            (".git/HEAD", ""),
            (".githooks/pre-commit", ""),
            ("tools/inc", "[core]\nfsmonitor = x\n"),
            ("sub/.git/HEAD", ""),
            ("sub/.git/config", "[core]\nhooksPath = ../common\n"),
            ("common/pre-push", ""),
            (
                ".git/config",
                "[core]\nhooksPath = .githooks\n[include]\npath = ../tools/inc\n[include]\npath = ../new\n",
            ),
        ]);
        assert_eq!(workspace.existing(), [".git/config", ".githooks", "common", "sub/.git/config", "tools/inc"]);
        assert_eq!(workspace.changed(), [""; 0]);
        workspace.tree.write("new", "");
        workspace.tree.write(".githooks/pre-push", "");
        assert_eq!(workspace.changed(), ["new", ".githooks/pre-push"]);
    }

    #[test]
    fn targets_of_links_in_protected_directories_are_protected() {
        let workspace = AgedWorkspace::new(&[("scripts/pre-commit", ""), (".git/hooks/x", "")]);
        workspace.tree.link("../../scripts/pre-commit", ".git/hooks/pre-commit");
        assert_eq!(workspace.existing(), [".git/hooks", "scripts/pre-commit"]);
    }

    #[test]
    fn a_submodule_may_have_the_name_of_a_git_data_directory() {
        let files = ["HEAD", "refs/HEAD", "refs/config", "refs/hooks/pre-commit"];
        let files = files.map(|path| format!(".git/modules/{path}"));
        let workspace = AgedWorkspace::new(&files.each_ref().map(|path| (path.as_str(), "")));
        assert_eq!(workspace.existing(), [".git/modules/refs/config", ".git/modules/refs/hooks"]);
    }
}
