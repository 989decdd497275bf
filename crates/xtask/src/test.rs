//! `test`: everything that must hold.

use std::thread;

use clap::Args;

use crate::{
    browser,
    clis::{self, CliVersions},
    live,
    load::{self, Build},
    place::built,
    process::{build, cargo, is_there, output, program, run as run_program, testkit},
    steps::{self, Outcome, Step},
    types,
};

/// Run every test, and say at the end what could not be run
#[derive(Args)]
pub struct Test {}

/// What testing means. A step that needs something which is not on this machine says so.
const STEPS: &[Step] = &[
    Step { name: "all programs and their tests, built", run: built_all },
    Step { name: "unit, conformance and program tests", run: tests },
    Step { name: "examples in the documentation", run: doc_tests },
    Step { name: "completions in a real shell", run: completions },
    Step { name: "typed clients: fresh types, recorded messages, examples", run: types::check },
    Step { name: "ten seconds of spoiled streams", run: fuzz },
    Step { name: "readers, crowds, crashes and threads of a server, in small", run: load },
    Step { name: "bad and slow clients of a server, in small", run: abuse },
    Step { name: "requests made from the server's own description", run: schema },
    Step { name: "the real agents against scripted models", run: live::all },
    Step { name: "earlier versions of the real agents", run: live::earlier },
    Step { name: "the page in a real browser", run: browser::all },
];

/// Runs the command.
pub fn run(_: &Test) -> anyhow::Result<()> {
    steps::run(STEPS)
}

/// The test kit among them: fake agents are started from it, and cargo builds it for its own tests only. Meanwhile the
/// real agents are downloaded; if that fails, the step that needs them tries again and says why.
fn built_all() -> anyhow::Result<Outcome> {
    thread::scope(|scope| {
        scope.spawn(|| [CliVersions::Newest, CliVersions::Earlier].map(clis::programs_directory));
        build().map(|()| Outcome::Passed)
    })
}

/// With nextest where it is installed: it runs slow tests side by side.
fn tests() -> anyhow::Result<Outcome> {
    let args: &[&str] = if is_there(&mut cargo(&["nextest", "--version"])) {
        &["nextest", "run", "--workspace", "--no-fail-fast"]
    } else {
        &["test", "--workspace", "--all-targets", "--no-fail-fast"]
    };
    run_program(&mut cargo(args)).map(|()| Outcome::Passed)
}

fn doc_tests() -> anyhow::Result<Outcome> {
    run_program(&mut cargo(&["test", "--workspace", "--doc", "--quiet"])).map(|()| Outcome::Passed)
}

fn completions() -> anyhow::Result<Outcome> {
    if !is_there(&mut program("bash", &["--version"])) {
        return Ok(Outcome::NotRun("bash is not installed".to_owned()));
    }
    build()?;
    let script = output(&mut program(built("switchboard"), &["completions", "bash"]))?;
    let check = format!("{script}\ncomplete -p switchboard >/dev/null");
    run_program(&mut program("bash", &["-c", &check])).map(|()| Outcome::Passed)
}

fn fuzz() -> anyhow::Result<Outcome> {
    run_program(&mut testkit(&["fuzz", "--seconds", "10"])?).map(|()| Outcome::Passed)
}

/// Chance is the same every time, so that what fails once fails again; the long runs are `soak` and `fuzz`.
fn load() -> anyhow::Result<Outcome> {
    let cases: &[&[&str]] = &[
        &["readers", "--deltas", "20000", "--readers", "5"],
        &["readers", "--deltas", "5000", "--wire", "sse", "--hop", "500"],
        &["crowd", "--sessions", "20", "--agents", "4", "--deltas", "10"],
        &["crash", "--kills", "5", "--sessions", "8", "--seed", "1"],
        &["threads", "--threads", "100", "--running", "20", "--deltas", "20", "--turns", "3"],
    ];
    load::cases(Build::Debug, cases).map(|()| Outcome::Passed)
}

fn abuse() -> anyhow::Result<Outcome> {
    let abuse = ["abuse", "--requests", "150", "--frames", "150", "--slow", "100", "--slow-for", "1", "--seed", "1"];
    load::cases(Build::Debug, &[&abuse]).map(|()| Outcome::Passed)
}

fn schema() -> anyhow::Result<Outcome> {
    load::schema(Build::Debug, &["--examples", "5"])
}
