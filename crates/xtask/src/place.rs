//! The requirements of the real agents: their programs, node, and no network.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    clis::{self, CliVersions},
    isolation::NetworkIsolation,
    process::{build_directory, build_workspace, is_available, new_command, read_output},
};

pub struct AgentEnvironment {
    isolation: NetworkIsolation,
    clis: PathBuf,
    node: PathBuf,
}

impl AgentEnvironment {
    /// Finds all agents, or returns what is missing.
    pub fn find() -> Result<Self, String> {
        Self::with_clis(CliVersions::Newest)
    }

    /// Finds these versions of the agents, or returns what is missing.
    pub fn with_clis(versions: CliVersions) -> Result<Self, String> {
        let isolation = NetworkIsolation::find()?;
        if !is_available(&mut new_command("node", &["--version"])) {
            return Err("node is not installed".to_owned());
        }
        let node = read_output(&mut new_command("node", &["--print", "process.execPath"]))
            .map_err(|error| format!("{error:#}"))?;
        let node = Path::new(node.trim()).parent().unwrap_or(Path::new("/usr/bin")).to_owned();
        let clis =
            clis::programs_directory(versions).map_err(|error| format!("the agents are not there: {error:#}"))?;
        Ok(Self { isolation, clis, node })
    }

    /// Returns a command of our own program, built with Switchboard and given the paths of agents and node.
    pub fn command_for(&self, name: &str, args: &[&str]) -> anyhow::Result<Command> {
        build_workspace()?;
        let mut command = self.isolation.isolated_command(&debug_program(name), args);
        command.arg("--clis").arg(&self.clis).arg("--node").arg(&self.node);
        Ok(command)
    }
}

pub fn debug_program(name: &str) -> PathBuf {
    build_directory().join("debug").join(name)
}
