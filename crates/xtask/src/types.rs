//! `types`: the TypeScript types of the protocols, made from the schemas. As a step of testing: they are fresh, every
//! recorded message fits them, and the examples run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;

use crate::{
    npm::Packages,
    place::built,
    process::{build, build_folder, is_there, program, repository, run as run_program},
    say,
    steps::Outcome,
};

/// Write the TypeScript types of the protocols anew, from the schemas
#[derive(Args)]
pub struct Types {
    /// Write nothing; check that they are fresh, that every recorded message fits them, and that the examples run
    #[arg(long)]
    check: bool,
}

/// The package in the repository.
const PACKAGE: &str = "clients/typescript";

/// What of it is worked with. The types are made, not taken.
const PARTS: [&str; 4] = ["tools", "examples", "tests", "tsconfig.json"];

/// Runs the command.
pub fn run(args: &Types) -> anyhow::Result<()> {
    if args.check {
        return match check()? {
            Outcome::Passed => Ok(()),
            Outcome::NotRun(why) => bail!("NOT RUN: {why}"),
        };
    }
    let bench = Workbench::new()?;
    bench.generate()?;
    copy(&bench.0.join("types"), &committed())?;
    say("written; `git diff` shows what changed");
    Ok(())
}

/// All that must hold, as a step of testing.
pub fn check() -> anyhow::Result<Outcome> {
    for name in ["node", "npm"] {
        if !is_there(&mut program(name, &["--version"])) {
            return Ok(Outcome::NotRun(format!("{name} is not installed")));
        }
    }
    let bench = Workbench::new()?;
    bench.generate()?;
    bench.compare()?;
    bench.node("recorded", "switchboard-testkit")?;
    run_program(program(bench.0.join("node_modules/.bin/tsc"), &[]).current_dir(&bench.0))?;
    bench.node("examples", "switchboard")?;
    Ok(Outcome::Passed)
}

fn committed() -> PathBuf {
    repository().join(PACKAGE).join("types")
}

/// A copy of the package in the build folder, with the packages that it is made and checked with.
struct Workbench(PathBuf);

impl Workbench {
    fn new() -> anyhow::Result<Self> {
        let folder = build_folder().join("typescript");
        let title = "TypeScript";
        Packages { title, pinned: PACKAGE, folder: folder.clone(), finish: |_| Ok(()) }.install()?;
        for made in ["types", "recorded", "built"] {
            remove(&folder.join(made))?;
        }
        for part in PARTS {
            copy(&repository().join(PACKAGE).join(part), &folder.join(part))?;
        }
        build()?;
        Ok(Self(folder))
    }

    /// Runs one of its tools, which is told where a program of ours is.
    fn node(&self, tool: &str, ours: &str) -> anyhow::Result<()> {
        run_program(program("node", &[&format!("tools/{tool}.mjs")]).arg(built(ours)).current_dir(&self.0))
    }

    fn generate(&self) -> anyhow::Result<()> {
        self.node("generate", "switchboard")
    }

    /// The types in the repository are those that are made now.
    fn compare(&self) -> anyhow::Result<()> {
        let (made, kept) = (names(&self.0.join("types"))?, names(&committed())?);
        ensure!(made == kept, "{PACKAGE}/types has {kept:?}, and not {made:?}: run `cargo xtask types`");
        for name in made {
            let same = fs::read(self.0.join("types").join(&name))? == fs::read(committed().join(&name))?;
            ensure!(same, "{PACKAGE}/types/{name} is not what the schemas say: run `cargo xtask types`");
        }
        Ok(())
    }
}

/// Puts a file or a folder in the place of what is there.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if from.is_file() {
        fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        return Ok(());
    }
    remove(to)?;
    fs::create_dir_all(to)?;
    names(from)?.iter().try_for_each(|name| copy(&from.join(name), &to.join(name)))
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() { Ok(fs::remove_dir_all(folder)?) } else { Ok(()) }
}

/// What is in a folder, sorted.
fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let name = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let mut names = entries.map(name).collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}
