//! Other programs that read the same logs, from public registries. They run without network and without our
//! environment, in a home directory with hard links to the corpus.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{
    corpus::{BenchCorpus, create_empty_directory, drop_page_cache},
    own_index::OwnLogBench,
    timed::{RunStatistics, alternate_runs, repeat_runs, run_timed},
};
use crate::print_line;
use crate::process::{build_directory, cargo_command, is_available, new_command, run_program};
use crate::tools::NetworkIsolation;

/// The peer that counts tokens.
pub const CCUSAGE: &str = "ccusage";
const CCUSAGE_VERSION: &str = "20.0.24";

/// The peer that indexes and searches.
pub const AGTRACE: &str = "agtrace";
const AGTRACE_VERSION: &str = "0.8.0";

#[derive(Default)]
pub struct PeerLogFigures {
    /// First `usage`: Switchboard's and the peer's.
    pub first_cold: Option<(RunStatistics, RunStatistics)>,
    pub first: Option<(RunStatistics, RunStatistics)>,
    pub usage_grown: Option<RunStatistics>,
    pub tokens: Option<u64>,
    pub index: Option<RunStatistics>,
    pub search: Option<RunStatistics>,
    pub grep: Option<RunStatistics>,
}

pub struct PeerLogBench<'a> {
    corpus: &'a BenchCorpus,
    ours: &'a OwnLogBench<'a>,
    isolation: NetworkIsolation,
    home: PathBuf,
    times: u32,
}

impl<'a> PeerLogBench<'a> {
    /// Creates a home directory with hard links to the corpus, so that files written by peers stay out of it.
    pub fn new(corpus: &'a BenchCorpus, ours: &'a OwnLogBench<'a>, times: u32) -> Result<Self, String> {
        let isolation = NetworkIsolation::find()?;
        let home =
            create_empty_directory("peers-home").and_then(|home| hard_link_tree(&corpus.home, &home).map(|()| home));
        let home = home.map_err(|error| format!("{error:#}"))?;
        Ok(Self { corpus, ours, isolation, home, times })
    }

    /// Measures each peer. Failures are reported and left out.
    pub fn measure_all(&self) -> PeerLogFigures {
        let mut figures = PeerLogFigures::default();
        for (name, part) in [
            (CCUSAGE, Self::measure_ccusage as fn(&Self, &mut PeerLogFigures) -> anyhow::Result<()>),
            (AGTRACE, Self::measure_agtrace),
            ("grep", Self::measure_grep),
        ] {
            if let Err(error) = part(self, &mut figures) {
                print_line(&format!("NOT MEASURED  {name}: {error:#}"));
            }
        }
        figures
    }

    fn isolated_command(&self, path: &Path, args: &[&str]) -> Command {
        let mut command = self.isolation.isolated_command(path, args);
        command.env("HOME", &self.home).current_dir(&self.home);
        command
    }

    /// Checks the count once, then alternates with Switchboard, so that both can be compared.
    fn measure_ccusage(&self, figures: &mut PeerLogFigures) -> anyhow::Result<()> {
        let path = install_ccusage()?;
        let daily =
            || run_timed(&mut self.isolated_command(&path, &["daily", "--json", "--offline", "--timezone", "UTC"]));
        let said: Value = serde_json::from_str(&daily()?.said).context("no JSON")?;
        figures.tokens = said["totals"]["totalTokens"].as_u64();
        if drop_page_cache() {
            let cold = || {
                drop_page_cache();
                Ok(daily()?.ms)
            };
            figures.first_cold = Some(alternate_runs(2, || self.ours.time_first_usage_cold(), cold)?);
            daily()?;
        }
        figures.first = Some(alternate_runs(self.times, || self.ours.time_first_usage(), || Ok(daily()?.ms))?);
        figures.usage_grown = Some(repeat_runs(2, || {
            let grown = self.corpus.append_line()?;
            let ms = daily()?.ms;
            drop(grown);
            Ok(ms)
        })?);
        Ok(())
    }

    fn measure_agtrace(&self, figures: &mut PeerLogFigures) -> anyhow::Result<()> {
        let path = install_agtrace()?;
        let needle = self.corpus.truth.rare.first().context("no rare word")?;
        figures.index = Some(repeat_runs(1, || {
            let data = create_empty_directory("tracer")?.display().to_string();
            Ok(run_timed(&mut self.isolated_command(&path, &["--data-dir", &data, "--all-projects", "init"]))?.ms)
        })?);
        let data = build_directory().join("bench-logs/tracer").display().to_string();
        let search = || {
            run_timed(
                &mut self
                    .isolated_command(&path, &["--data-dir", &data, "--all-projects", "lab", "grep", &needle.word]),
            )
        };
        if !search()?.said.contains(&needle.word) {
            print_line(&format!("{AGTRACE} does not find {}", needle.word));
        }
        figures.search = Some(repeat_runs(2, || Ok(search()?.ms))?);
        Ok(())
    }

    /// Reads every byte each time, with the fastest program that is installed everywhere.
    fn measure_grep(&self, figures: &mut PeerLogFigures) -> anyhow::Result<()> {
        let needle = self.corpus.truth.rare.first().context("no rare word")?;
        let home = self.corpus.home.display().to_string();
        let search = || Ok(run_timed(&mut new_command("grep", &["-rlF", &needle.word, &home]))?.ms);
        figures.grep = Some(repeat_runs(self.times, search)?);
        Ok(())
    }
}

/// Copies a directory tree with hard links to its files.
fn hard_link_tree(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)?.flatten() {
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&copy)?;
            hard_link_tree(&entry.path(), &copy)?;
        } else {
            fs::hard_link(entry.path(), copy)?;
        }
    }
    Ok(())
}

fn install_ccusage() -> anyhow::Result<PathBuf> {
    let folder = build_directory().join("peers").join(format!("{CCUSAGE}-{CCUSAGE_VERSION}"));
    if let Ok(program) = find_native_program(&folder) {
        return Ok(program);
    }
    ensure!(is_available(&mut new_command("npm", &["--version"])), "npm is not installed");
    print_line(&format!("installing {CCUSAGE} {CCUSAGE_VERSION} into {}", folder.display()));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), "{\"private\":true}\n")?;
    let package = format!("{CCUSAGE}@{CCUSAGE_VERSION}");
    let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", &package];
    run_program(new_command("npm", &install).current_dir(&folder))?;
    find_native_program(&folder)
}

/// Returns the native program instead of its Node.js wrapper, whose start must not be measured.
fn find_native_program(folder: &Path) -> anyhow::Result<PathBuf> {
    let packages = fs::read_dir(folder.join("node_modules/@ccusage"))?.flatten();
    let found = packages.map(|package| package.path().join("bin").join(CCUSAGE)).find(|program| {
        let is_native = |bytes: Vec<u8>| bytes.starts_with(b"\x7fELF");
        fs::read(program).is_ok_and(is_native)
    });
    let program = found.with_context(|| format!("no program for this machine in {}", folder.display()))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

fn install_agtrace() -> anyhow::Result<PathBuf> {
    let root = build_directory().join("peers").join(format!("{AGTRACE}-{AGTRACE_VERSION}"));
    let path = root.join("bin").join(AGTRACE);
    if !path.exists() {
        print_line(&format!("installing {AGTRACE} {AGTRACE_VERSION} into {}", root.display()));
        let mut install = cargo_command(&["install", AGTRACE, "--version", AGTRACE_VERSION, "--locked", "--quiet"]);
        run_program(install.arg("--root").arg(&root).arg("--target-dir").arg(root.join("build")))?;
        fs::remove_dir_all(root.join("build"))?;
    }
    Ok(path)
}
