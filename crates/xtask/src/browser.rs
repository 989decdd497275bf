//! `browser`: the page in a real browser, on a network that has only loopback. Chromium is Debian's; it is installed
//! where that is possible without asking anybody.

use std::{path::PathBuf, process::Command};

use anyhow::anyhow;
use clap::Args;

use crate::{
    isolation::Isolation,
    place::Place,
    process::{build, build_folder, cargo, is_root, is_there, output, program, run as run_program},
    say,
    scenarios::Scenarios,
    steps::Outcome,
};

/// What a browser is called, and what drives it.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const DRIVER: &str = "chromedriver";

/// Debian's packages of both.
const PACKAGES: &[&str] = &["chromium", "chromium-driver", "fonts-dejavu-core"];

/// Try the page in a real browser, with a server of its own for each scenario
///
/// Chromium is installed first, if it is not there and we may. What is left of a failure is in the folder `browser` of
/// the build folder: what was on the screen, the page, the console, and what the server said.
#[derive(Args)]
pub struct Browser {
    #[command(flatten)]
    scenarios: Scenarios,
}

/// Runs the command.
pub fn run(args: &Browser) -> anyhow::Result<()> {
    args.scenarios.command(scenarios)
}

/// All scenarios, as a step of testing.
pub fn all() -> anyhow::Result<Outcome> {
    scenarios(&Scenarios::all(2))
}

fn scenarios(which: &Scenarios) -> anyhow::Result<Outcome> {
    let found = Found::find().and_then(|found| Ok((found, Place::find()?)));
    let (found, place) = match found {
        Ok(found) => found,
        Err(why) => return Ok(Outcome::NotRun(why)),
    };
    let mut browser = place.program("switchboard-browser", &["scenarios"])?;
    found.tell(&mut browser, "debug");
    browser.args(which.words()).arg("--kept").arg(build_folder().join("browser"));
    run_program(&mut browser).map(|()| Outcome::Passed)
}

/// A browser, and what drives it.
pub struct Found {
    browser: PathBuf,
    driver: PathBuf,
}

impl Found {
    /// The one of this machine, installed first if it is not there and we may; or why there is none.
    pub fn find() -> Result<Self, String> {
        if let Some(found) = Self::installed() {
            return Ok(found);
        }
        install()?;
        Self::installed().ok_or_else(|| "chromium was installed, and is not there".to_owned())
    }

    fn installed() -> Option<Self> {
        Some(Self { browser: BROWSERS.iter().find_map(|name| path(name))?, driver: path(DRIVER)? })
    }

    /// Says where they are, and Switchboard's program of a build.
    fn tell(&self, command: &mut Command, build: &str) {
        command.arg("--chromium").arg(&self.browser).arg("--chromedriver").arg(&self.driver);
        command.arg("--switchboard").arg(build_folder().join(build).join("switchboard"));
    }
}

/// The program with the browser, without the agents, for a command of it; not started yet. Switchboard is the release.
pub fn released(words: &[&str]) -> anyhow::Result<Command> {
    let found = Found::find().map_err(|why| anyhow!("NOT RUN: {why}"))?;
    let isolation = Isolation::find().map_err(|why| anyhow!("NOT RUN: {why}"))?;
    run_program(&mut cargo(&["build", "--quiet", "--release", "--package", "switchboard-cli"]))?;
    build()?;
    let mut command = isolation.program(&build_folder().join("debug/switchboard-browser"), words);
    found.tell(&mut command, "release");
    Ok(command)
}

/// Where a program is.
fn path(name: &str) -> Option<PathBuf> {
    let which = || program("sh", &["-c", "command -v \"$1\"", "sh", name]);
    // One whose output is thrown away has none to give.
    let said = is_there(&mut which()).then(|| output(&mut which())).and_then(Result::ok)?;
    Some(PathBuf::from(said.trim())).filter(|path| path.is_absolute())
}

fn install() -> Result<(), String> {
    let by_hand = || format!("install {}", PACKAGES.join(" "));
    if !is_there(&mut program("apt-get", &["--version"])) || !is_root() {
        return Err(format!("there is no chromium with its driver, and it cannot be installed here: {}", by_hand()));
    }
    say(&format!("installing {}", PACKAGES.join(", ")));
    let apt = |words: &[&str]| {
        let mut apt = program("apt-get", &["--quiet", "--quiet", "-o", "DPkg::Lock::Timeout=300"]);
        run_program(apt.args(words).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let all = [&["install", "--yes", "--no-install-recommends"], PACKAGES].concat();
    apt(&["update"]).and_then(|()| apt(&all)).map_err(|error| format!("chromium is not there: {error:#}"))
}
