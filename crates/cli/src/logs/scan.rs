//! `switchboard logs scan`: brings the index up to date.

use std::{
    io::{self, Write as _},
    time::Instant,
};

use clap::Args;
use serde_json::json;
use switchboard_agents::ScanDepth;
use switchboard_logs::{LogLibrary, ScanReport};

use super::place::{Place, refresh};
use crate::{
    failure::Failure,
    sessions::say,
    view::{
        clean,
        figures::{bytes, count, duration},
    },
};

/// Bring the index of logs up to date
///
/// Every other command does so by itself; this one says what it came to, and can keep more.
#[derive(Args)]
pub struct Scan {
    /// Keep copies of the raw records too, for when the agent deletes its logs
    #[arg(long)]
    keep: bool,
    /// Read all logs anew. What is left of logs that are gone stays; an index that is damaged is put aside
    #[arg(long)]
    rebuild: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Scan, place: &Place) -> Result<(), Failure> {
    let began = Instant::now();
    if args.rebuild
        && let Some(aside) = LogLibrary::set_aside_damaged(&place.data()?)?
    {
        say(&format!("the index was damaged; it now lies in {}", clean::line(&aside.to_string_lossy())));
    }
    let mut library = place.library(args.keep)?;
    if args.rebuild {
        // Copies that were kept are made anew with the rest.
        if !args.keep && !library.sessions_with_copies()?.is_empty() {
            library = place.library(true)?;
        }
        library.schedule_rebuild()?;
    }
    let report = refresh(&library, ScanDepth::All)?;
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    if report.files == 0 && !args.json {
        return place.say_nothing_found();
    }
    let text = if args.json { object(&report, millis) } else { line(&report, millis) };
    writeln!(io::stdout(), "{text}").map_err(Failure::Output)?;
    if report.troubles > 0 && !args.json {
        say("hint: `switchboard logs doctor` says what could not be read");
    }
    Ok(())
}

fn line(report: &ScanReport, millis: u64) -> String {
    let number = |number: u64, of: &str| count(usize::try_from(number).unwrap_or(usize::MAX), of);
    let mut words = vec![number(report.files, "log"), format!("{} read", report.read), bytes(report.bytes)];
    words.push(duration(millis));
    if report.gone > 0 {
        words.push(format!("{} gone since", report.gone));
    }
    if report.troubles > 0 {
        words.push(number(report.troubles, "trouble"));
    }
    words.join(" · ")
}

fn object(report: &ScanReport, millis: u64) -> String {
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
