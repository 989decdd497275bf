//! Other processes: a test that needs one runs itself again, with a role to play.

use std::{
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// Who is told by this variable to play a role is such a process.
const ROLE: &str = "LOGS_TEST_ROLE";

/// The words behind this in the output are ours; the rest is the test runner's.
const MARK: &str = "child says ";

/// The number of a user who may do nothing.
const NOBODY: u32 = 65_534;

/// What this process is told to do, if it is a child: its task, in a folder.
#[expect(clippy::disallowed_methods, reason = "this is the one place of the tests that reads the environment")]
pub fn role() -> Option<(String, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    let (task, folder) = role.split_once(' ')?;
    Some((task.to_owned(), folder.into()))
}

/// Tells the parent something.
pub fn say(word: &str) {
    // In one piece, so that it is whole whenever the process is killed.
    std::io::stdout().lock().write_all(format!("{MARK}{word}\n").as_bytes()).unwrap();
}

/// A child that plays a role; it is killed when it is dropped.
pub struct Actor {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl Actor {
    /// Runs a test again, as a child.
    pub fn start(test: &str, task: &str, folder: &Path) -> Self {
        Self::of(Self::again(test, task, folder))
    }

    /// The same, as a user who may do nothing.
    pub fn start_as_nobody(test: &str, task: &str, folder: &Path) -> Self {
        use std::os::unix::process::CommandExt as _;
        let mut command = Self::again(test, task, folder);
        command.uid(NOBODY).gid(NOBODY);
        Self::of(command)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place of the tests that starts processes")]
    fn again(test: &str, task: &str, folder: &Path) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(ROLE, format!("{task} {}", folder.display()));
        command
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, output }
    }

    /// The next thing it says; nothing if it says no more.
    pub fn hear(&mut self) -> Option<String> {
        let words = |line: String| line.split_once(MARK).map(|(_, word)| word.to_owned());
        self.output.by_ref().map(Result::unwrap).find_map(words)
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.kill();
    }
}
