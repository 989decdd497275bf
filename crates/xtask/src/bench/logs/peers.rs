//! Other programs that read the same logs, from the registries. They run without network, with a home of their own that
//! has the files of the corpus, and with none of our environment.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{
    corpus::{Corpus, forget, new_folder},
    ours::Ours,
    timed::{Runs, in_turn, runs, timed},
};
use crate::{
    isolation::Isolation,
    process::{build_folder, cargo, is_there, program, run as run_program},
    say,
};

/// Counts tokens.
pub const COUNTER: &str = "ccusage";
const COUNTER_VERSION: &str = "20.0.24";

/// Indexes and searches.
pub const TRACER: &str = "agtrace";
const TRACER_VERSION: &str = "0.8.0";

/// What was measured.
#[derive(Default)]
pub struct Figures {
    /// `usage` for the first time: ours, and the other's.
    pub first_cold: Option<(Runs, Runs)>,
    pub first: Option<(Runs, Runs)>,
    pub usage_grown: Option<Runs>,
    pub tokens: Option<u64>,
    pub index: Option<Runs>,
    pub search: Option<Runs>,
    pub grep: Option<Runs>,
}

/// A place for them.
pub struct Peers<'a> {
    corpus: &'a Corpus,
    ours: &'a Ours<'a>,
    isolation: Isolation,
    home: PathBuf,
    times: u32,
}

impl<'a> Peers<'a> {
    /// A home that has what the corpus has: what they write beside it stays there.
    pub fn new(corpus: &'a Corpus, ours: &'a Ours<'a>, times: u32) -> Result<Self, String> {
        let isolation = Isolation::find()?;
        let home = new_folder("peers-home").and_then(|home| linked(&corpus.home, &home).map(|()| home));
        let home = home.map_err(|error| format!("{error:#}"))?;
        Ok(Self { corpus, ours, isolation, home, times })
    }

    /// What each takes. What cannot be had is said and left out.
    pub fn measure(&self) -> Figures {
        let mut figures = Figures::default();
        for (name, part) in [
            (COUNTER, Self::counter as fn(&Self, &mut Figures) -> anyhow::Result<()>),
            (TRACER, Self::tracer),
            ("grep", Self::grep),
        ] {
            if let Err(error) = part(self, &mut figures) {
                say(&format!("NOT MEASURED  {name}: {error:#}"));
            }
        }
        figures
    }

    fn program(&self, path: &Path, args: &[&str]) -> Command {
        let mut command = self.isolation.program(path, args);
        command.env("HOME", &self.home).current_dir(&self.home);
        command
    }

    /// Counts what was used once, and in turn with us: the two are compared.
    fn counter(&self, figures: &mut Figures) -> anyhow::Result<()> {
        let path = counter()?;
        let daily = || timed(&mut self.program(&path, &["daily", "--json", "--offline", "--timezone", "UTC"]));
        let said: Value = serde_json::from_str(&daily()?.said).context("no JSON")?;
        figures.tokens = said["totals"]["totalTokens"].as_u64();
        if forget() {
            let cold = || {
                forget();
                Ok(daily()?.ms)
            };
            figures.first_cold = Some(in_turn(2, || self.ours.first_cold(), cold)?);
            daily()?;
        }
        figures.first = Some(in_turn(self.times, || self.ours.first(), || Ok(daily()?.ms))?);
        figures.usage_grown = Some(runs(2, || {
            let grown = self.corpus.grow()?;
            let ms = daily()?.ms;
            drop(grown);
            Ok(ms)
        })?);
        Ok(())
    }

    fn tracer(&self, figures: &mut Figures) -> anyhow::Result<()> {
        let path = tracer()?;
        let needle = self.corpus.truth.rare.first().context("no rare word")?;
        figures.index = Some(runs(1, || {
            let data = new_folder("tracer")?.display().to_string();
            Ok(timed(&mut self.program(&path, &["--data-dir", &data, "--all-projects", "init"]))?.ms)
        })?);
        let data = build_folder().join("bench-logs/tracer").display().to_string();
        let search =
            || timed(&mut self.program(&path, &["--data-dir", &data, "--all-projects", "lab", "grep", &needle.word]));
        if !search()?.said.contains(&needle.word) {
            say(&format!("{TRACER} does not find {}", needle.word));
        }
        figures.search = Some(runs(2, || Ok(search()?.ms))?);
        Ok(())
    }

    /// Every byte, each time, by the fastest program that everybody has.
    fn grep(&self, figures: &mut Figures) -> anyhow::Result<()> {
        let needle = self.corpus.truth.rare.first().context("no rare word")?;
        let home = self.corpus.home.display().to_string();
        let search = || Ok(timed(&mut program("grep", &["-rlF", &needle.word, &home]))?.ms);
        figures.grep = Some(runs(self.times, search)?);
        Ok(())
    }
}

/// Folders of their own with the same files in them.
fn linked(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)?.flatten() {
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&copy)?;
            linked(&entry.path(), &copy)?;
        } else {
            fs::hard_link(entry.path(), copy)?;
        }
    }
    Ok(())
}

fn counter() -> anyhow::Result<PathBuf> {
    let folder = build_folder().join("peers").join(format!("{COUNTER}-{COUNTER_VERSION}"));
    if let Ok(program) = native(&folder) {
        return Ok(program);
    }
    ensure!(is_there(&mut program("npm", &["--version"])), "npm is not installed");
    say(&format!("installing {COUNTER} {COUNTER_VERSION} into {}", folder.display()));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), "{\"private\":true}\n")?;
    let package = format!("{COUNTER}@{COUNTER_VERSION}");
    let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", &package];
    run_program(program("npm", &install).current_dir(&folder))?;
    native(&folder)
}

/// The program itself, not the script that starts it: starting node is not what is measured.
fn native(folder: &Path) -> anyhow::Result<PathBuf> {
    let packages = fs::read_dir(folder.join("node_modules/@ccusage"))?.flatten();
    let found = packages.map(|package| package.path().join("bin").join(COUNTER)).find(|program| {
        let is_native = |bytes: Vec<u8>| bytes.starts_with(b"\x7fELF");
        fs::read(program).is_ok_and(is_native)
    });
    let program = found.with_context(|| format!("no program for this machine in {}", folder.display()))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

fn tracer() -> anyhow::Result<PathBuf> {
    let root = build_folder().join("peers").join(format!("{TRACER}-{TRACER_VERSION}"));
    let path = root.join("bin").join(TRACER);
    if !path.exists() {
        say(&format!("installing {TRACER} {TRACER_VERSION} into {}", root.display()));
        let mut install = cargo(&["install", TRACER, "--version", TRACER_VERSION, "--locked", "--quiet"]);
        run_program(install.arg("--root").arg(&root).arg("--target-dir").arg(root.join("build")))?;
        fs::remove_dir_all(root.join("build"))?;
    }
    Ok(path)
}
