//! Renders a session as Markdown. Agent messages stay Markdown, with active content removed; tool output becomes code
//! blocks.

use jiff::tz::TimeZone;

use super::story::{StepContent, TranscriptStep, TranscriptToolCall, TranscriptTurn};
use super::{TranscriptDocument, format_duration, format_minute, format_usage, visible_line, visible_text};

/// Renders the page, with times in `zone`.
#[must_use]
pub fn render_markdown(story: &TranscriptDocument, zone: &TimeZone) -> String {
    let mut out = format!("# {}\n\n", escape_single_line(&story.title));
    let total = format_usage(&story.usage, None);
    let all = story.about.iter().map(|(name, value)| (*name, value)).chain([("used", &total)]);
    for (name, value) in all.filter(|(_, value)| !value.is_empty()) {
        out.push_str(&format!("- {name}: {}\n", escape_single_line(value)));
    }
    story.turns.iter().for_each(|turn| push_turn(turn, zone, &mut out));
    out
}

fn push_turn(turn: &TranscriptTurn, zone: &TimeZone, out: &mut String) {
    if turn.number > 0 {
        let at = turn.at.map(|at| format!(" · {}", format_minute(at, zone))).unwrap_or_default();
        out.push_str(&format!("\n## Turn {}{at}\n", turn.number));
    }
    if let Some(prompt) = &turn.prompt {
        out.push('\n');
        // Inside a quotation, a code block ends with the quotation.
        push_quote(&escape_text(prompt), out);
    }
    turn.steps.iter().for_each(|step| push_step(step, 0, out));
    if let Some(problem) = &turn.problem {
        out.push_str(&format!("\n**{}**\n", escape_single_line(problem)));
    }
    let figures = format_usage(&turn.usage, turn.duration_ms);
    if !figures.is_empty() {
        out.push_str(&format!("\n*{figures}*\n"));
    }
}

fn push_step(step: &TranscriptStep, depth: usize, out: &mut String) {
    let mut own = String::new();
    match &step.what {
        StepContent::Said(text) => own.push_str(&format!("\n{}\n", escape_text(text))),
        StepContent::Thought(text) => {
            own.push_str("\n*thought:*\n\n");
            push_quote(&escape_text(text), &mut own);
        }
        StepContent::Note(text) => own.push_str(&format!("\n*{}*\n", escape_single_line(text))),
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
    let mut line = format!("\n- **{}**", escape_single_line(&did.name));
    if !did.about.is_empty() {
        line.push_str(&format!(" {}", escape_single_line(&did.about)));
    }
    line.extend(did.exit_code.map(|code| format!(" · exit {code}")));
    line.extend(
        did.duration_ms.filter(|millis| *millis >= 1_000).map(|millis| format!(" · {}", format_duration(millis))),
    );
    line.extend(did.problem.as_deref().map(|problem| format!(" · **{}**", escape_single_line(problem))));
    out.push_str(&line);
    out.push('\n');
    did.command.iter().for_each(|command| push_code_block("sh", command, out));
    let language = |text: &str| if text.starts_with(['{', '[']) { "json" } else { "" };
    did.input.iter().for_each(|input| push_code_block(language(input), input, out));
    for change in &did.changes {
        if change.diff.trim().is_empty() {
            out.push_str(&format!("\n{}\n", escape_single_line(&change.path)));
        } else {
            push_code_block("diff", &change.diff, out);
        }
    }
    inner.iter().for_each(|step| push_step(step, depth + 1, out));
    push_code_block("", &did.output, out);
}

/// Appends a code block with a fence longer than any run of backticks inside it.
fn push_code_block(language: &str, text: &str, out: &mut String) {
    let text = visible_text(text.trim_end());
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

/// State within one paragraph, which ends at a blank line.
#[derive(Default)]
struct ParagraphEscaper {
    /// A run of backticks is unmatched on its line and may be closed on a later one.
    is_open: bool,
}

/// Sanitizes a text of several lines.
fn escape_text(given: &str) -> String {
    let given = visible_text(given.trim_matches('\n'));
    let (mut out, mut fence, mut paragraph) = (String::new(), None::<&str>, ParagraphEscaper::default());
    for line in given.split('\n') {
        match fence {
            Some(open) => {
                out.push_str(line);
                if closes_fence(line, open) {
                    fence = None;
                }
            }
            None if opening_fence(line).is_some() => {
                (fence, paragraph) = (opening_fence(line), ParagraphEscaper::default());
                out.push_str(line);
            }
            None => paragraph.escape_line(line, &mut out),
        }
        out.push('\n');
    }
    if let Some(open) = fence {
        out.push_str(open);
        out.push('\n');
    }
    out.trim_end().to_owned()
}

/// Escapes a text as a single line without any Markdown.
fn escape_single_line(given: &str) -> String {
    let mut out = String::new();
    for c in visible_line(given).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '[' | ']' | '!' | '|' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            // Between letters an underscore has no meaning.
            '_' if !out.ends_with(char::is_alphanumeric) => out.push_str("\\_"),
            c => out.push(c),
        }
    }
    out
}

/// Returns the fence that a line opens. An indented fence is ignored: it may belong to a list and end with it.
fn opening_fence(line: &str) -> Option<&str> {
    ['`', '~'].into_iter().find_map(|mark| {
        let rest = line.trim_start_matches(mark);
        let fence = line.get(..line.len() - rest.len())?;
        (fence.len() >= 3 && !(mark == '`' && rest.contains('`'))).then_some(fence)
    })
}

fn closes_fence(line: &str, fence: &str) -> bool {
    let inner = line.trim_start_matches(' ');
    let mark = fence.chars().next().unwrap_or('`');
    let indent = line.len() - inner.len();
    let run = inner.trim_end_matches([' ', '\t']);
    indent <= 3 && run.len() >= fence.len() && run.chars().all(|c| c == mark)
}

impl ParagraphEscaper {
    fn escape_line(&mut self, line: &str, out: &mut String) {
        if line.trim().is_empty() {
            *self = Self::default();
            return;
        }
        let mut rest = line;
        while !self.is_open {
            let Some(at) = rest.find('`') else { break };
            let (before, from) = rest.split_at(at);
            let run: usize = from.len() - from.trim_start_matches('`').len();
            let Some(end) = closing_backticks(from.get(run..).unwrap_or_default(), run) else {
                self.is_open = true;
                break;
            };
            // An escaped backtick does not start code.
            if before.ends_with('\\') {
                self.is_open = true;
                break;
            }
            escape_inline(before, out);
            let (code, after) = from.split_at(run + end);
            out.push_str(code);
            rest = after;
        }
        escape_inline(rest, out);
    }
}

/// Returns the end of the next run of exactly `run` backticks.
fn closing_backticks(text: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('`')?;
        let rest = text.get(at..)?;
        let length = rest.len() - rest.trim_start_matches('`').len();
        at += length;
        if length == run {
            return Some(at);
        }
    }
}

/// Escapes tags and images.
fn escape_inline(text: &str, out: &mut String) {
    let mut before = '\0';
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '[' if before == '!' => out.push_str("\\["),
            c => out.push(c),
        }
        before = c;
    }
}

#[cfg(test)]
mod tests {
    use super::{escape_single_line, escape_text};

    #[test]
    fn what_is_code_stays() {
        for same in [
            "use `Vec<String>` and ``a`b<c>``",
            "```rust\nlet x: Vec<u8> = a![b];\n```\nafter",
            "~~~\n<b>\n~~~",
            "# Heading\n\n- a *list* with [a link](https://example.org)\n\n| a | b |\n| - | - |",
        ] {
            assert_eq!(escape_text(same), same);
        }
    }

    #[test]
    fn what_is_more_than_text_is_made_text() {
        for (given, shown) in [
            ("<script>x</script>", "&lt;script>x&lt;/script>"),
            ("a ![x](https://e.org/p.png)", "a !\\[x](https://e.org/p.png)"),
            ("`\n`<img src=x>`", "`\n`&lt;img src=x>`"),
            ("\\`<img>`", "\\`&lt;img>`"),
            ("- ```\n<img src=x>", "- ```\n&lt;img src=x>"),
            ("- a\n\n  ```\n<img src=x>", "- a\n\n  ```\n&lt;img src=x>"),
            ("```a`b\n<img>", "```a`b\n&lt;img>"),
            ("```\nnever closed", "```\nnever closed\n```"),
            ("````\n```\n<b>", "````\n```\n<b>\n````"),
            ("a\u{202e}b\x1b[31mred\x07", "a[U+202E]bred␇"),
        ] {
            assert_eq!(escape_text(given), shown, "{given:?}");
        }
    }

    #[test]
    fn a_line_has_no_markdown() {
        assert_eq!(escape_single_line("a_b *c* <d> `e`\n# f"), "a_b \\*c\\* &lt;d> \\`e\\` \\# f");
    }
}
