//! The pinned agents: installed from the registry once, into the build folder, and used from there.
//! `SWITCHBOARD_CLIS` names another folder that has them in `node_modules/.bin`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::{
    process::{build_folder, is_there, other_clis, output, program, repository, run},
    say,
};

/// What pins them.
const FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// A file that says that everything went well.
const READY: &str = "ready";

/// The folder of their programs, installed first if they are not there yet.
pub fn folder() -> anyhow::Result<PathBuf> {
    if let Some(other) = other_clis() {
        let programs = other.join("node_modules/.bin");
        ensure!(programs.is_dir(), "SWITCHBOARD_CLIS: there is no {}", programs.display());
        return Ok(programs);
    }
    let folder = build_folder().join("clis");
    if !is_fresh(&folder) {
        install(&folder)?;
    }
    Ok(folder.join("node_modules/.bin"))
}

fn pinned(file: &str) -> PathBuf {
    repository().join("crates/testkit/clis").join(file)
}

/// What is there was made from what is pinned now.
fn is_fresh(folder: &Path) -> bool {
    let same = |file: &str| {
        fs::read(pinned(file)).is_ok_and(|want| fs::read(folder.join(file)).is_ok_and(|have| have == want))
    };
    folder.join(READY).exists() && FILES.iter().all(|file| same(file))
}

/// Install scripts are not run, whatever npm is set to: what these packages need of theirs is the script `ready`.
fn install(folder: &Path) -> anyhow::Result<()> {
    ensure!(is_there(&mut program("npm", &["--version"])), "npm is not installed");
    say(&format!("installing the agents (about 1 GB) into {}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for file in FILES {
        fs::copy(pinned(file), folder.join(file)).with_context(|| format!("cannot copy {file}"))?;
    }
    run(program("npm", &["install", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder))?;
    run(program("npm", &["run", "--silent", "ready"]).current_dir(folder))?;
    versions(folder)?;
    // npm may add to the lock file what the registry has for other platforms.
    fs::copy(pinned(FILES[1]), folder.join(FILES[1]))?;
    Ok(fs::write(folder.join(READY), "")?)
}

/// Every program answers with the version that is pinned.
fn versions(folder: &Path) -> anyhow::Result<()> {
    let manifest = read(&folder.join(FILES[0]))?;
    for (package, version) in manifest["dependencies"].as_object().context("no dependencies")? {
        let version = version.as_str().unwrap_or_default();
        let installed = read(&folder.join("node_modules").join(package).join("package.json"))?;
        for name in installed["bin"].as_object().with_context(|| format!("{package} has no programs"))?.keys() {
            let said = output(&mut program(folder.join("node_modules/.bin").join(name), &["--version"]))?;
            if !said.contains(version) {
                bail!("{name} says {}, {version} is pinned", said.trim());
            }
            say(&format!("{name} {version}"));
        }
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}
