//! The pinned agents: installed from the registry once, into the build directory, and used from there.
//! `SWITCHBOARD_CLIS` names another directory that has them in `node_modules/.bin`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::{
    npm::NpmPackages,
    print_line,
    process::{build_directory, clis_override, new_command, read_output, run_program},
};

#[derive(Clone, Copy)]
pub enum CliVersions {
    /// The newest version of every agent.
    Newest,
    /// Earlier supported versions of some agents.
    Earlier,
}

/// Returns the directory of the agents' programs, and installs them if necessary.
pub fn programs_directory(versions: CliVersions) -> anyhow::Result<PathBuf> {
    let (title, pinned, name) = match versions {
        CliVersions::Newest => ("the agents (about 1 GB)", "crates/testkit/clis", "clis"),
        CliVersions::Earlier => {
            ("earlier versions of some agents (about 700 MB)", "crates/testkit/clis-earlier", "clis-earlier")
        }
    };
    if let (CliVersions::Newest, Some(other)) = (versions, clis_override()) {
        let programs = other.join("node_modules/.bin");
        ensure!(programs.is_dir(), "SWITCHBOARD_CLIS: there is no {}", programs.display());
        return Ok(programs);
    }
    let folder = build_directory().join(name);
    NpmPackages { title, pinned, folder: folder.clone(), finish }.install()?;
    Ok(folder.join("node_modules/.bin"))
}

/// The script `ready` does what the skipped install scripts would do.
fn finish(folder: &Path) -> anyhow::Result<()> {
    run_program(new_command("npm", &["run", "--silent", "ready"]).current_dir(folder))?;
    check_versions(folder)
}

/// Checks that every program reports its pinned version.
fn check_versions(folder: &Path) -> anyhow::Result<()> {
    let manifest = read_json(&folder.join("package.json"))?;
    for (package, version) in manifest["dependencies"].as_object().context("no dependencies")? {
        let version = version.as_str().unwrap_or_default();
        let installed = read_json(&folder.join("node_modules").join(package).join("package.json"))?;
        for name in installed["bin"].as_object().with_context(|| format!("{package} has no programs"))?.keys() {
            let said = read_output(&mut new_command(folder.join("node_modules/.bin").join(name), &["--version"]))?;
            if !said.contains(version) {
                bail!("{name} says {}, {version} is pinned", said.trim());
            }
            print_line(&format!("{name} {version}"));
        }
    }
    Ok(())
}

fn read_json(file: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}
