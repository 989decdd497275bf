//! A fake as a program that can be started in an agent's place.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};

use super::script::parse;

/// Makes a program that performs a script, whatever its arguments are.
pub fn program(folder: &Path, name: &str, script: &str) -> anyhow::Result<PathBuf> {
    parse(script)?;
    let (program, text) = (folder.join(name), folder.join(format!("{name}.script")));
    fs::create_dir_all(folder)?;
    fs::write(&text, script)?;
    let start = format!("#!/bin/sh\nexec '{}' fake '{}' -- \"$@\"\n", testkit()?.display(), text.display());
    fs::write(&program, start)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

/// The test kit as a program. It is beside whatever runs now, or beside the folder of a test; a test that was built alone
/// builds it first. One that is there is taken as it is: `cargo xtask test` builds it anew.
fn testkit() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let folder = here.parent().context("no folder")?;
    let folder = if folder.ends_with("deps") { folder.parent().context("no folder")? } else { folder };
    let testkit = folder.join("switchboard-testkit");
    if !testkit.exists() {
        build(folder)?;
    }
    ensure!(testkit.exists(), "there is no {}; `cargo build -p switchboard-testkit` makes it", testkit.display());
    Ok(testkit)
}

#[expect(clippy::disallowed_methods, reason = "cargo is started and waited for")]
fn build(folder: &Path) -> anyhow::Result<()> {
    let profile = folder.file_name().and_then(|name| name.to_str()).filter(|name| *name != "debug").unwrap_or("dev");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "switchboard-testkit", "--profile", profile, "--target-dir"]);
    let status = cargo.arg(folder.parent().context("no folder")?).current_dir(crate::repository()).status()?;
    ensure!(status.success(), "cargo build: {status}");
    Ok(())
}
