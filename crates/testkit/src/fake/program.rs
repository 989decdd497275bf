//! A fake as a program that can replace an agent.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};

use super::script::parse_script;

/// Writes a program that performs a script, whatever its arguments are.
pub fn write_fake_program(folder: &Path, name: &str, script: &str) -> anyhow::Result<PathBuf> {
    parse_script(script)?;
    let (program, text) = (folder.join(name), folder.join(format!("{name}.script")));
    fs::create_dir_all(folder)?;
    fs::write(&text, script)?;
    let start = format!("#!/bin/sh\nexec '{}' fake '{}' -- \"$@\"\n", find_testkit()?.display(), text.display());
    fs::write(&program, start)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

/// Returns the test kit's program: in the directory of the running program, or in the one above for a test. A test that
/// was built alone builds it first. An existing one is used as it is; `cargo xtask test` rebuilds it.
fn find_testkit() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let folder = here.parent().context("no folder")?;
    let folder = if folder.ends_with("deps") { folder.parent().context("no folder")? } else { folder };
    let testkit = folder.join("switchboard-testkit");
    if !testkit.exists() {
        build_testkit(folder)?;
    }
    ensure!(testkit.exists(), "there is no {}; `cargo build -p switchboard-testkit` makes it", testkit.display());
    Ok(testkit)
}

#[expect(clippy::disallowed_methods, reason = "cargo is started and waited for")]
fn build_testkit(folder: &Path) -> anyhow::Result<()> {
    let profile = folder.file_name().and_then(|name| name.to_str()).filter(|name| *name != "debug").unwrap_or("dev");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "switchboard-testkit", "--profile", profile, "--target-dir"]);
    let status = cargo.arg(folder.parent().context("no folder")?).current_dir(crate::repository_root()).status()?;
    ensure!(status.success(), "cargo build: {status}");
    Ok(())
}
