//! Child processes: a test that needs one runs itself again with a role.

use std::{
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

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
