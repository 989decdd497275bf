//! `load starts`: from the start of the server to its first answer, and what it uses when it does nothing.

use std::{fs, thread, time::Duration};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use switchboard_testkit::load::free_port;

use super::house::Program;
use crate::commands::say;

/// Measure how soon the server answers, and its memory while idle
#[derive(Args)]
pub struct Starts {
    #[command(flatten)]
    program: Program,
    /// How often it is started
    #[arg(long, default_value_t = 20)]
    times: u32,
    /// How many seconds it does nothing before its memory is read
    #[arg(long, default_value_t = 3)]
    idle: u64,
}

/// Runs the command. Every start finds an empty folder, and the last goes on for a while.
pub fn run(args: &Starts) -> anyhow::Result<()> {
    let house = args.program.house()?;
    let mut times = Vec::new();
    for _ in 0..args.times {
        fs::remove_dir_all(house.stage.data())?;
        fs::create_dir(house.stage.data())?;
        let served = house.serve(free_port()?, &[])?;
        times.push(served.ready.as_secs_f64() * 1e3);
        served.stop()?;
    }
    times.sort_by(f64::total_cmp);
    let served = house.serve(free_port()?, &[])?;
    let again = served.ready.as_secs_f64() * 1e3;
    thread::sleep(Duration::from_secs(args.idle));
    let memory = served.memory()?;
    let (least, middle) = (times.first().context("never started")?, times.get(times.len() / 2).context("never")?);
    say(&json!({ "least_ms": least, "median_ms": middle, "most_ms": times.last(), "again_ms": again,
        "idle_kb": memory.now })
    .to_string());
    served.stop()?;
    Ok(())
}
