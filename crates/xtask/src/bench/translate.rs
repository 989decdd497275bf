//! `bench translate`: MB/s for each source and dialect, compared with two baselines: reading the lines, and parsing and
//! printing each as a `serde_json::Value`.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use clap::Args;
use serde_json::{Value, json};

use super::{
    programs::{TranslationNames, build_release, release_program},
    table::format_table,
};
use crate::{
    print_line,
    process::{build_directory, new_command, run_program, testkit_command},
};

/// Measure how fast streams are translated, beside reading and parsing them
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

pub fn run(args: &TranslateBench) -> anyhow::Result<()> {
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
