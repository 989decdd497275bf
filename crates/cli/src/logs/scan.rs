//! `switchboard logs scan`: updates the index.

use std::{
    io::{self, Write as _},
    time::Instant,
};

use clap::Args;
use serde_json::json;
use switchboard_agents::ScanDepth;
use switchboard_logs::{LogLibrary, ScanReport};

use super::{LogLocationArgs, refresh_index};
use crate::{
    failure::Failure,
    terminal::print_note,
    view::{
        figures::{format_bytes, format_duration, pluralize},
        sanitize::sanitize_line,
    },
};

/// Update the index of logs
///
/// All other commands update it as needed; this one reports the result and can keep copies of records.
#[derive(Args)]
pub struct ScanArgs {
    /// Also keep copies of the raw records, for when the agent deletes its logs
    #[arg(long)]
    keep: bool,
    /// Read all logs again. What is known of deleted logs stays; a damaged index is set aside
    #[arg(long)]
    rebuild: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ScanArgs, location: &LogLocationArgs) -> Result<(), Failure> {
    let began = Instant::now();
    if args.rebuild
        && let Some(aside) = LogLibrary::set_aside_damaged(&location.data_directory()?)?
    {
        print_note(&format!("the index was damaged and has been moved to {}", sanitize_line(&aside.to_string_lossy())));
    }
    let mut library = location.open_library(args.keep)?;
    if args.rebuild {
        // Copies that were kept are created again with the rest.
        if !args.keep && !library.sessions_with_copies()?.is_empty() {
            library = location.open_library(true)?;
        }
        library.schedule_rebuild()?;
    }
    let report = refresh_index(&library, ScanDepth::All)?;
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    if report.files == 0 && !args.json {
        return location.report_no_logs();
    }
    let text = if args.json { summary_json(&report, millis) } else { summary_line(&report, millis) };
    writeln!(io::stdout(), "{text}").map_err(Failure::Output)?;
    if report.troubles > 0 && !args.json {
        print_note("hint: `switchboard logs doctor` lists what could not be read");
    }
    Ok(())
}

fn summary_line(report: &ScanReport, millis: u64) -> String {
    let number = |number: u64, of: &str| pluralize(usize::try_from(number).unwrap_or(usize::MAX), of);
    let mut words = vec![number(report.files, "log"), format!("{} read", report.read), format_bytes(report.bytes)];
    words.push(format_duration(millis));
    if report.gone > 0 {
        words.push(format!("{} gone since", report.gone));
    }
    if report.troubles > 0 {
        words.push(number(report.troubles, "trouble"));
    }
    words.join(" · ")
}

fn summary_json(report: &ScanReport, millis: u64) -> String {
    json!({
        "files": report.files,
        "read": report.read,
        "bytes": report.bytes,
        "gone": report.gone,
        "troubles": report.troubles,
        "durationMs": millis,
    })
    .to_string()
}
