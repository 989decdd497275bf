//! The quick way through a session log, held against the long one: both must say the same about tokens.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_agents::{Depth, Finds, Form, Skim, Spent};
use switchboard_event::{Body, Timestamp, Usage};

use crate::{
    ledger::{Broken, must},
    play::events,
    recording::Recording,
};

/// What a reply used: fresh input, output, read from a cache, written to it for a short time and for an hour, reasoning.
type Figures = [u64; 6];

/// What was used, by key.
type Replies = BTreeMap<String, (Figures, BTreeSet<String>)>;

/// Holds a session log against the rules; other recordings keep them by having none.
///
/// # Errors
/// If one does not hold.
pub fn check(recording: &Recording) -> Result<(), Broken> {
    if recording.log.is_none() {
        return Ok(());
    }
    let all = skim(recording, Depth::All, None);
    check_agreement(recording, &all)?;
    check_passages(&all)?;
    let quick = skim(recording, Depth::Tokens, None);
    let (found, whole) = (replies(&quick), replies(&all));
    must!(found == whole, "tokens are found whatever else is wanted", "{found:?} is not {whole:?}");
    let (found, whole) = (times(&quick), times(&all));
    must!(found == whole, "replies have their times whatever else is wanted", "{found:?} is not {whole:?}");
    check_resumed(recording, &all)
}

/// The events count the same replies; those that another log has as its own, all or none.
fn check_agreement(recording: &Recording, all: &Finds) -> Result<(), Broken> {
    let used = events(recording.source, &recording.bytes).into_iter().filter_map(|event| match event.body {
        Body::Usage(usage) if !usage.cumulative => Some(of_usage(&usage)),
        _ => None,
    });
    let figures = |replies: Replies| sorted(replies.into_values().map(|(figures, _)| figures));
    // What is missing in a log is known only once all logs of the session are.
    let all = &only(all, |spent| !spent.is_total);
    let (used, skimmed) = (sorted(used), figures(replies(all)));
    let agree = used == skimmed || used == figures(replies(&only(all, |spent| !spent.copied)));
    must!(agree, "skimming and reading agree on tokens", "read {used:?}, skimmed {skimmed:?}");
    Ok(())
}

/// Some of what was used.
fn only(all: &Finds, wanted: impl Fn(&Spent) -> bool) -> Finds {
    Finds { spent: all.spent.iter().filter(|spent| wanted(spent)).cloned().collect(), ..Finds::default() }
}

/// Each passage ends behind the one before, between two characters.
fn check_passages(all: &Finds) -> Result<(), Broken> {
    let mut before = 0;
    for passage in &all.passages {
        let text = all.text.get(before..passage.end);
        must!(text.is_some_and(|text| !text.is_empty()), "passages lie one after the other", "{passage:?}");
        before = passage.end;
    }
    must!(before == all.text.len(), "all text is in passages", "{before} of {}", all.text.len());
    Ok(())
}

/// A file that grew is read from where it ended.
fn check_resumed(recording: &Recording, all: &Finds) -> Result<(), Broken> {
    let Some(Form::Lines) = recording.log.as_ref().map(|(_, file)| file.form) else { return Ok(()) };
    for at in 0..recording.lines() {
        let resumed = skim(recording, Depth::All, Some(at));
        let same = replies(&resumed) == replies(all) && resumed.facts == all.facts && resumed.text == all.text;
        must!(same, "a file that grew is read from where it ended", "behind line {at}");
    }
    Ok(())
}

/// Skims a recording, in two runs if it grew after so many lines.
fn skim(recording: &Recording, depth: Depth, grew: Option<usize>) -> Finds {
    let mut found = Finds::default();
    let Some((logs, file)) = &recording.log else { return found };
    let mut skim = (logs.skim)(file, None);
    for (at, line) in recording.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
        if grew == Some(at) {
            skim = (logs.skim)(file, Some(&skim.save()));
        }
        look(&mut *skim, line, depth, &mut found);
    }
    if !matches!(file.form, Form::Lines) {
        skim.end(&mut found);
    }
    found
}

fn look(skim: &mut dyn Skim, line: &[u8], depth: Depth, all: &mut Finds) {
    if depth == Depth::Tokens && !skim.counts(line) {
        return;
    }
    let Ok(text) = std::str::from_utf8(line) else { return };
    let facts = std::mem::take(&mut all.facts);
    skim.record(text, depth, all);
    let news = std::mem::replace(&mut all.facts, facts);
    all.facts.learn(news);
}

/// What counts of all that has the same key: the largest figures, and every tool.
fn replies(found: &Finds) -> Replies {
    let mut replies = Replies::new();
    for spent in &found.spent {
        let (figures, tools) = replies.entry(spent.key.clone()).or_default();
        if of_spent(spent)[..5].iter().sum::<u64>() > figures[..5].iter().sum::<u64>() {
            *figures = of_spent(spent);
        }
        tools.extend(spent.tools.iter().map(|called| format!("{} {}", called.id, called.name)));
    }
    replies
}

/// When each reply was, and whether another log has it as its own.
fn times(found: &Finds) -> BTreeSet<(&str, Option<Timestamp>, bool)> {
    let used = found.spent.iter().filter(|spent| spent.all() > 0);
    used.map(|spent| (spent.key.as_str(), spent.at, spent.copied)).collect()
}

fn of_spent(spent: &Spent) -> Figures {
    let Spent { input, output, cache_read, cache_write, cache_write_1h, reasoning, .. } = *spent;
    [input, output, cache_read, cache_write, cache_write_1h, reasoning]
}

fn of_usage(usage: &Usage) -> Figures {
    let Usage { input, output, cache_read, cache_write_5m, cache_write_1h, reasoning, tool, .. } = *usage;
    // What tools put in is input, where an agent counts it apart.
    [input.saturating_add(tool.unwrap_or(0)), output, cache_read, cache_write_5m, cache_write_1h, reasoning]
}

fn sorted(figures: impl Iterator<Item = Figures>) -> Vec<Figures> {
    let mut figures: Vec<_> = figures.filter(|figures| figures.iter().any(|n| *n > 0)).collect();
    figures.sort_unstable();
    figures
}
