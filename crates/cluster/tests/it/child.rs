//! Child processes: a test that needs one runs itself again with a role.

use std::{
    io::{BufRead as _, BufReader, Lines, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

/// The variable that gives a child process its role.
const ROLE_VARIABLE: &str = "CLUSTER_TEST_ROLE";

/// The prefix of messages to the parent; other output comes from the test runner.
const OUTPUT_PREFIX: &str = "child says ";

/// Returns the role of a child process.
#[expect(clippy::disallowed_methods, reason = "this is the place of the tests that reads the role")]
pub fn child_role() -> Option<String> {
    std::env::var(ROLE_VARIABLE).ok()
}

/// Sends a message to the parent.
pub fn write_to_parent(word: &str) {
    // In one write, so that it is complete whenever the process is killed.
    std::io::stdout().lock().write_all(format!("{OUTPUT_PREFIX}{word}\n").as_bytes()).unwrap();
}

/// A child process with a role; killed on drop.
pub struct ChildProcess {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl ChildProcess {
    /// Runs a test again as a child process.
    #[expect(clippy::disallowed_methods, reason = "this is the place of the tests that starts processes")]
    pub fn start(test: &str, role: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(ROLE_VARIABLE, role);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, output }
    }

    /// Returns the next message of the child; `None` at the end of its output.
    pub fn next_message(&mut self) -> Option<String> {
        let words = |line: String| line.split_once(OUTPUT_PREFIX).map(|(_, word)| word.to_owned());
        self.output.by_ref().map(Result::unwrap).find_map(words)
    }

    /// Stops the child until it is continued.
    pub fn suspend(&self) {
        self.signal(Signal::STOP);
    }

    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills the child with SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
