//! The usage scan of a session log, compared with the full translation: both must count the same tokens.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_agents::{LogFormat, LogScanner, ReplyTokens, ScanDepth, ScanOutput};
use switchboard_event::{EventBody, Timestamp, Usage};

use crate::ledger::{InvariantViolation, must};
use crate::recording::{Recording, stream_events};

/// Uncached input, output, cache reads, cache writes for a short time and for an hour, reasoning.
type ScanTokenFigures = [u64; 6];

/// Tokens and tools, by key of the reply.
type RepliesByKey = BTreeMap<String, (ScanTokenFigures, BTreeSet<String>)>;

/// Checks a session log; other recordings always pass.
pub fn check_log_scan(recording: &Recording) -> Result<(), InvariantViolation> {
    if recording.log.is_none() {
        return Ok(());
    }
    let all = scan_recording(recording, ScanDepth::All, None);
    check_agreement(recording, &all)?;
    check_passages(&all)?;
    let quick = scan_recording(recording, ScanDepth::Tokens, None);
    let (found, whole) = (merge_replies(&quick), merge_replies(&all));
    must!(found == whole, "tokens are found whatever else is wanted", "{found:?} is not {whole:?}");
    let (found, whole) = (reply_times(&quick), reply_times(&all));
    must!(found == whole, "replies have their times whatever else is wanted", "{found:?} is not {whole:?}");
    check_resumed(recording, &all)
}

/// Checks that the events count the same replies. Replies copied from another log count all or not at all.
fn check_agreement(recording: &Recording, all: &ScanOutput) -> Result<(), InvariantViolation> {
    let used = stream_events(recording.source, &recording.bytes).into_iter().filter_map(|event| match event.body {
        EventBody::Usage(usage) if !usage.cumulative => Some(usage_figures(&usage)),
        _ => None,
    });
    let figures = |replies: RepliesByKey| sort_figures(replies.into_values().map(|(figures, _)| figures));
    // What is missing in a log is known only once all logs of the session are.
    let all = &filter_spent(all, |spent| !spent.is_total);
    let (used, skimmed) = (sort_figures(used), figures(merge_replies(all)));
    let agree = used == skimmed || used == figures(merge_replies(&filter_spent(all, |spent| !spent.copied)));
    must!(agree, "skimming and reading agree on tokens", "read {used:?}, skimmed {skimmed:?}");
    Ok(())
}

fn filter_spent(all: &ScanOutput, wanted: impl Fn(&ReplyTokens) -> bool) -> ScanOutput {
    ScanOutput { spent: all.spent.iter().filter(|spent| wanted(spent)).cloned().collect(), ..ScanOutput::default() }
}

/// Checks that passages are consecutive and end between two characters.
fn check_passages(all: &ScanOutput) -> Result<(), InvariantViolation> {
    let mut before = 0;
    for passage in &all.passages {
        let text = all.text.get(before..passage.end);
        must!(text.is_some_and(|text| !text.is_empty()), "passages lie one after the other", "{passage:?}");
        before = passage.end;
    }
    must!(before == all.text.len(), "all text is in passages", "{before} of {}", all.text.len());
    Ok(())
}

/// Checks that a file that grew can be read from its previous end.
fn check_resumed(recording: &Recording, all: &ScanOutput) -> Result<(), InvariantViolation> {
    let Some(LogFormat::Lines) = recording.log.as_ref().map(|(_, file)| file.form) else { return Ok(()) };
    for at in 0..recording.line_count() {
        let resumed = scan_recording(recording, ScanDepth::All, Some(at));
        let same =
            merge_replies(&resumed) == merge_replies(all) && resumed.facts == all.facts && resumed.text == all.text;
        must!(same, "a file that grew is read from where it ended", "behind line {at}");
    }
    Ok(())
}

/// Scans a recording, in two runs if it grew after `grew` lines.
fn scan_recording(recording: &Recording, depth: ScanDepth, grew: Option<usize>) -> ScanOutput {
    let mut found = ScanOutput::default();
    let Some((logs, file)) = &recording.log else { return found };
    let mut skim = (logs.skim)(file, None);
    for (at, line) in recording.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
        if grew == Some(at) {
            skim = (logs.skim)(file, Some(&skim.save_state()));
        }
        scan_line(&mut *skim, line, depth, &mut found);
    }
    if !matches!(file.form, LogFormat::Lines) {
        skim.finish(&mut found);
    }
    found
}

fn scan_line(skim: &mut dyn LogScanner, line: &[u8], depth: ScanDepth, all: &mut ScanOutput) {
    if depth == ScanDepth::Tokens && !skim.may_affect_usage(line) {
        return;
    }
    let Ok(text) = std::str::from_utf8(line) else { return };
    let facts = std::mem::take(&mut all.facts);
    skim.scan_record(text, depth, all);
    let news = std::mem::replace(&mut all.facts, facts);
    all.facts.merge_newer(news);
}

/// Merges entries with the same key: the largest figures, and every tool.
fn merge_replies(found: &ScanOutput) -> RepliesByKey {
    let mut replies = RepliesByKey::new();
    for spent in &found.spent {
        let (figures, tools) = replies.entry(spent.key.clone()).or_default();
        if spent_figures(spent)[..5].iter().sum::<u64>() > figures[..5].iter().sum::<u64>() {
            *figures = spent_figures(spent);
        }
        tools.extend(spent.tools.iter().map(|called| format!("{} {}", called.id, called.name)));
    }
    replies
}

/// Returns the time of each reply, and whether it is copied from another log.
fn reply_times(found: &ScanOutput) -> BTreeSet<(&str, Option<Timestamp>, bool)> {
    let used = found.spent.iter().filter(|spent| spent.total_tokens() > 0);
    used.map(|spent| (spent.key.as_str(), spent.at, spent.copied)).collect()
}

fn spent_figures(spent: &ReplyTokens) -> ScanTokenFigures {
    let ReplyTokens { input, output, cache_read, cache_write, cache_write_1h, reasoning, .. } = *spent;
    [input, output, cache_read, cache_write, cache_write_1h, reasoning]
}

fn usage_figures(usage: &Usage) -> ScanTokenFigures {
    let Usage { input, output, cache_read, cache_write_5m, cache_write_1h, reasoning, tool, .. } = *usage;
    // Some agents count the input of tools separately.
    [input.saturating_add(tool.unwrap_or(0)), output, cache_read, cache_write_5m, cache_write_1h, reasoning]
}

fn sort_figures(figures: impl Iterator<Item = ScanTokenFigures>) -> Vec<ScanTokenFigures> {
    let mut figures: Vec<_> = figures.filter(|figures| figures.iter().any(|n| *n > 0)).collect();
    figures.sort_unstable();
    figures
}
