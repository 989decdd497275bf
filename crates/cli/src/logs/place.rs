//! Which logs are meant: options that all commands have.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use switchboard_agents::ScanDepth;
use switchboard_logs::{AgentHome, LibraryConfig, LogLibrary, OwnLog, ScanReport, candidate_homes};
use switchboard_store::{SqliteStore, StoreOptions};

use super::progress::Bar;
use crate::{failure::Failure, host, sessions::say, view::clean};

/// Where to look.
#[derive(Args)]
pub struct Place {
    /// A home to look in, in place of this machine's; can be repeated. A user's home folder, or an agent's own
    #[arg(long, value_name = "DIR", global = true)]
    home: Vec<PathBuf>,
    /// The name of the machine that the homes come from
    // Its id is its own: options of a command hide those of the same id that all have.
    #[arg(id = "as", long = "as", value_name = "NAME", global = true, requires = "home")]
    machine: Option<String>,
    /// Where sessions and the index are kept [default: the platform's data folder]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
}

impl Place {
    /// The folder with sessions and the index.
    pub fn data(&self) -> Result<PathBuf, Failure> {
        Ok(host::absolute(&host::data_folder(self.data.clone())?))
    }

    /// The library, as it was left.
    pub fn library(&self, keep: bool) -> Result<LogLibrary, Failure> {
        // What was indexed of a home stays when it is gone; but more often its name was mistyped.
        for home in self.home.iter().filter(|home| !home.is_dir()) {
            say(&format!("--home {}: there is no such folder", clean::line(&home.to_string_lossy())));
        }
        self.opened(self.data()?, keep)
    }

    /// The same with its index in another folder.
    pub fn library_in(&self, folder: &Path) -> Result<LogLibrary, Failure> {
        self.opened(folder.to_owned(), false)
    }

    fn opened(&self, data: PathBuf, keep: bool) -> Result<LogLibrary, Failure> {
        let (sessions, homes) = (self.data()?, self.looked_in()?);
        let own = OwnLog::new(move || Ok(Arc::new(SqliteStore::open(&sessions, &StoreOptions::default())?)));
        Ok(LogLibrary::open(LibraryConfig { data, homes, alone: !self.home.is_empty(), keep, own: Some(own) })?)
    }

    /// The library, brought up to date.
    pub fn current(&self, depth: ScanDepth) -> Result<(LogLibrary, ScanReport), Failure> {
        let library = self.library(false)?;
        let report = refresh(&library, depth)?;
        Ok((library, report))
    }

    /// Asks the library as it is now.
    pub fn ask<T: Send>(
        &self,
        depth: ScanDepth,
        question: impl Fn(&LogLibrary) -> Result<T, Failure> + Sync,
    ) -> Result<(LogLibrary, ScanReport, T), Failure> {
        let (library, bar) = (self.library(false)?, Bar::new());
        let (report, answer) = library.refresh_and_query(depth, &|at| bar.show(at), question)?;
        Ok((library, report, answer))
    }

    /// All folders that are looked for, whether they are there or not.
    pub fn looked_in(&self) -> Result<Vec<AgentHome>, Failure> {
        Ok(candidate_homes(&host::machine()?, &self.home, self.machine.as_deref()))
    }

    /// The agents' folders, also those that may be made later. A named folder is an agent's own only if it looks so.
    pub fn watched(&self) -> Result<Vec<AgentHome>, Failure> {
        let may_be = |home: &AgentHome| {
            let is_below = || home.logs.below.iter().any(|below| home.folder.ends_with(below));
            self.home.is_empty() || home.has_logs() || is_below()
        };
        Ok(self.looked_in()?.into_iter().filter(may_be).collect())
    }

    /// Says that there is nothing, and where it was looked.
    pub fn say_nothing_found(&self) -> Result<(), Failure> {
        let looked_in = self.looked_in()?;
        let mut folders: Vec<String> =
            looked_in.iter().map(|home| format!("  {}", clean::line(&home.folder.to_string_lossy()))).collect();
        folders.sort();
        folders.dedup();
        say(&format!("no logs found; looked in\n{}\nhint: --home DIR looks elsewhere", folders.join("\n")));
        Ok(())
    }
}

/// Brings the index up to date, with a bar where that takes long.
pub fn refresh(library: &LogLibrary, depth: ScanDepth) -> Result<ScanReport, Failure> {
    let bar = Bar::new();
    Ok(library.refresh_index(depth, &|at| bar.show(at))?)
}
