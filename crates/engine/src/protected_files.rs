//! Finds protected files in directories that a confined session may write: those that are there when it starts, which the
//! sandbox keeps as they are, and those that it has created or changed when it ends, which are reported.

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
    git_config::UserGitConfig,
    protected_paths::{PathMatch, ProtectedPatterns},
};

/// Directories that are looked into for nested ones when a session starts.
const MAX_DIRECTORIES_AT_START: usize = 5_000;

/// Directories that are looked into when a session ends.
const MAX_DIRECTORIES_AT_END: usize = 50_000;

/// Directories with protected files that are looked into, whichever of them come first.
const MAX_PROTECTED_DIRECTORIES: usize = 10_000;

/// Protected files that are found when a session ends.
const MAX_FILES_AT_END: usize = 100_000;

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
    /// Their paths, without links when a session starts.
    pub paths: Vec<PathBuf>,
    /// Every directory was looked into.
    pub is_complete: bool,
}

/// The protected files and directories below some directories, without those in `exceptions`.
pub fn existing(roots: &[PathBuf], home: &Path, exceptions: &[PathBuf]) -> ProtectedFiles {
    let search = Search::new(roots, home, MAX_DIRECTORIES_AT_START, Extent::Tops).run();
    let is_excepted = |path: &PathBuf| exceptions.iter().any(|exception| path.starts_with(exception));
    let is_complete = search.is_complete;
    let mut paths: Vec<_> = search.found.into_keys().collect();
    paths.retain(|path| !is_excepted(path));
    ProtectedFiles { paths, is_complete }
}

/// Protected files that were there when a session started, and that it could not replace.
#[derive(Clone, Debug, Default)]
pub struct KnownFiles {
    identities: BTreeMap<PathBuf, (u64, u64)>,
}

impl KnownFiles {
    /// Remembers what is at these paths now.
    pub fn remember(paths: &[PathBuf]) -> Self {
        let identity = |path: &PathBuf| Some((path.clone(), identity(path)?));
        Self { identities: paths.iter().filter_map(identity).collect() }
    }

    /// The known file or directory that a path is or lies in, if it is still the same.
    fn covering<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.ancestors().find(|path| self.identities.get(*path).is_some_and(|known| identity(path) == Some(*known)))
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Protected files that were created or changed since a time, or that have got their protected name since. What is
/// nearest to the top comes first.
pub fn changed_since(roots: &[PathBuf], home: &Path, since: Timestamp, known: &KnownFiles) -> ProtectedFiles {
    let search = Search::new(roots, home, MAX_DIRECTORIES_AT_END, Extent::Files).run();
    let is_complete = search.is_complete;
    let found = search.found.into_iter();
    let changed = found.filter(|(real, named)| !is_sample(real) && is_new(roots, real, named, since, known));
    let mut paths: Vec<_> = changed.map(|(_, named)| named).collect();
    paths.sort_by_cached_key(|path| (path.components().count(), path.clone()));
    ProtectedFiles { paths, is_complete }
}

/// Whether a protected file is new or changed. A file that is moved together with its directory stays as it is, so the
/// directories on the way count, too, below what is known. So do links by which the file has its protected name.
fn is_new(roots: &[PathBuf], real: &Path, named: &Path, since: Timestamp, known: &KnownFiles) -> bool {
    let is_changed = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| was_changed(&found, since));
    let is_changed_link = |path: &Path| path.is_symlink() && is_changed(path);
    if is_changed(real) || real != named && named.ancestors().any(is_changed_link) {
        return true;
    }
    // A link that is there for long leads to a file that is judged by itself.
    if real.is_symlink() {
        return false;
    }
    let root = roots.iter().filter(|root| real.starts_with(root)).max_by_key(|root| root.as_os_str().len());
    let top = known.covering(real).or(root.map(PathBuf::as_path)).unwrap_or(Path::new("/"));
    real.ancestors().take_while(|path| *path != top).any(is_changed)
}

fn was_changed(found: &fs::Metadata, since: Timestamp) -> bool {
    // The time of the last change of a file's metadata: a program can set the other times, and not this one.
    let time = found.ctime().saturating_mul(1_000_000).saturating_add(found.ctime_nsec() / 1_000);
    time.saturating_add(CLOCK_TOLERANCE_MICROS) >= since.as_micros()
}

/// Git itself puts examples into the hooks of every new repository, which it does not run.
fn is_sample(path: &Path) -> bool {
    let hooks = path.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "hooks"));
    let is_repository = hooks.and_then(Path::parent).is_some_and(|git| git.join("HEAD").is_file());
    is_repository && path.extension().is_some_and(|extension| extension == "sample")
}

/// What a search is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Files, and directories whose whole content is protected.
    Tops,
    /// Every file.
    Files,
}

struct Search<'a> {
    roots: &'a [PathBuf],
    patterns: ProtectedPatterns,
    user: UserGitConfig,
    extent: Extent,
    /// How many more directories are looked into for nested ones.
    left: usize,
    /// How many more directories with protected files are looked into.
    protected_left: usize,
    is_complete: bool,
    /// The real paths, and the names by which programs find them.
    found: BTreeMap<PathBuf, PathBuf>,
}

/// A directory that may have protected files somewhere below it.
struct Directory {
    path: PathBuf,
    matched: PathMatch,
    /// What lies directly in it was collected already.
    is_collected: bool,
}

/// A path that may be protected, or hold something that is.
struct Candidate {
    /// The path by which programs find it.
    named: PathBuf,
    /// The path without links.
    real: PathBuf,
    matched: PathMatch,
    /// Links that may still be followed.
    links: usize,
    /// It lies in a directory that was found as a whole.
    is_covered: bool,
}

impl<'a> Search<'a> {
    fn new(roots: &'a [PathBuf], home: &Path, left: usize, extent: Extent) -> Self {
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

    /// Level by level, since what is near matters most, and generated files last.
    fn run(mut self) -> Self {
        let (mut queue, mut last) = (VecDeque::new(), VecDeque::new());
        for root in self.roots {
            let matched = self.patterns.locate(root);
            let named = self.user.named_paths_above(root);
            self.collect_named(named);
            self.collect(root, matched.clone());
            let is_collected = matched.can_hold_protected() || matched.is_protected_directory();
            queue.push_back(Directory { path: root.clone(), matched, is_collected });
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
                } else if is_directory && !matched.is_protected_directory() {
                    let is_generated = GENERATED.iter().any(|generated| name == *generated);
                    let is_collected = matched.can_hold_protected();
                    let next = Directory { path, matched, is_collected };
                    if is_generated { last.push_back(next) } else { queue.push_back(next) }
                }
            }
        }
        self
    }

    /// Paths that the configuration of a repository names, which run or configure something whatever they are called.
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
        // A list of its own: a tree can be deeper than the stack.
        let mut left = VecDeque::from([Candidate { named, real, matched, links, is_covered: false }]);
        while let Some(candidate) = left.pop_front() {
            self.visit(candidate, &mut left);
        }
    }

    fn visit(&mut self, candidate: Candidate, left: &mut VecDeque<Candidate>) {
        let Candidate { named, real, matched, links, is_covered: lies_covered } = candidate;
        let Ok(found) = fs::symlink_metadata(&real) else { return };
        if found.is_symlink() {
            if self.extent == Extent::Files && (matched.is_protected() || matched.can_hold_protected()) {
                self.insert(real.clone(), named.clone());
            }
            let target = fs::canonicalize(&real).ok().filter(|_| links > 0);
            let inside = target.filter(|target| self.roots.iter().any(|root| target.starts_with(root)));
            if let Some(real) = inside {
                left.push_back(Candidate { named, real, matched, links: links - 1, is_covered: false });
            }
        } else if !found.is_dir() {
            if matched.is_protected() && !(lies_covered && self.extent == Extent::Tops) {
                self.insert(real, named);
            }
        } else if matched.is_protected_directory() || matched.can_hold_protected() {
            if self.protected_left == 0 {
                self.is_complete = false;
                return;
            }
            self.protected_left -= 1;
            let is_covered = lies_covered || matched.is_protected_directory();
            let is_git = real.join("HEAD").is_file();
            for entry in self.entries(&real) {
                let (name, path) = (entry.file_name(), entry.path());
                if is_git && is_git_data(&name, &path) {
                    continue;
                }
                // Of what is covered only links lead elsewhere.
                let is_passed_over =
                    self.extent == Extent::Tops && is_covered && entry.file_type().is_ok_and(|kind| kind.is_file());
                if !is_passed_over {
                    let matched = self.patterns.enter(&matched, &name);
                    left.push_back(Candidate { named: named.join(&name), real: path, matched, links, is_covered });
                }
            }
            if self.extent == Extent::Tops && matched.is_protected_directory() && !lies_covered {
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

    /// What lies in a directory. One that cannot be read hides what is in it, unless it is another user's.
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

/// Data of a repository, unless it is a repository itself: a submodule can have any name.
fn is_git_data(name: &OsStr, path: &Path) -> bool {
    GIT_DATA.iter().any(|data| name == *data) && !(path.join("HEAD").is_file() && path.join("config").is_file())
}

/// Whether a pattern can begin with this name. Nearly all names are passed over here.
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
        os::unix::fs::{MetadataExt as _, symlink},
        path::{Path, PathBuf},
        time::{Duration, Instant},
    };

    use switchboard_event::Timestamp;

    use super::{KnownFiles, ProtectedFiles, changed_since, existing};
    use crate::protected_paths::patterns;

    #[test]
    fn every_pattern_for_any_directory_begins_with_a_candidate() {
        for pattern in patterns().filter(|pattern| !pattern.starts_with(['~', '/'])) {
            let first = pattern.split('/').next().unwrap().replace('*', "x");
            assert!(super::is_candidate(first.as_ref()), "{pattern}");
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
        let relative = |paths: Vec<PathBuf>| {
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
        let changed = changed_since(&roots, home, Timestamp::from_micros(0).unwrap(), &KnownFiles::default());
        let expected = [".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", "a/b/.git/config"];
        assert_eq!((relative(changed.paths), changed.is_complete), (expected.map(str::to_owned).to_vec(), true));
        let later = Timestamp::from_micros(32_503_680_000_000_000).unwrap();
        let changed = changed_since(&roots, home, later, &KnownFiles::default());
        assert_eq!(changed.paths, Vec::<PathBuf>::new());
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
        symlink("cfg", root.join(".vscode")).unwrap();
        symlink("z.json", root.join(".mcp.json")).unwrap();
        symlink("nowhere", root.join(".envrc")).unwrap();
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

    /// A workspace with files that are all older than the start of a session.
    struct Aged {
        root: PathBuf,
        started: Timestamp,
        known: KnownFiles,
        _directory: tempfile::TempDir,
    }

    impl Aged {
        fn new(files: &[(&str, &str)]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().canonicalize().unwrap();
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let newest = fs::metadata(root.join(files.last().unwrap().0)).unwrap();
            // Later than the clock's tolerance.
            std::thread::sleep(Duration::from_millis(30));
            let started = newest.ctime() * 1_000_000 + newest.ctime_nsec() / 1_000 + 20_000;
            let known = KnownFiles::remember(&existing(std::slice::from_ref(&root), &root.join("home"), &[]).paths);
            Self { root, started: Timestamp::from_micros(started).unwrap(), known, _directory: directory }
        }

        fn existing(&self) -> ProtectedFiles {
            existing(std::slice::from_ref(&self.root), &self.root.join("home"), &[])
        }

        fn changed(&self) -> Vec<String> {
            let roots = std::slice::from_ref(&self.root);
            let changed = changed_since(roots, &self.root.join("home"), self.started, &self.known);
            changed.paths.iter().map(|path| path.strip_prefix(&self.root).unwrap().display().to_string()).collect()
        }
    }

    #[test]
    fn files_that_are_moved_with_their_directory_are_new() {
        let place = Aged::new(&[
            ("templates/editor/tasks.json", ""),
            ("tpl/config", ""),
            ("old/.git/config", ""),
            ("old/.git/hooks/pre-commit", ""),
            ("hooks/pre-push", ""),
            ("cfg/tasks.json", ""),
        ]);
        fs::create_dir(place.root.join("sub")).unwrap();
        // Neither a file that is new in a directory nor one in the workspace makes protected files new.
        fs::write(place.root.join("old/new.rs"), "").unwrap();
        fs::write(place.root.join("new.rs"), "").unwrap();
        assert_eq!(place.changed(), [""; 0]);
        for (from, to) in [("templates/editor", ".vscode"), ("tpl", "sub/.git"), ("hooks", "sub/.git/hooks")] {
            fs::rename(place.root.join(from), place.root.join(to)).unwrap();
        }
        symlink("../cfg", place.root.join("old/.vscode")).unwrap();
        symlink("/elsewhere", place.root.join(".envrc")).unwrap();
        let expected = [
            ".envrc",
            ".vscode/tasks.json",
            "old/.vscode",
            "old/.vscode/tasks.json",
            "sub/.git/config",
            "sub/.git/hooks/pre-push",
        ];
        assert_eq!(place.changed(), expected);
    }

    #[test]
    fn a_deep_tree_is_searched_to_a_bound_that_is_reported() {
        let place = Aged::new(&[(".git/HEAD", ""), (".git/config", "")]);
        let deep = |top: &str, depth: usize| {
            fs::create_dir_all(place.root.join(top).join("a/".repeat(depth))).unwrap();
            place.root.join(top).join("a/".repeat(depth))
        };
        fs::write(deep(".git/modules", 1_500).join("config"), "").unwrap();
        fs::write(deep(".husky", 1_500).join("x"), "").unwrap();
        fs::write(deep("src", 1_500).join(".envrc"), "").unwrap();
        let began = Instant::now();
        let (found, changed) = (place.existing(), place.changed());
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert!(found.is_complete && found.paths.len() == 4, "{} of 4", found.paths.len());
        assert_eq!(changed.len(), 3);
        // Deeper than a path can name.
        let mut directory = File::open(place.root.join("src")).unwrap();
        for _ in 0..3_000 {
            rustix::fs::mkdirat(&directory, "b", rustix::fs::Mode::RWXU).unwrap();
            let flags = rustix::fs::OFlags::DIRECTORY;
            directory = rustix::fs::openat(&directory, "b", flags, rustix::fs::Mode::empty()).unwrap().into();
        }
        assert!(!place.existing().is_complete);
    }

    #[test]
    fn a_bound_that_is_hit_is_reported_wherever() {
        let place = Aged::new(&[("x", "")]);
        for number in 0..6_000 {
            fs::create_dir_all(place.root.join(format!("node_modules/{number}"))).unwrap();
        }
        assert!(!place.existing().is_complete);
    }

    #[test]
    fn paths_that_the_configuration_of_git_names_are_protected() {
        let place = Aged::new(&[
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
        let expected = [".git/config", ".githooks", "common", "sub/.git/config", "tools/inc"];
        assert_eq!(place.existing().paths, expected.map(|path| place.root.join(path)));
        assert_eq!(place.changed(), [""; 0]);
        fs::write(place.root.join("new"), "").unwrap();
        fs::write(place.root.join(".githooks/pre-push"), "").unwrap();
        assert_eq!(place.changed(), ["new", ".githooks/pre-push"]);
    }

    #[test]
    fn targets_of_links_in_protected_directories_are_protected() {
        let place = Aged::new(&[("scripts/pre-commit", ""), (".git/hooks/x", "")]);
        symlink("../../scripts/pre-commit", place.root.join(".git/hooks/pre-commit")).unwrap();
        let expected = [".git/hooks", "scripts/pre-commit"];
        assert_eq!(place.existing().paths, expected.map(|path| place.root.join(path)));
    }

    #[test]
    fn a_submodule_may_be_called_as_data_of_git_is() {
        let place = Aged::new(&[
            (".git/modules/HEAD", ""),
            (".git/modules/refs/HEAD", ""),
            (".git/modules/refs/config", ""),
            (".git/modules/refs/hooks/pre-commit", ""),
        ]);
        let expected = [".git/modules/refs/config", ".git/modules/refs/hooks"];
        assert_eq!(place.existing().paths, expected.map(|path| place.root.join(path)));
    }
}
