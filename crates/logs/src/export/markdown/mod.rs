//! A story as Markdown: what the agent says stays the Markdown that it is, with everything taken out of it that would be
//! more than text; what tools say is code.

mod harmless;

use jiff::tz::TimeZone;

use super::{
    Story,
    figures::{self, took, used},
    plain,
    story::{Did, Step, Turn, What},
};

/// The page. Times are those of the zone.
#[must_use]
pub fn page(story: &Story, zone: &TimeZone) -> String {
    let mut out = format!("# {}\n\n", harmless::line(&story.title));
    let total = used(&story.usage, None);
    let all = story.about.iter().map(|(name, value)| (*name, value)).chain([("used", &total)]);
    for (name, value) in all.filter(|(_, value)| !value.is_empty()) {
        out.push_str(&format!("- {name}: {}\n", harmless::line(value)));
    }
    story.turns.iter().for_each(|turn| push_turn(turn, zone, &mut out));
    out
}

fn push_turn(turn: &Turn, zone: &TimeZone, out: &mut String) {
    if turn.number > 0 {
        let at = turn.at.map(|at| format!(" · {}", figures::minute(at, zone))).unwrap_or_default();
        out.push_str(&format!("\n## Turn {}{at}\n", turn.number));
    }
    if let Some(prompt) = &turn.prompt {
        out.push('\n');
        // Within a quotation, a block of code ends where the quotation does.
        quote(&harmless::text(prompt), out);
    }
    turn.steps.iter().for_each(|step| push_step(step, 0, out));
    if let Some(problem) = &turn.problem {
        out.push_str(&format!("\n**{}**\n", harmless::line(problem)));
    }
    let figures = used(&turn.usage, turn.duration_ms);
    if !figures.is_empty() {
        out.push_str(&format!("\n*{figures}*\n"));
    }
}

fn push_step(step: &Step, depth: usize, out: &mut String) {
    let mut own = String::new();
    match &step.what {
        What::Said(text) => own.push_str(&format!("\n{}\n", harmless::text(text))),
        What::Thought(text) => {
            own.push_str("\n*thought:*\n\n");
            quote(&harmless::text(text), &mut own);
        }
        What::Note(text) => own.push_str(&format!("\n*{}*\n", harmless::line(text))),
        What::Did(did) => push_did(did, &step.inner, depth, &mut own),
    }
    // What a subagent did is a quotation within the call.
    if depth > 0 {
        out.push('\n');
        quote(own.trim(), out);
    } else {
        out.push_str(&own);
    }
}

fn push_did(did: &Did, inner: &[Step], depth: usize, out: &mut String) {
    let mut line = format!("\n- **{}**", harmless::line(&did.name));
    if !did.about.is_empty() {
        line.push_str(&format!(" {}", harmless::line(&did.about)));
    }
    line.extend(did.exit_code.map(|code| format!(" · exit {code}")));
    line.extend(did.duration_ms.filter(|millis| *millis >= 1_000).map(|millis| format!(" · {}", took(millis))));
    line.extend(did.problem.as_deref().map(|problem| format!(" · **{}**", harmless::line(problem))));
    out.push_str(&line);
    out.push('\n');
    did.command.iter().for_each(|command| fence("sh", command, out));
    let language = |text: &str| if text.starts_with(['{', '[']) { "json" } else { "" };
    did.input.iter().for_each(|input| fence(language(input), input, out));
    for change in &did.changes {
        if change.diff.trim().is_empty() {
            out.push_str(&format!("\n{}\n", harmless::line(&change.path)));
        } else {
            fence("diff", &change.diff, out);
        }
    }
    inner.iter().for_each(|step| push_step(step, depth + 1, out));
    fence("", &did.output, out);
}

/// A block of code, in a fence that nothing within it can close.
fn fence(language: &str, text: &str, out: &mut String) {
    let text = plain::text(text.trim_end());
    if text.trim().is_empty() {
        return;
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    out.push_str(&format!("\n{fence}{language}\n{text}\n{fence}\n"));
}

fn quote(text: &str, out: &mut String) {
    for line in text.lines() {
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
    }
}
