//! `bench translate`: MB/s for each source and dialect, compared with two baselines: reading the lines, and parsing and
//! printing each as a `serde_json::Value`. `bench memory`: the peak memory of `translate`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::{TranslationNames, build_release, format_table, release_program};
use crate::print_line;
use crate::process::{build_directory, new_command, run_program, testkit_command};

/// Measure how fast streams are translated, compared with reading and parsing them
#[derive(Args)]
pub struct TranslateBench {
    /// How many megabytes each stream has
    #[arg(long, default_value_t = 64)]
    size: u64,
    /// Only this source
    #[arg(long)]
    source: Option<String>,
    /// Only of recordings with this in their name
    #[arg(long, default_value = "")]
    recording: String,
    /// Only this dialect
    #[arg(long)]
    dialect: Option<String>,
    /// How often each is run; the best counts
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Where to write the figures as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

pub fn run_translate(args: &TranslateBench) -> anyhow::Result<()> {
    build_release()?;
    let names = TranslationNames::load_selected(args.source.as_deref(), args.dialect.as_deref())?;
    let mut rows = Vec::new();
    for source in &names.sources {
        let stream = write_stream(source, &args.recording, args.size)?;
        rows.extend(measure_source(source, &names.dialects, &stream, args.runs)?);
        fs::remove_file(&stream)?;
    }
    print_line(&format_table(
        &["source", "dialect", "MB/s", "× lines", "× value"],
        &rows.iter().map(TranslateFigures::to_cells).collect::<Vec<_>>(),
    ));
    if let Some(file) = &args.json {
        let rows: Vec<Value> = rows.iter().map(TranslateFigures::to_json).collect();
        fs::write(file, format!("{:#}\n", json!({ "size_mb": args.size, "runs": args.runs, "results": rows })))?;
    }
    Ok(())
}

/// Writes a stream of the source to a file.
fn write_stream(source: &str, recording: &str, size: u64) -> anyhow::Result<PathBuf> {
    let folder = build_directory().join("bench");
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{}.jsonl", source.replace(':', "-")));
    let args = ["stream", source, "--size", &size.to_string(), "--recording", recording];
    run_program(testkit_command(&args)?.stdout(File::create(&file)?))?;
    Ok(file)
}

/// Figures of a source with a dialect or a baseline.
struct TranslateFigures {
    source: String,
    /// Baselines have names in parentheses.
    dialect: String,
    rate: f64,
    of_lines: f64,
    of_value: f64,
}

impl TranslateFigures {
    fn to_cells(&self) -> Vec<String> {
        let Self { source, dialect, rate, of_lines, of_value } = self;
        vec![source.clone(), dialect.clone(), format!("{rate:.0}"), format!("{of_lines:.2}"), format!("{of_value:.2}")]
    }

    fn to_json(&self) -> Value {
        let Self { source, dialect, rate, of_lines, of_value } = self;
        json!({ "source": source, "to": dialect, "mb_per_s": rate, "of_lines": of_lines, "of_value": of_value })
    }
}

/// Returns the best of `runs` runs for the baselines and all dialects. They alternate, so that a busy moment of the
/// machine affects all of them.
fn measure_source(
    source: &str,
    dialects: &[String],
    stream: &Path,
    runs: u32,
) -> anyhow::Result<Vec<TranslateFigures>> {
    let file = stream.to_string_lossy().into_owned();
    let floor = |kind: &str| new_command(release_program("switchboard-xtask"), &["__floor", kind, &file]);
    let translate =
        |to: &String| new_command(release_program("switchboard"), &["translate", "--from", source, "--to", to, &file]);
    let floors = ["lines", "value"].map(|kind| (format!("({kind})"), floor(kind)));
    let mut commands: Vec<(String, Command)> = floors.into_iter().collect();
    commands.extend(dialects.iter().map(|to| (to.clone(), translate(to))));
    let mut best = vec![Duration::MAX; commands.len()];
    for _ in 0..runs.max(1) {
        for ((_, command), best) in commands.iter_mut().zip(&mut best) {
            *best = time_command(command)?.min(*best);
        }
    }
    let megabytes = u32::try_from(fs::metadata(stream)?.len() / 1_000).map(|kilobytes| f64::from(kilobytes) / 1e3)?;
    let rates: Vec<f64> = best.iter().map(|time| megabytes / time.as_secs_f64()).collect();
    let (lines, value) = (rates.first().copied().unwrap_or(1.0), rates.get(1).copied().unwrap_or(1.0));
    let row = |((dialect, _), rate): ((String, Command), f64)| TranslateFigures {
        source: source.to_owned(),
        dialect,
        rate,
        of_lines: rate / lines,
        of_value: rate / value,
    };
    Ok(commands.into_iter().zip(rates).map(row).collect())
}

/// Times a program with its output discarded.
fn time_command(command: &mut Command) -> anyhow::Result<Duration> {
    let start = Instant::now();
    run_program(command.stdout(Stdio::null()))?;
    Ok(start.elapsed())
}

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

pub fn run_memory(args: &MemoryBench) -> anyhow::Result<()> {
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
