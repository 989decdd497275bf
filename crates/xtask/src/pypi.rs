//! Schemathesis, which generates requests from an API description: installed from PyPI once, into the build directory.

use std::{fs, path::PathBuf};

use crate::{
    print_line,
    process::{build_directory, is_available, new_command, run_program},
};

const SCHEMATHESIS_VERSION: &str = "4.32.5";

/// Returns the program, installed if necessary, or the reason why it is not available.
pub fn find_schemathesis() -> Result<PathBuf, String> {
    if !is_available(&mut new_command("python3", &["-c", "import venv, ensurepip"])) {
        return Err("python3 is not installed, or has no venv".to_owned());
    }
    let folder = build_directory().join("python").join(format!("schemathesis-{SCHEMATHESIS_VERSION}"));
    let st = folder.join("bin/st");
    if !is_available(&mut new_command(&st, &["--version"])) {
        install_schemathesis(&folder).map_err(|error| format!("schemathesis cannot be installed: {error:#}"))?;
    }
    Ok(st)
}

fn install_schemathesis(folder: &PathBuf) -> anyhow::Result<()> {
    print_line(&format!("installing schemathesis {SCHEMATHESIS_VERSION} into {}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    run_program(new_command("python3", &["-m", "venv"]).arg(folder))?;
    let package = format!("schemathesis=={SCHEMATHESIS_VERSION}");
    run_program(&mut new_command(
        folder.join("bin/pip"),
        &["install", "--quiet", "--disable-pip-version-check", &package],
    ))
}
