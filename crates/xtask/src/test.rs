//! `test`: all checks.

use std::thread;

use clap::Args;

use crate::load::BuildProfile;
use crate::process::{
    TestStep, TestStepOutcome, build_workspace, cargo_command, is_available, nats_server_override, new_command,
    read_output, run_program, testkit_command,
};
use crate::tools::{CliVersions, NATS_SERVER, debug_program};
use crate::{browser, live, load, process, tools, types};

/// Run every test, and say at the end what could not be run
#[derive(Args)]
pub struct TestTask {}

/// A step that needs something missing on this machine reports it.
const TEST_STEPS: &[TestStep] = &[
    TestStep { name: "all programs and their tests, built", run: build_all },
    TestStep { name: "unit, conformance and program tests", run: run_tests },
    TestStep { name: "the durable log and several nodes on NATS JetStream", run: run_cluster_tests },
    TestStep { name: "examples in the documentation", run: run_doc_tests },
    TestStep { name: "completions in a real shell", run: check_completions },
    TestStep { name: "typed clients: fresh types, recorded messages, examples", run: types::check_types },
    TestStep { name: "ten seconds of spoiled streams", run: fuzz_briefly },
    TestStep { name: "readers, crowds, crashes and threads of a server, in small", run: load_server },
    TestStep { name: "bad and slow clients of a server, in small", run: abuse_server },
    TestStep { name: "requests made from the server's own description", run: check_api_schema },
    TestStep { name: "the real agents against scripted models", run: live::run_all },
    TestStep { name: "the real agents, confined", run: live::run_confined },
    TestStep { name: "earlier versions of the real agents", run: live::run_earlier_versions },
    TestStep { name: "the page in a real browser", run: browser::run_all },
];

pub fn run(_: &TestTask) -> anyhow::Result<()> {
    process::run_steps(TEST_STEPS)
}

/// Also builds the test kit: fake agents are started from it, and cargo builds it only for its own tests. Meanwhile the
/// real agents and the NATS server are downloaded; if that fails, the step that needs them retries and reports the reason.
fn build_all() -> anyhow::Result<TestStepOutcome> {
    thread::scope(|scope| {
        scope.spawn(|| [CliVersions::Newest, CliVersions::Earlier].map(tools::programs_directory));
        scope.spawn(|| NATS_SERVER.find());
        build_workspace().map(|()| TestStepOutcome::Passed)
    })
}

/// Uses nextest where it is installed: it runs slow tests in parallel.
fn run_tests() -> anyhow::Result<TestStepOutcome> {
    let args: &[&str] = if has_nextest() {
        &["nextest", "run", "--workspace", "--no-fail-fast"]
    } else {
        &["test", "--workspace", "--all-targets", "--no-fail-fast"]
    };
    run_program(&mut cargo_command(args)).map(|()| TestStepOutcome::Passed)
}

fn has_nextest() -> bool {
    is_available(&mut cargo_command(&["nextest", "--version"]))
}

/// The tests that need a NATS server.
const CLUSTER_TESTS: &str = "package(switchboard-cluster) or package(switchboard-cli) and test(cli::cluster::)";

/// Runs the tests that need a server, which are skipped without one.
fn run_cluster_tests() -> anyhow::Result<TestStepOutcome> {
    let server = match nats_server_override().map_or_else(|| NATS_SERVER.find(), Ok) {
        Ok(server) => server,
        Err(why) => return Ok(TestStepOutcome::NotRun(why)),
    };
    // The whole workspace, so that dependencies are not built again with other features.
    let with_nextest: &[&[&str]] = &[&["nextest", "run", "--workspace", "--no-fail-fast", "-E", CLUSTER_TESTS]];
    let without: &[&[&str]] = &[
        &["test", "--package", "switchboard-cluster", "--no-fail-fast"],
        &["test", "--package", "switchboard-cli", "--no-fail-fast", "cli::cluster::"],
    ];
    for args in if has_nextest() { with_nextest } else { without } {
        run_program(cargo_command(args).env("SWITCHBOARD_NATS_SERVER", &server))?;
    }
    Ok(TestStepOutcome::Passed)
}

fn run_doc_tests() -> anyhow::Result<TestStepOutcome> {
    run_program(&mut cargo_command(&["test", "--workspace", "--doc", "--quiet"])).map(|()| TestStepOutcome::Passed)
}

fn check_completions() -> anyhow::Result<TestStepOutcome> {
    if !is_available(&mut new_command("bash", &["--version"])) {
        return Ok(TestStepOutcome::NotRun("bash is not installed".to_owned()));
    }
    build_workspace()?;
    let script = read_output(&mut new_command(debug_program("switchboard"), &["completions", "bash"]))?;
    let check = format!("{script}\ncomplete -p switchboard >/dev/null");
    run_program(&mut new_command("bash", &["-c", &check])).map(|()| TestStepOutcome::Passed)
}

fn fuzz_briefly() -> anyhow::Result<TestStepOutcome> {
    run_program(&mut testkit_command(&["fuzz", "--seconds", "10"])?).map(|()| TestStepOutcome::Passed)
}

/// The seed is fixed, so that failures are reproducible; the long runs are `soak` and `fuzz`.
fn load_server() -> anyhow::Result<TestStepOutcome> {
    let cases: &[&[&str]] = &[
        &["readers", "--deltas", "20000", "--readers", "5"],
        &["readers", "--deltas", "5000", "--wire", "sse", "--hop", "500"],
        &["crowd", "--sessions", "20", "--agents", "4", "--deltas", "10"],
        &["crash", "--kills", "5", "--sessions", "8", "--seed", "1"],
        &["threads", "--threads", "100", "--running", "20", "--deltas", "20", "--turns", "3"],
    ];
    load::run_cases(BuildProfile::Debug, cases).map(|()| TestStepOutcome::Passed)
}

fn abuse_server() -> anyhow::Result<TestStepOutcome> {
    let abuse = ["abuse", "--requests", "150", "--frames", "150", "--slow", "100", "--slow-for", "1", "--seed", "1"];
    load::run_cases(BuildProfile::Debug, &[&abuse]).map(|()| TestStepOutcome::Passed)
}

fn check_api_schema() -> anyhow::Result<TestStepOutcome> {
    load::run_schema_checks(BuildProfile::Debug, &["--examples", "5"])
}
