//! `types`: TypeScript types of the protocols, generated from the schemas. As a step of `test`: they are up to date,
//! every recorded message matches them, and the examples run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;

use crate::print_line;
use crate::process::{
    TestStepOutcome, build_directory, build_workspace, is_available, new_command, repository_root, run_program,
};
use crate::tools::{NpmPackages, debug_program};

/// Write the TypeScript types of the protocols anew, from the schemas
#[derive(Args)]
pub struct TypesTask {
    /// Write nothing; check that they are fresh, that every recorded message fits them, and that the examples run
    #[arg(long)]
    check: bool,
}

const CLIENT_PACKAGE: &str = "clients/typescript";

/// The parts of the package that are copied. The types are generated.
const PACKAGE_PARTS: [&str; 4] = ["tools", "examples", "tests", "tsconfig.json"];

pub fn run(args: &TypesTask) -> anyhow::Result<()> {
    if args.check {
        return match check_types()? {
            TestStepOutcome::Passed => Ok(()),
            TestStepOutcome::NotRun(why) => bail!("NOT RUN: {why}"),
        };
    }
    let bench = TypeScriptWorkspace::new()?;
    bench.generate_types()?;
    replace_path(&bench.0.join("types"), &committed_types())?;
    print_line("written; `git diff` shows what changed");
    Ok(())
}

/// All checks, as a step of `test`.
pub fn check_types() -> anyhow::Result<TestStepOutcome> {
    for name in ["node", "npm"] {
        if !is_available(&mut new_command(name, &["--version"])) {
            return Ok(TestStepOutcome::NotRun(format!("{name} is not installed")));
        }
    }
    let bench = TypeScriptWorkspace::new()?;
    bench.generate_types()?;
    bench.check_fresh()?;
    bench.run_tool("recorded", "switchboard-testkit")?;
    run_program(new_command(bench.0.join("node_modules/.bin/tsc"), &[]).current_dir(&bench.0))?;
    bench.run_tool("examples", "switchboard")?;
    Ok(TestStepOutcome::Passed)
}

fn committed_types() -> PathBuf {
    repository_root().join(CLIENT_PACKAGE).join("types")
}

/// A copy of the package in the build directory, with its npm packages.
struct TypeScriptWorkspace(PathBuf);

impl TypeScriptWorkspace {
    fn new() -> anyhow::Result<Self> {
        let folder = build_directory().join("typescript");
        let title = "TypeScript";
        NpmPackages { title, pinned: CLIENT_PACKAGE, folder: folder.clone(), finish: |_| Ok(()) }.install()?;
        for made in ["types", "recorded", "built"] {
            remove_directory(&folder.join(made))?;
        }
        for part in PACKAGE_PARTS {
            replace_path(&repository_root().join(CLIENT_PACKAGE).join(part), &folder.join(part))?;
        }
        build_workspace()?;
        Ok(Self(folder))
    }

    /// Runs one of the package's tools with the path of one of our programs.
    fn run_tool(&self, tool: &str, ours: &str) -> anyhow::Result<()> {
        run_program(new_command("node", &[&format!("tools/{tool}.mjs")]).arg(debug_program(ours)).current_dir(&self.0))
    }

    fn generate_types(&self) -> anyhow::Result<()> {
        self.run_tool("generate", "switchboard")
    }

    /// Checks that the committed types equal the generated ones.
    fn check_fresh(&self) -> anyhow::Result<()> {
        let (made, kept) = (directory_names(&self.0.join("types"))?, directory_names(&committed_types())?);
        ensure!(made == kept, "{CLIENT_PACKAGE}/types has {kept:?}, and not {made:?}: run `cargo xtask types`");
        for name in made {
            let same = fs::read(self.0.join("types").join(&name))? == fs::read(committed_types().join(&name))?;
            ensure!(same, "{CLIENT_PACKAGE}/types/{name} is not what the schemas say: run `cargo xtask types`");
        }
        Ok(())
    }
}

/// Replaces a file or directory with a copy.
fn replace_path(from: &Path, to: &Path) -> anyhow::Result<()> {
    if from.is_file() {
        fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        return Ok(());
    }
    remove_directory(to)?;
    fs::create_dir_all(to)?;
    directory_names(from)?.iter().try_for_each(|name| replace_path(&from.join(name), &to.join(name)))
}

fn remove_directory(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() { Ok(fs::remove_dir_all(folder)?) } else { Ok(()) }
}

fn directory_names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let name = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let mut names = entries.map(name).collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}
