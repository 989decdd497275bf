//! `bench translate`: megabytes a second for each source and dialect, beside two floors: reading the lines, and parsing
//! and printing each as a `serde_json::Value`.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use clap::Args;
use serde_json::{Value, json};

use super::{
    programs::{Names, build, built},
    table::table,
};
use crate::{
    process::{build_folder, program, run as run_program, testkit},
    say,
};

/// Measure how fast streams are translated, beside reading and parsing them
#[derive(Args)]
pub struct Translate {
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

/// Runs the command.
pub fn run(args: &Translate) -> anyhow::Result<()> {
    build()?;
    let names = Names::chosen(args.source.as_deref(), args.dialect.as_deref())?;
    let mut rows = Vec::new();
    for source in &names.sources {
        let stream = generate(source, &args.recording, args.size)?;
        rows.extend(measure(source, &names.dialects, &stream, args.runs)?);
        fs::remove_file(&stream)?;
    }
    say(&table(&["source", "dialect", "MB/s", "× lines", "× value"], &rows.iter().map(Row::cells).collect::<Vec<_>>()));
    if let Some(file) = &args.json {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        fs::write(file, format!("{:#}\n", json!({ "size_mb": args.size, "runs": args.runs, "results": rows })))?;
    }
    Ok(())
}

/// A stream of the source in a file.
fn generate(source: &str, recording: &str, size: u64) -> anyhow::Result<PathBuf> {
    let folder = build_folder().join("bench");
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{}.jsonl", source.replace(':', "-")));
    let args = ["stream", source, "--size", &size.to_string(), "--recording", recording];
    run_program(testkit(&args)?.stdout(File::create(&file)?))?;
    Ok(file)
}

/// What was measured for one source and one dialect, or floor.
struct Row {
    source: String,
    /// The floors have names in brackets.
    dialect: String,
    rate: f64,
    of_lines: f64,
    of_value: f64,
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let Self { source, dialect, rate, of_lines, of_value } = self;
        vec![source.clone(), dialect.clone(), format!("{rate:.0}"), format!("{of_lines:.2}"), format!("{of_value:.2}")]
    }

    fn json(&self) -> Value {
        let Self { source, dialect, rate, of_lines, of_value } = self;
        json!({ "source": source, "to": dialect, "mb_per_s": rate, "of_lines": of_lines, "of_value": of_value })
    }
}

/// The best of some runs for the floors and all dialects. They take turns, so that a busy moment of the machine hits
/// all of them.
fn measure(source: &str, dialects: &[String], stream: &Path, runs: u32) -> anyhow::Result<Vec<Row>> {
    let file = stream.to_string_lossy().into_owned();
    let floor = |kind: &str| program(built("switchboard-xtask"), &["__floor", kind, &file]);
    let translate = |to: &String| program(built("switchboard"), &["translate", "--from", source, "--to", to, &file]);
    let floors = ["lines", "value"].map(|kind| (format!("({kind})"), floor(kind)));
    let mut commands: Vec<(String, Command)> = floors.into_iter().collect();
    commands.extend(dialects.iter().map(|to| (to.clone(), translate(to))));
    let mut best = vec![Duration::MAX; commands.len()];
    for _ in 0..runs.max(1) {
        for ((_, command), best) in commands.iter_mut().zip(&mut best) {
            *best = time(command)?.min(*best);
        }
    }
    let megabytes = u32::try_from(fs::metadata(stream)?.len() / 1_000).map(|kilobytes| f64::from(kilobytes) / 1e3)?;
    let rates: Vec<f64> = best.iter().map(|time| megabytes / time.as_secs_f64()).collect();
    let (lines, value) = (rates.first().copied().unwrap_or(1.0), rates.get(1).copied().unwrap_or(1.0));
    let row = |((dialect, _), rate): ((String, Command), f64)| Row {
        source: source.to_owned(),
        dialect,
        rate,
        of_lines: rate / lines,
        of_value: rate / value,
    };
    Ok(commands.into_iter().zip(rates).map(row).collect())
}

/// How long a program takes from its start to its end, with nobody slow at its output.
fn time(command: &mut Command) -> anyhow::Result<Duration> {
    let start = Instant::now();
    run_program(command.stdout(Stdio::null()))?;
    Ok(start.elapsed())
}
