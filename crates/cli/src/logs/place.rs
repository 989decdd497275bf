//! Which logs are meant: options that all commands have.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use switchboard_agents::Depth;
use switchboard_logs::{Home, Library, Report, Setup, homes};
use switchboard_store::{Options, Store};

use crate::{failure::Failure, host};

/// Where to look.
#[derive(Args)]
pub struct Place {
    /// A home to look in, in place of this machine's; can be repeated. A user's home folder, or an agent's own
    #[arg(long, value_name = "DIR", global = true)]
    home: Vec<PathBuf>,
    /// The name of the machine that the homes come from
    #[arg(long = "as", value_name = "NAME", global = true, requires = "home")]
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

    /// The agents' folders.
    pub fn homes(&self) -> Result<Vec<Home>, Failure> {
        Ok(homes(&host::machine()?, &self.home, self.machine.as_deref()))
    }

    /// The library, as it was left.
    pub fn library(&self, keep: bool) -> Result<Library, Failure> {
        let (data, homes) = (self.data()?, self.homes()?);
        let own = Store::open(&data, &Options::default())?;
        Ok(Library::open(Setup { data, homes, keep, own: Some(Arc::new(own)) })?)
    }

    /// The library, brought up to date.
    pub fn current(&self, depth: Depth) -> Result<(Library, Report), Failure> {
        let library = self.library(false)?;
        let report = library.refresh(depth, &|_| {})?;
        Ok((library, report))
    }
}
