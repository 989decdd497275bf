//! Renders a session as Markdown. Agent messages stay Markdown, with active content removed; tool output becomes code
//! blocks.

mod harmless;

use jiff::tz::TimeZone;

use super::{
    TranscriptDocument,
    figures::{self, format_duration, format_usage},
    plain,
    story::{StepContent, TranscriptStep, TranscriptToolCall, TranscriptTurn},
};

/// Renders the page, with times in `zone`.
#[must_use]
pub fn render_markdown(story: &TranscriptDocument, zone: &TimeZone) -> String {
    let mut out = format!("# {}\n\n", harmless::escape_single_line(&story.title));
    let total = format_usage(&story.usage, None);
    let all = story.about.iter().map(|(name, value)| (*name, value)).chain([("used", &total)]);
    for (name, value) in all.filter(|(_, value)| !value.is_empty()) {
        out.push_str(&format!("- {name}: {}\n", harmless::escape_single_line(value)));
    }
    story.turns.iter().for_each(|turn| push_turn(turn, zone, &mut out));
    out
}

fn push_turn(turn: &TranscriptTurn, zone: &TimeZone, out: &mut String) {
    if turn.number > 0 {
        let at = turn.at.map(|at| format!(" · {}", figures::format_minute(at, zone))).unwrap_or_default();
        out.push_str(&format!("\n## Turn {}{at}\n", turn.number));
    }
    if let Some(prompt) = &turn.prompt {
        out.push('\n');
        // Inside a quotation, a code block ends with the quotation.
        push_quote(&harmless::escape_text(prompt), out);
    }
    turn.steps.iter().for_each(|step| push_step(step, 0, out));
    if let Some(problem) = &turn.problem {
        out.push_str(&format!("\n**{}**\n", harmless::escape_single_line(problem)));
    }
    let figures = format_usage(&turn.usage, turn.duration_ms);
    if !figures.is_empty() {
        out.push_str(&format!("\n*{figures}*\n"));
    }
}

fn push_step(step: &TranscriptStep, depth: usize, out: &mut String) {
    let mut own = String::new();
    match &step.what {
        StepContent::Said(text) => own.push_str(&format!("\n{}\n", harmless::escape_text(text))),
        StepContent::Thought(text) => {
            own.push_str("\n*thought:*\n\n");
            push_quote(&harmless::escape_text(text), &mut own);
        }
        StepContent::Note(text) => own.push_str(&format!("\n*{}*\n", harmless::escape_single_line(text))),
        StepContent::Did(did) => push_tool_call(did, &step.inner, depth, &mut own),
    }
    // The steps of a subagent are quoted within its call.
    if depth > 0 {
        out.push('\n');
        push_quote(own.trim(), out);
    } else {
        out.push_str(&own);
    }
}

fn push_tool_call(did: &TranscriptToolCall, inner: &[TranscriptStep], depth: usize, out: &mut String) {
    let mut line = format!("\n- **{}**", harmless::escape_single_line(&did.name));
    if !did.about.is_empty() {
        line.push_str(&format!(" {}", harmless::escape_single_line(&did.about)));
    }
    line.extend(did.exit_code.map(|code| format!(" · exit {code}")));
    line.extend(
        did.duration_ms.filter(|millis| *millis >= 1_000).map(|millis| format!(" · {}", format_duration(millis))),
    );
    line.extend(did.problem.as_deref().map(|problem| format!(" · **{}**", harmless::escape_single_line(problem))));
    out.push_str(&line);
    out.push('\n');
    did.command.iter().for_each(|command| push_code_block("sh", command, out));
    let language = |text: &str| if text.starts_with(['{', '[']) { "json" } else { "" };
    did.input.iter().for_each(|input| push_code_block(language(input), input, out));
    for change in &did.changes {
        if change.diff.trim().is_empty() {
            out.push_str(&format!("\n{}\n", harmless::escape_single_line(&change.path)));
        } else {
            push_code_block("diff", &change.diff, out);
        }
    }
    inner.iter().for_each(|step| push_step(step, depth + 1, out));
    push_code_block("", &did.output, out);
}

/// Appends a code block with a fence longer than any run of backticks inside it.
fn push_code_block(language: &str, text: &str, out: &mut String) {
    let text = plain::visible_text(text.trim_end());
    if text.trim().is_empty() {
        return;
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    out.push_str(&format!("\n{fence}{language}\n{text}\n{fence}\n"));
}

fn push_quote(text: &str, out: &mut String) {
    for line in text.lines() {
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
    }
}
