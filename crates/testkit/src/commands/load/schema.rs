//! `load schema`: requests that another program makes from the description that the server gives of itself, most of them
//! wrong. It checks that none is answered with a 5xx, and that every answer is one that was described.

use std::{
    path::{PathBuf, absolute},
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Args;
use serde_json::json;
use switchboard_testkit::load::free_port;

use super::house::Program;
use crate::commands::say;

/// Send requests that schemathesis makes from the server's own description
#[derive(Args)]
pub struct Schema {
    #[command(flatten)]
    program: Program,
    /// The program `st`
    #[arg(long)]
    schemathesis: PathBuf,
    /// How many requests it tries for each operation
    #[arg(long, default_value_t = 60)]
    examples: u32,
    /// Which parts of its work it does
    #[arg(long, default_value = "examples,coverage,fuzzing")]
    phases: String,
    /// For how many seconds at most
    #[arg(long)]
    seconds: Option<u64>,
    /// Chance; the same seed does the same
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What it checks. Which of our limits a request breaks is not always said in the description, so it does not check
/// that a request is refused or accepted.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,unsupported_method,ignored_auth";

/// Runs the command.
pub fn run(args: &Schema) -> anyhow::Result<()> {
    let house = args.program.house()?;
    let served = house.serve(free_port()?, &[])?;
    let ended = served.api.start("script", "text hello")?;
    served.api.ended(&ended, Duration::from_secs(20))?;
    let (before, began) = (served.memory()?, Instant::now());
    let url = format!("http://127.0.0.1:{}/openapi.json", served.api.port);
    let header = format!("Authorization:Bearer {}", served.api.token);
    let (examples, seed) = (args.examples.to_string(), args.seed.to_string());
    let seconds = args.seconds.map(|seconds| seconds.to_string());
    let options = ["run", &url, "-H", &header, "--checks", CHECKS, "--phases", &args.phases, "-n", &examples];
    let more = ["--seed", &seed, "--request-timeout", "20", "--suppress-health-check", "all", "--warnings", "off"];
    // What follows a session does not end while the session does not.
    let except = ["--exclude-path-regex", "/stream$|^/ws/", "--no-color", "--continue-on-failure"];
    let mut command = house.stage.command(&absolute(&args.schemathesis)?, &[&options[..], &more, &except].concat());
    command.args(seconds.iter().flat_map(|seconds| ["--max-time", seconds]));
    let status = command.env("PYTHONDONTWRITEBYTECODE", "1").status()?;
    let after = served.memory()?;
    ensure!(served.api.get("/api/health")?["status"] == "ok", "the server is not well");
    say(&json!({ "passed": status.success(), "seconds": began.elapsed().as_secs_f64(), "seed": args.seed,
        "memory_before_kb": before.now, "memory_after_kb": after.now })
    .to_string());
    ensure!(status.success(), "schemathesis: {status}");
    served.stop()?;
    Ok(())
}
