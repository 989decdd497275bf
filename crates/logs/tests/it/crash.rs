//! Concurrent and killed processes: the index stays intact, and the next scan continues.

use std::{
    fs,
    io::{BufRead as _, BufReader, Lines, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use switchboard_agents::ScanDepth;
use switchboard_logs::{LibraryConfig, LogLibrary};
use switchboard_testkit::corpus::CorpusOptions;
use switchboard_testkit::corpus::agents::claude;
use switchboard_testkit::random::SeededRng;

use super::fixture::{LibraryFixture, open_library, refresh_all, take_snapshot};

/// Runs SQLite's integrity check on the index.
pub fn check_integrity(data: &Path) {
    for entry in fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "db") {
            let index = rusqlite::Connection::open(&path).unwrap();
            let sound: String = index.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(sound, "ok", "{}", path.display());
        }
    }
}

/// Brings the index up to date, and reports every step.
fn scan_and_report(folder: &Path) {
    report_line("begins");
    let library = open_library(&folder.join("home"), &folder.join("data"));
    report_line("is open");
    library.refresh_index(ScanDepth::All, &|progress| report_line(&format!("{} files", progress.files))).unwrap();
    report_line("is done");
}

#[test]
fn a_killed_scan_harms_nothing_and_is_gone_on_with() {
    if let Some((_, folder)) = child_role() {
        return scan_and_report(&folder);
    }
    for seed in 10..12 {
        let (place, _) = LibraryFixture::with_corpus(&CorpusOptions::small(seed));
        let fresh = place.fresh_snapshot();
        let mut dice = SeededRng::new(seed);
        for round in 0..12 {
            let mut child =
                ChildTest::start("crash::a_killed_scan_harms_nothing_and_is_gone_on_with", "scan", place.root_dir());
            // First at the beginning, before anything exists; later at any step.
            let steps = if round < 3 { 1 + round } else { 1 + dice.next_below(14) };
            (0..steps).for_each(|_| drop(child.next_line()));
            // At varying points within a step.
            std::hint::black_box((0..dice.next_below(2_000_000)).map(std::hint::black_box).sum::<usize>());
            child.kill();
            drop(child);
            if round % 4 == 3 {
                check_integrity(&place.data_dir());
            }
        }
        let library = place.open_library();
        refresh_all(&library);
        assert_eq!(take_snapshot(&library), fresh);
        drop(library);
        check_integrity(&place.data_dir());
    }
}

#[test]
fn two_scans_at_once_are_as_good_as_one() {
    if let Some((_, folder)) = child_role() {
        return scan_and_report(&folder);
    }
    let (place, _) = LibraryFixture::with_corpus(&CorpusOptions::small(12));
    let start = || ChildTest::start("crash::two_scans_at_once_are_as_good_as_one", "scan", place.root_dir());
    for mut child in [start(), start(), start()] {
        let said: Vec<String> = std::iter::from_fn(|| child.next_line()).collect();
        assert_eq!(said.last().map(String::as_str), Some("is done"));
    }
    let library = place.open_library();
    let report = refresh_all(&library);
    assert_eq!(report.read, 0, "nothing is left to do: {report:?}");
    assert_eq!(take_snapshot(&library), place.fresh_snapshot());
    check_integrity(&place.data_dir());
}

/// A small tmpfs. `None` if mounting is not permitted.
struct TmpfsMount(tempfile::TempDir);

impl TmpfsMount {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), c"size=64m");
        mounted.is_ok().then_some(Self(folder))
    }

    /// Fills the disk except for `but` bytes.
    fn fill_except(&self, but: usize) -> PathBuf {
        let (ballast, spare) = (self.0.path().join("ballast"), self.0.path().join("spare"));
        fs::write(&spare, vec![0; but]).unwrap();
        let mut file = fs::File::create(&ballast).unwrap();
        for piece in (0..=20).rev().map(|power| 1_usize << power) {
            while file.write_all(&vec![0; piece]).is_ok() {}
        }
        fs::remove_file(spare).unwrap();
        ballast
    }
}

impl Drop for TmpfsMount {
    fn drop(&mut self) {
        unmount(self.0.path(), UnmountFlags::DETACH).ok();
    }
}

#[test]
fn a_full_disk_is_said_and_with_room_it_goes_on() {
    let Some(disk) = TmpfsMount::new() else {
        eprintln!("NOT TESTED: a full disk, since this user may not mount one");
        return;
    };
    let (place, _) = LibraryFixture::with_corpus(&CorpusOptions::small(13));
    let data = disk.0.path().join("data");
    let opened = open_library(&place.home_dir(), &data);
    for room in [8 << 10, 128 << 10, 512 << 10] {
        let ballast = disk.fill_except(room);
        let error = opened.refresh_index(ScanDepth::All, &|_| {}).unwrap_err().to_string();
        assert!(error.contains("full") && error.contains(&data.display().to_string()), "{error}");
        // Existing content can still be queried.
        take_snapshot(&opened);
        fs::remove_file(ballast).unwrap();
    }
    refresh_all(&opened);
    let now = take_snapshot(&opened);
    assert_eq!(now, place.fresh_snapshot());
    drop(opened);
    check_integrity(&data);
    assert_eq!(take_snapshot(&open_library(&place.home_dir(), &data)), now);
}

fn open_without_homes(place: &LibraryFixture) -> Result<LogLibrary, switchboard_logs::LogsError> {
    LogLibrary::open(LibraryConfig { data: place.data_dir(), homes: Vec::new(), alone: false, keep: false, own: None })
}

#[test]
fn a_damaged_index_is_named_put_aside_and_made_anew() {
    let (place, truth) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000));
    drop(place.refreshed_library());
    assert!(LogLibrary::set_aside_damaged(&place.data_dir()).unwrap().is_none(), "a whole one stays");
    let path = place.data_dir().join("logs.db");
    let whole = fs::read(&path).unwrap();
    let cut = whole.get(..whole.len() / 2).unwrap();
    for (number, damaged) in [b"no index at all".repeat(1000).as_slice(), cut].into_iter().enumerate() {
        fs::write(&path, damaged).unwrap();
        if number == 0 {
            let error = open_without_homes(&place).err().unwrap().to_string();
            assert!(error.contains("scan --rebuild"), "{error}");
        }
        let aside = LogLibrary::set_aside_damaged(&place.data_dir()).unwrap().unwrap();
        assert_eq!(fs::read(aside).unwrap(), damaged);
        assert_eq!(place.fresh_snapshot().all, truth.all);
    }
}

#[test]
fn text_that_is_damaged_is_told_of_and_read_anew() {
    let (place, _) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000));
    let (library, _) = place.refreshed_library();
    assert_eq!(library.check_health().unwrap().problem, None);
    let index = rusqlite::Connection::open(place.data_dir().join("logs.db")).unwrap();
    index.execute("UPDATE text SET passages = zeroblob(length(passages))", []).unwrap();
    let problem = library.check_health().unwrap().problem.unwrap();
    assert!(problem.contains("blocks of text"), "{problem}");
    library.schedule_rebuild().unwrap();
    refresh_all(&library);
    assert_eq!(library.check_health().unwrap().problem, None);
    assert_eq!(take_snapshot(&library), place.fresh_snapshot());
}

#[test]
fn what_was_said_is_for_this_user_alone() {
    let place = LibraryFixture::new();
    fs::create_dir_all(place.data_dir()).unwrap();
    fs::write(place.data_dir().join("logs.db"), "").unwrap();
    fs::set_permissions(place.data_dir().join("logs.db"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(open_without_homes(&place).unwrap());
    for entry in fs::read_dir(place.data_dir()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
}

/// Set in child processes.
const ROLE_ENV_VAR: &str = "LOGS_TEST_ROLE";

/// Marks lines of the child; all others are the test runner's.
const CHILD_OUTPUT_PREFIX: &str = "child says ";

/// The UID of an unprivileged user.
const NOBODY_UID: u32 = 65_534;

/// Returns the task and directory of a child process.
#[expect(clippy::disallowed_methods, reason = "this is the one place of the tests that reads the environment")]
pub fn child_role() -> Option<(String, PathBuf)> {
    let role = std::env::var(ROLE_ENV_VAR).ok()?;
    let (task, folder) = role.split_once(' ')?;
    Some((task.to_owned(), folder.into()))
}

/// Sends a line to the parent.
pub fn report_line(word: &str) {
    // In a single write, so that lines are complete even if the process is killed.
    std::io::stdout().lock().write_all(format!("{CHILD_OUTPUT_PREFIX}{word}\n").as_bytes()).unwrap();
}

/// A child process, which is killed on drop.
pub struct ChildTest {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl ChildTest {
    /// Runs a test again as a child process.
    pub fn start(test: &str, task: &str, folder: &Path) -> Self {
        Self::spawn(Self::test_command(test, task, folder))
    }

    /// Like `start`, as an unprivileged user.
    pub fn start_as_nobody(test: &str, task: &str, folder: &Path) -> Self {
        use std::os::unix::process::CommandExt as _;
        let mut command = Self::test_command(test, task, folder);
        command.uid(NOBODY_UID).gid(NOBODY_UID);
        Self::spawn(command)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place of the tests that starts processes")]
    fn test_command(test: &str, task: &str, folder: &Path) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(ROLE_ENV_VAR, format!("{task} {}", folder.display()));
        command
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, output }
    }

    /// Returns the next line, or `None` at the end.
    pub fn next_line(&mut self) -> Option<String> {
        let words = |line: String| line.split_once(CHILD_OUTPUT_PREFIX).map(|(_, word)| word.to_owned());
        self.output.by_ref().map(Result::unwrap).find_map(words)
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for ChildTest {
    fn drop(&mut self) {
        self.kill();
    }
}
