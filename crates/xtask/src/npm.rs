//! Packages from npm: pinned in a directory of the repository and installed once into the build directory.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};

use crate::{
    print_line,
    process::{is_available, new_command, repository_root, run_program},
};

/// The files that pin the packages.
const PACKAGE_FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// Marks a complete installation.
const READY_FILE: &str = "ready";

pub struct NpmPackages {
    /// Description for the user.
    pub title: &'static str,
    /// The directory of the repository that pins them.
    pub pinned: &'static str,
    pub folder: PathBuf,
    /// Runs after the installation.
    pub finish: fn(&Path) -> anyhow::Result<()>,
}

impl NpmPackages {
    /// Installs the packages, unless the installed ones match the pinned files.
    pub fn install(&self) -> anyhow::Result<()> {
        if self.is_fresh() { Ok(()) } else { self.reinstall() }
    }

    fn pinned_file(&self, file: &str) -> PathBuf {
        repository_root().join(self.pinned).join(file)
    }

    fn is_fresh(&self) -> bool {
        let same = |file: &str| {
            fs::read(self.pinned_file(file))
                .is_ok_and(|want| fs::read(self.folder.join(file)).is_ok_and(|have| have == want))
        };
        self.folder.join(READY_FILE).exists() && PACKAGE_FILES.iter().all(|file| same(file))
    }

    /// Never runs install scripts.
    fn reinstall(&self) -> anyhow::Result<()> {
        let folder = &self.folder;
        ensure!(is_available(&mut new_command("npm", &["--version"])), "npm is not installed");
        print_line(&format!("installing {} into {}", self.title, folder.display()));
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        for file in PACKAGE_FILES {
            fs::copy(self.pinned_file(file), folder.join(file)).with_context(|| format!("cannot copy {file}"))?;
        }
        run_program(
            new_command("npm", &["install", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder),
        )?;
        (self.finish)(folder)?;
        // npm may add packages for other platforms to the lock file.
        fs::copy(self.pinned_file(PACKAGE_FILES[1]), folder.join(PACKAGE_FILES[1]))?;
        Ok(fs::write(folder.join(READY_FILE), "")?)
    }
}
