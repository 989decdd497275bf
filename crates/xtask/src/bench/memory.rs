//! `bench memory`: peak memory of `translate` on a large stream and on one huge line.

use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;

use super::{
    programs::{TranslationNames, build_release, release_program},
    table::format_table,
};
use crate::{
    print_line,
    process::{new_command, testkit_command},
};

/// The peak never falls, so a poll can only miss the last moment.
const MEMORY_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Measure how much memory a long stream and a long line need
#[derive(Args)]
pub struct MemoryBench {
    /// How many megabytes the stream has
    #[arg(long, default_value_t = 2000)]
    size: u64,
    /// How many megabytes the line has
    #[arg(long, default_value_t = 100)]
    line: u64,
    /// How many megabytes of memory a stream may need
    #[arg(long, default_value_t = 50)]
    limit: u64,
    /// Only this source
    #[arg(long)]
    source: Option<String>,
    /// The dialect; by default the first
    #[arg(long)]
    dialect: Option<String>,
}

pub fn run(args: &MemoryBench) -> anyhow::Result<()> {
    build_release()?;
    let names = TranslationNames::load_selected(args.source.as_deref(), args.dialect.as_deref())?;
    let dialect = names.dialects.first().context("no dialect")?;
    let (mut rows, mut over) = (Vec::new(), Vec::new());
    for source in &names.sources {
        let stream = peak_megabytes(source, dialect, &["--size", &args.size.to_string()])?;
        let line = peak_megabytes(source, dialect, &["--size", &args.line.to_string(), "--one-line"])?;
        rows.push(vec![source.clone(), dialect.clone(), stream.to_string(), line.to_string()]);
        if stream > args.limit {
            over.push(format!("{source} needs {stream} MB"));
        }
    }
    let heads = [format!("{} MB stream", args.size), format!("{} MB line", args.line)];
    print_line(&format_table(&["source", "dialect", &heads[0], &heads[1]], &rows));
    ensure!(over.is_empty(), "more than {} MB: {}", args.limit, over.join(", "));
    Ok(())
}

/// Returns the peak memory in megabytes while a generated stream is translated.
fn peak_megabytes(source: &str, dialect: &str, stream: &[&str]) -> anyhow::Result<u64> {
    let start = Instant::now();
    let mut stream = testkit_command(&[&["stream", source], stream].concat())?.stdout(Stdio::piped()).spawn()?;
    let input = stream.stdout.take().context("the stream has no output")?;
    let mut translate = new_command(release_program("switchboard"), &["translate", "--from", source, "--to", dialect]);
    let mut translate = translate.stdin(input).stdout(Stdio::null()).spawn()?;
    let peak = watch_peak_memory(&mut translate)?;
    ensure!(stream.wait()?.success(), "the stream of {source} broke off");
    print_line(&format!("{source} to {dialect}: {peak} MB after {:.1} s", start.elapsed().as_secs_f64()));
    Ok(peak)
}

fn watch_peak_memory(child: &mut Child) -> anyhow::Result<u64> {
    let file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let status = fs::read_to_string(&file).context("memory is read from /proc")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = kilobytes.unwrap_or(0).max(peak);
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(peak.div_ceil(1024)),
            Some(status) => bail!("translate ended with {status}"),
            None => thread::sleep(MEMORY_POLL_INTERVAL),
        }
    }
}
