//! Schemathesis, which makes requests from a description of an API: installed from PyPI once, into the build folder, and
//! used from there.

use std::{fs, path::PathBuf};

use crate::{
    process::{build_folder, is_there, program, run},
    say,
};

/// The version that is used.
const VERSION: &str = "4.32.5";

/// The program, installed first if it is not there yet; or why it cannot be.
pub fn find() -> Result<PathBuf, String> {
    if !is_there(&mut program("python3", &["-c", "import venv, ensurepip"])) {
        return Err("python3 is not installed, or has no venv".to_owned());
    }
    let folder = build_folder().join("python").join(format!("schemathesis-{VERSION}"));
    let st = folder.join("bin/st");
    if !is_there(&mut program(&st, &["--version"])) {
        install(&folder).map_err(|error| format!("schemathesis cannot be installed: {error:#}"))?;
    }
    Ok(st)
}

fn install(folder: &PathBuf) -> anyhow::Result<()> {
    say(&format!("installing schemathesis {VERSION} into {}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    run(program("python3", &["-m", "venv"]).arg(folder))?;
    let package = format!("schemathesis=={VERSION}");
    run(&mut program(folder.join("bin/pip"), &["install", "--quiet", "--disable-pip-version-check", &package]))
}
