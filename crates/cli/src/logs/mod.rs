//! `switchboard logs`: what agents did on this machine, read from what they left on disk, or on that of a server.

mod doctor;
mod export;
mod filter;
mod list;
mod on_server;
mod scan;
mod search;
mod show;
pub mod table_layout;
mod usage;
mod watch;

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use switchboard_agents::ScanDepth;
use switchboard_logs::{AgentHome, LibraryConfig, LogLibrary, OwnLog, ScanProgress, ScanReport, candidate_homes};
use switchboard_store::{SqliteStore, StoreOptions};

use crate::{
    failure::Failure,
    host,
    remote::{ServerArgs, ServerClient},
    terminal::print_note,
    view::sanitize::sanitize_line,
};

const SHOW_AFTER: Duration = Duration::from_millis(300);

const REDRAWS_PER_SECOND: u8 = 10;

/// Without colors: the bar disappears when the scan is done.
const BAR_TEMPLATE: &str = "indexing logs {wide_bar} {bytes} of {total_bytes} · {bytes_per_sec} · {eta} left";

/// Read, search, account for and watch what agents did on this machine
///
/// Reads the session logs that agents leave on disk, and those of Switchboard. The first command builds an index; later
/// ones read only what is new.
#[derive(Args)]
pub struct LogsArgs {
    #[command(subcommand)]
    command: LogsCommand,
    #[command(flatten)]
    location: LogLocationArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Subcommand)]
enum LogsCommand {
    Scan(scan::ScanArgs),
    List(Box<list::ListLogsArgs>),
    Show(show::ShowLogArgs),
    Search(Box<search::SearchLogsArgs>),
    Export(Box<export::ExportArgs>),
    Doctor(doctor::LogsDoctorArgs),
    Usage(Box<usage::UsageArgs>),
    Watch(watch::WatchLogsArgs),
}

pub fn run(args: &LogsArgs) -> Result<ExitCode, Failure> {
    let local = args.location.local_directory();
    if let Some(name) = args.command.local_name() {
        args.server.check_local(name, local)?;
    } else if let Some(server) = args.server.connect(local)? {
        return run_on_server(&args.command, &server).map(|()| ExitCode::SUCCESS);
    }
    match &args.command {
        LogsCommand::Scan(scan) => scan::run(scan, &args.location).map(|()| ExitCode::SUCCESS),
        LogsCommand::List(list) => list::run(list, &args.location).map(|()| ExitCode::SUCCESS),
        LogsCommand::Show(show) => show::run(show, &args.location).map(|()| ExitCode::SUCCESS),
        LogsCommand::Doctor(doctor) => doctor::run(doctor, &args.location),
        LogsCommand::Export(export) => export::run(export, &args.location).map(|()| ExitCode::SUCCESS),
        LogsCommand::Search(search) => search::run(search, &args.location).map(|()| ExitCode::SUCCESS),
        LogsCommand::Usage(usage) => usage::run(usage, &args.location).map(|()| ExitCode::SUCCESS),
        LogsCommand::Watch(watch) => watch::run(watch, &args.location),
    }
}

fn run_on_server(command: &LogsCommand, server: &ServerClient) -> Result<(), Failure> {
    match command {
        LogsCommand::List(list) => list::run_on_server(list, server),
        LogsCommand::Show(show) => show::run_on_server(show, server),
        LogsCommand::Search(search) => search::run_on_server(search, server),
        LogsCommand::Usage(usage) => usage::run_on_server(usage, server),
        // Refused before: they only work on this machine.
        LogsCommand::Scan(_) | LogsCommand::Export(_) | LogsCommand::Doctor(_) | LogsCommand::Watch(_) => Ok(()),
    }
}

impl LogsCommand {
    /// Returns the name of a command that only works on this machine.
    fn local_name(&self) -> Option<&'static str> {
        match self {
            Self::Scan(_) => Some("switchboard logs scan"),
            Self::Export(_) => Some("switchboard logs export"),
            Self::Doctor(_) => Some("switchboard logs doctor"),
            Self::Watch(_) => Some("switchboard logs watch"),
            Self::List(_) | Self::Show(_) | Self::Search(_) | Self::Usage(_) => None,
        }
    }
}

/// Which logs to read.
#[derive(Args)]
pub struct LogLocationArgs {
    /// Home directory to read instead of this machine's: a user's, or an agent's own; repeatable
    #[arg(long, value_name = "DIR", global = true)]
    home: Vec<PathBuf>,
    /// Name of the machine that the homes come from
    // The ID must be unique: options of a command hide global ones with the same ID.
    #[arg(id = "as", long = "as", value_name = "NAME", global = true, requires = "home")]
    machine: Option<String>,
    /// Directory of sessions and the index [default: the platform's data directory]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
}

impl LogLocationArgs {
    /// Returns a named directory of this machine.
    fn local_directory(&self) -> Option<&Path> {
        self.data.as_deref().or(self.home.first().map(PathBuf::as_path))
    }

    pub fn data_directory(&self) -> Result<PathBuf, Failure> {
        Ok(host::absolute_path(&host::data_directory(self.data.clone())?))
    }

    /// Opens the library without updating it.
    pub fn open_library(&self, keep: bool) -> Result<LogLibrary, Failure> {
        // The index keeps the logs of a home that is gone, but more often the name is mistyped.
        for home in self.home.iter().filter(|home| !home.is_dir()) {
            print_note(&format!("--home {}: no such directory", sanitize_line(&home.to_string_lossy())));
        }
        self.open(self.data_directory()?, keep)
    }

    /// Opens the library with its index in another directory.
    pub fn open_library_in(&self, folder: &Path) -> Result<LogLibrary, Failure> {
        self.open(folder.to_owned(), false)
    }

    fn open(&self, data: PathBuf, keep: bool) -> Result<LogLibrary, Failure> {
        let (sessions, homes) = (self.data_directory()?, self.searched_homes()?);
        let own = OwnLog::new(move || Ok(Arc::new(SqliteStore::open(&sessions, &StoreOptions::default())?)));
        Ok(LogLibrary::open(LibraryConfig { data, homes, alone: !self.home.is_empty(), keep, own: Some(own) })?)
    }

    /// Opens the library and updates its index.
    pub fn open_refreshed(&self, depth: ScanDepth) -> Result<(LogLibrary, ScanReport), Failure> {
        let library = self.open_library(false)?;
        let report = refresh_index(&library, depth)?;
        Ok((library, report))
    }

    /// Updates the index and queries it.
    pub fn query<T: Send>(
        &self,
        depth: ScanDepth,
        question: impl Fn(&LogLibrary) -> Result<T, Failure> + Sync,
    ) -> Result<(LogLibrary, ScanReport, T), Failure> {
        let (library, bar) = (self.open_library(false)?, ScanProgressBar::new());
        let (report, answer) = library.refresh_and_query(depth, &|at| bar.show(at), question)?;
        Ok((library, report, answer))
    }

    /// Returns all directories that are searched, whether they exist or not.
    pub fn searched_homes(&self) -> Result<Vec<AgentHome>, Failure> {
        Ok(candidate_homes(&host::host_environment()?, &self.home, self.machine.as_deref()))
    }

    /// Returns the agents' directories, including those that may be created later. A named directory counts as an
    /// agent's only if it looks like one.
    pub fn watched_homes(&self) -> Result<Vec<AgentHome>, Failure> {
        let may_be = |home: &AgentHome| {
            let is_below = || home.logs.below.iter().any(|below| home.folder.ends_with(below));
            self.home.is_empty() || home.has_logs() || is_below()
        };
        Ok(self.searched_homes()?.into_iter().filter(may_be).collect())
    }

    /// Reports that there are no logs, and where they were searched.
    pub fn report_no_logs(&self) -> Result<(), Failure> {
        let searched_homes = self.searched_homes()?;
        let mut folders: Vec<String> =
            searched_homes.iter().map(|home| format!("  {}", sanitize_line(&home.folder.to_string_lossy()))).collect();
        folders.sort();
        folders.dedup();
        print_note(&format!("no logs found in\n{}\nhint: use --home DIR to look elsewhere", folders.join("\n")));
        Ok(())
    }
}

/// Updates the index, with a progress bar if that takes long.
pub fn refresh_index(library: &LogLibrary, depth: ScanDepth) -> Result<ScanReport, Failure> {
    let bar = ScanProgressBar::new();
    Ok(library.refresh_index(depth, &|at| bar.show(at))?)
}

/// A progress bar on standard error that appears when a scan takes long.
struct ScanProgressBar {
    began: Instant,
    seen: bool,
    bar: OnceLock<ProgressBar>,
}

impl ScanProgressBar {
    pub fn new() -> Self {
        Self { began: Instant::now(), seen: io::stderr().is_terminal(), bar: OnceLock::new() }
    }

    /// May be called by several threads.
    pub fn show(&self, at: ScanProgress) {
        if !self.seen || self.began.elapsed() < SHOW_AFTER {
            return;
        }
        let bar = self.bar.get_or_init(|| new_bar(at.of_bytes, self.began));
        bar.set_length(at.of_bytes);
        bar.set_position(at.bytes);
    }
}

impl Drop for ScanProgressBar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(bytes: u64, began: Instant) -> ProgressBar {
    let look = ProgressStyle::with_template(BAR_TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND))
        .with_style(look.progress_chars("━╸─"))
        .with_elapsed(began.elapsed())
}
