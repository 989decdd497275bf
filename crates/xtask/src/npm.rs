//! Packages from npm: pinned in a folder of the repository, installed once into a folder of the build folder, and used
//! from there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};

use crate::{
    process::{is_there, program, repository, run},
    say,
};

/// What pins them.
const FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// A file that says that everything went well.
const READY: &str = "ready";

/// Some packages.
pub struct Packages {
    /// What they are, for people who wait.
    pub title: &'static str,
    /// The folder of the repository that pins them.
    pub pinned: &'static str,
    /// Where they are to be.
    pub folder: PathBuf,
    /// What is to be done once they are installed.
    pub finish: fn(&Path) -> anyhow::Result<()>,
}

impl Packages {
    /// Installs them, unless what is there was made from what is pinned now.
    pub fn install(&self) -> anyhow::Result<()> {
        if self.is_fresh() { Ok(()) } else { self.install_anew() }
    }

    fn pinned(&self, file: &str) -> PathBuf {
        repository().join(self.pinned).join(file)
    }

    fn is_fresh(&self) -> bool {
        let same = |file: &str| {
            fs::read(self.pinned(file))
                .is_ok_and(|want| fs::read(self.folder.join(file)).is_ok_and(|have| have == want))
        };
        self.folder.join(READY).exists() && FILES.iter().all(|file| same(file))
    }

    /// Install scripts are not run, whatever npm is set to.
    fn install_anew(&self) -> anyhow::Result<()> {
        let folder = &self.folder;
        ensure!(is_there(&mut program("npm", &["--version"])), "npm is not installed");
        say(&format!("installing {} into {}", self.title, folder.display()));
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        for file in FILES {
            fs::copy(self.pinned(file), folder.join(file)).with_context(|| format!("cannot copy {file}"))?;
        }
        run(program("npm", &["install", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder))?;
        (self.finish)(folder)?;
        // npm may add to the lock file what the registry has for other platforms.
        fs::copy(self.pinned(FILES[1]), folder.join(FILES[1]))?;
        Ok(fs::write(folder.join(READY), "")?)
    }
}
