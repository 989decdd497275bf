//! `load starts`: time from the start of the server to its first response, and its memory while idle.

use std::{fs, thread, time::Duration};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use switchboard_testkit::load::free_port;

use super::house::ServerProgramArgs;
use crate::commands::print_line;

/// Measure how soon the server answers, and its memory while idle
#[derive(Args)]
pub struct LoadStartsArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    /// How often it is started
    #[arg(long, default_value_t = 20)]
    times: u32,
    /// How many seconds it does nothing before its memory is read
    #[arg(long, default_value_t = 3)]
    idle: u64,
}

/// Every start finds an empty data directory; the last server keeps running for a while.
pub fn run_starts(args: &LoadStartsArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let mut times = Vec::new();
    for _ in 0..args.times {
        fs::remove_dir_all(house.stage.data_dir())?;
        fs::create_dir(house.stage.data_dir())?;
        let served = house.start_server(free_port()?, &[])?;
        times.push(served.ready.as_secs_f64() * 1e3);
        served.stop()?;
    }
    times.sort_by(f64::total_cmp);
    let served = house.start_server(free_port()?, &[])?;
    let again = served.ready.as_secs_f64() * 1e3;
    thread::sleep(Duration::from_secs(args.idle));
    let memory = served.memory_usage()?;
    let (least, middle) = (times.first().context("never started")?, times.get(times.len() / 2).context("never")?);
    print_line(
        &json!({ "least_ms": least, "median_ms": middle, "most_ms": times.last(), "again_ms": again,
        "idle_kb": memory.now })
        .to_string(),
    );
    served.stop()?;
    Ok(())
}
