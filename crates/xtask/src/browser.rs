//! `browser`: the page in a real browser, on a network with loopback only. Chromium is Debian's package, installed
//! where that needs no confirmation.

use std::{path::PathBuf, process::Command};

use anyhow::anyhow;
use clap::Args;

use crate::print_line;
use crate::process::{
    ScenarioSelection, TestStepOutcome, build_directory, build_workspace, cargo_command, is_available, is_root,
    new_command, read_output, run_program,
};
use crate::tools::{AgentEnvironment, NetworkIsolation};

/// Program names of browsers and of the driver.
const BROWSER_NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const DRIVER_NAME: &str = "chromedriver";

const DEBIAN_PACKAGES: &[&str] = &["chromium", "chromium-driver", "fonts-dejavu-core"];

/// Test the page in a real browser, with a separate server for each scenario
///
/// Installs Chromium first if it is missing and this runs as root. If a scenario fails, the screenshot, the page, the
/// console output and the server log are kept in `browser` in the build directory.
#[derive(Args)]
pub struct BrowserTask {
    #[command(flatten)]
    scenarios: ScenarioSelection,
}

pub fn run(args: &BrowserTask) -> anyhow::Result<()> {
    args.scenarios.run_or_fail(run_scenarios)
}

/// Runs all scenarios, as a step of `test`.
pub fn run_all() -> anyhow::Result<TestStepOutcome> {
    run_scenarios(&ScenarioSelection::all_with_jobs(2))
}

fn run_scenarios(selection: &ScenarioSelection) -> anyhow::Result<TestStepOutcome> {
    let prerequisites = BrowserInstallation::find_or_install().and_then(|found| Ok((found, AgentEnvironment::find()?)));
    let (installation, environment) = match prerequisites {
        Ok(prerequisites) => prerequisites,
        Err(why) => return Ok(TestStepOutcome::NotRun(why)),
    };
    let mut browser = environment.command_for("switchboard-browser", &["scenarios"])?;
    installation.add_program_args(&mut browser, "debug");
    browser.args(selection.to_args()).arg("--kept").arg(build_directory().join("browser"));
    run_program(&mut browser).map(|()| TestStepOutcome::Passed)
}

struct BrowserInstallation {
    browser: PathBuf,
    driver: PathBuf,
}

impl BrowserInstallation {
    /// Returns the installed browser; installs it first if permitted. Otherwise returns the reason.
    fn find_or_install() -> Result<Self, String> {
        if let Some(found) = Self::find_installed() {
            return Ok(found);
        }
        install_packages()?;
        Self::find_installed().ok_or_else(|| "chromium was installed but cannot be found".to_owned())
    }

    fn find_installed() -> Option<Self> {
        Some(Self {
            browser: BROWSER_NAMES.iter().find_map(|name| find_on_path(name))?,
            driver: find_on_path(DRIVER_NAME)?,
        })
    }

    /// Adds the paths of these programs and of a Switchboard build.
    fn add_program_args(&self, command: &mut Command, build: &str) {
        command.arg("--chromium").arg(&self.browser).arg("--chromedriver").arg(&self.driver);
        command.arg("--switchboard").arg(build_directory().join(build).join("switchboard"));
    }
}

/// Returns a command that runs `switchboard-browser` without agents, with the release build of Switchboard.
pub fn release_command(args: &[&str]) -> anyhow::Result<Command> {
    let found = BrowserInstallation::find_or_install().map_err(|why| anyhow!("NOT RUN: {why}"))?;
    let isolation = NetworkIsolation::find().map_err(|why| anyhow!("NOT RUN: {why}"))?;
    run_program(&mut cargo_command(&["build", "--quiet", "--release", "--package", "switchboard-cli"]))?;
    build_workspace()?;
    let mut command = isolation.isolated_command(&build_directory().join("debug/switchboard-browser"), args);
    found.add_program_args(&mut command, "release");
    Ok(command)
}

fn find_on_path(name: &str) -> Option<PathBuf> {
    let output = read_output(&mut new_command("sh", &["-c", "command -v \"$1\"", "sh", name])).ok()?;
    Some(PathBuf::from(output.trim())).filter(|path| path.is_absolute())
}

fn install_packages() -> Result<(), String> {
    let instruction = || format!("run `apt-get install {}`", DEBIAN_PACKAGES.join(" "));
    if !is_available(&mut new_command("apt-get", &["--version"])) || !is_root() {
        return Err(format!(
            "chromium and chromedriver are not installed and cannot be installed here; {}",
            instruction()
        ));
    }
    print_line(&format!("installing {}", DEBIAN_PACKAGES.join(", ")));
    let apt = |words: &[&str]| {
        let mut apt = new_command("apt-get", &["--quiet", "--quiet", "-o", "DPkg::Lock::Timeout=300"]);
        run_program(apt.args(words).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let install_args = [&["install", "--yes", "--no-install-recommends"], DEBIAN_PACKAGES].concat();
    apt(&["update"]).and_then(|()| apt(&install_args)).map_err(|error| format!("cannot install chromium: {error:#}"))
}
