//! What the real agents need to run: their programs, node, and no network.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    clis::{self, CliVersions},
    isolation::Isolation,
    process::{build, build_folder, is_there, output, program},
};

/// A place for the real agents.
pub struct Place {
    isolation: Isolation,
    clis: PathBuf,
    node: PathBuf,
}

impl Place {
    /// One with all agents; or what is missing.
    pub fn find() -> Result<Self, String> {
        Self::with_clis(CliVersions::Newest)
    }

    /// One with these versions of the agents; or what is missing.
    pub fn with_clis(versions: CliVersions) -> Result<Self, String> {
        let isolation = Isolation::find()?;
        if !is_there(&mut program("node", &["--version"])) {
            return Err("node is not installed".to_owned());
        }
        let node =
            output(&mut program("node", &["--print", "process.execPath"])).map_err(|error| format!("{error:#}"))?;
        let node = Path::new(node.trim()).parent().unwrap_or(Path::new("/usr/bin")).to_owned();
        let clis =
            clis::programs_directory(versions).map_err(|error| format!("the agents are not there: {error:#}"))?;
        Ok(Self { isolation, clis, node })
    }

    /// A program of ours in that place, built with Switchboard and not started yet. It is told where things are.
    pub fn program(&self, name: &str, args: &[&str]) -> anyhow::Result<Command> {
        build()?;
        let mut command = self.isolation.program(&built(name), args);
        command.arg("--clis").arg(&self.clis).arg("--node").arg(&self.node);
        Ok(command)
    }
}

/// Where a program of ours is, once it is built.
pub fn built(name: &str) -> PathBuf {
    build_folder().join("debug").join(name)
}
