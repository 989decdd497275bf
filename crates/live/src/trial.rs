//! What a scenario is given: a stage, an agent, and Switchboard.

use std::path::Path;

use anyhow::ensure;
use switchboard_testkit::{
    clis::Cli,
    stage::{Ended, Stage},
};

use crate::heard::Heard;

/// One scenario with one agent.
pub struct Trial<'a> {
    /// Where it plays; nobody else is there.
    pub stage: Stage,
    /// The agent.
    pub cli: &'static Cli,
    /// Switchboard's program.
    pub switchboard: &'a Path,
}

impl Trial<'_> {
    /// Runs Switchboard to its end.
    pub fn switchboard(&self, args: &[&str], stdin: &str) -> anyhow::Result<Ended> {
        self.stage.run(self.switchboard, args, stdin)
    }

    /// Runs the agent itself with one prompt, and has Switchboard translate what it printed.
    pub fn one_shot(&self, prompt: &str) -> anyhow::Result<Heard> {
        self.translated(self.stage.one_shot(self.cli, prompt)?.end()?)
    }

    /// What the agent itself printed, translated by Switchboard.
    pub fn translated(&self, ended: Ended) -> anyhow::Result<Heard> {
        let translated =
            self.switchboard(&["translate", "--from", self.cli.source, "--to", "events"], &ended.stdout)?;
        ensure!(translated.code == Some(0), "translate: {}", translated.shown());
        Heard::new(&translated.stdout, ended)
    }
}
