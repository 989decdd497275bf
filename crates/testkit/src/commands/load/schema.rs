//! `load schema`: requests that schemathesis generates from the server's own description, most of them invalid. It
//! checks that none gets a 5xx and that every response matches the description.

use std::{
    path::{PathBuf, absolute},
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Args;
use serde_json::json;
use switchboard_testkit::load::free_port;

use super::ServerProgramArgs;
use crate::commands::print_line;

/// Send requests that schemathesis makes from the server's own description
#[derive(Args)]
pub struct LoadSchemaArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
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

/// The description does not state all our limits, so acceptance and rejection are not checked.
const SCHEMATHESIS_CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,unsupported_method,ignored_auth";

pub fn run(args: &LoadSchemaArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let ended = served.api.start_session("script", "text hello")?;
    served.api.wait_for_end(&ended, Duration::from_secs(20))?;
    let (before, began) = (served.memory_usage()?, Instant::now());
    let url = format!("http://127.0.0.1:{}/openapi.json", served.api.port);
    let header = format!("Authorization:Bearer {}", served.api.token);
    let (examples, seed) = (args.examples.to_string(), args.seed.to_string());
    let seconds = args.seconds.map(|seconds| seconds.to_string());
    let options =
        ["run", &url, "-H", &header, "--checks", SCHEMATHESIS_CHECKS, "--phases", &args.phases, "-n", &examples];
    let more = ["--seed", &seed, "--request-timeout", "20", "--suppress-health-check", "all", "--warnings", "off"];
    // Streams of a session do not end before the session does.
    let except = ["--exclude-path-regex", "/stream$|^/ws/", "--no-color", "--continue-on-failure"];
    let mut command = house.stage.new_command(&absolute(&args.schemathesis)?, &[&options[..], &more, &except].concat());
    command.args(seconds.iter().flat_map(|seconds| ["--max-time", seconds]));
    let status = command.env("PYTHONDONTWRITEBYTECODE", "1").status()?;
    let after = served.memory_usage()?;
    ensure!(served.api.get("/api/health")?["status"] == "ok", "the server is not well");
    print_line(
        &json!({ "passed": status.success(), "seconds": began.elapsed().as_secs_f64(), "seed": args.seed,
        "memory_before_kb": before.now, "memory_after_kb": after.now })
        .to_string(),
    );
    ensure!(status.success(), "schemathesis: {status}");
    served.stop()?;
    Ok(())
}
