//! Sessions of one data folder, looked at and steered by processes that do not run them.

mod control;
mod stored;

use std::path::Path;

use serde_json::Value;
use switchboard_testkit::stage::StageProcess;
use tempfile::TempDir;

use crate::binary::{self, ProgramOutput};

/// A data folder of its own.
struct TestDataDirectory(TempDir);

impl TestDataDirectory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        [args, &["--data", self.path().to_str().unwrap()]].concat()
    }

    /// Runs the program to its end.
    fn run(&self, args: &[&str]) -> ProgramOutput {
        binary::run(&self.args(args), b"")
    }

    /// Runs a script to its end, for a machine.
    fn play(&self, script: &str, args: &[&str]) -> ProgramOutput {
        self.run(&[&["run", "script", script, "--json"], args].concat())
    }

    /// A command on sessions.
    fn sessions(&self, args: &[&str]) -> ProgramOutput {
        self.run(&[&["sessions"], args].concat())
    }

    /// Starts a script that goes on, for a machine, and waits for its first words.
    fn start(&self, script: &str) -> StageProcess {
        let args = ["run", "script", &format!("text ready\n{script}"), "--json"];
        let running = StageProcess::start(binary::command(&self.args(&args))).unwrap();
        running.wait_for_output("that it is ready", |said| said.contains("ready")).unwrap();
        running
    }

    /// Starts the program on a terminal.
    fn on_terminal(&self, args: &[&str]) -> StageProcess {
        StageProcess::start_on_terminal(binary::command_on_terminal(&self.args(args))).unwrap()
    }

    /// Starts a script on a terminal, and waits until it asks.
    fn asking(&self, script: &str) -> StageProcess {
        let running = self.on_terminal(&["run", "script", script]);
        running.wait_for_output("a question", |said| said.contains("> ")).unwrap();
        running
    }

    /// The sessions, as machines see them.
    fn list(&self, args: &[&str]) -> Vec<Value> {
        let said = self.sessions(&[&["list", "--json"], args].concat()).ok();
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The newest session.
    fn last(&self) -> Value {
        self.list(&["--limit", "1"]).remove(0)
    }

    fn last_id(&self) -> String {
        self.last()["id"].as_str().unwrap().to_owned()
    }
}

impl ProgramOutput {
    /// Returns its standard error, if it succeeded and printed nothing.
    #[track_caller]
    fn told(self) -> String {
        self.fails(0)
    }
}
