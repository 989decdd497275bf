//! Text that the user is asked to approve. It is shown completely, and nothing in it can be pushed out of sight: long
//! runs of spaces and of empty lines are shown as counts.

use super::{
    HtmlFragment,
    cut::{APPROVAL_LIMITS, ClippedLine, ClippedText, fit, grouped},
    highlight::{Highlighter, Language},
    writer::HtmlWriter,
};

/// Longer runs of spaces or empty lines are shown as counts.
const MAX_SPACE_RUN: usize = 40;
const MAX_BLANK_LINES: usize = 5;

/// Renders a command or a text in a `<pre class="code">`, highlighted by the name of its language.
#[must_use]
pub fn asked(text: &str, language: &str) -> HtmlFragment {
    let fit = fit(text, &APPROVAL_LIMITS);
    let mut out = HtmlWriter::default();
    let mut highlighter = Language::named(language).map(Highlighter::new);
    out.open("pre", "code");
    out.asked(&fit, highlighter.as_mut());
    out.close("pre");
    out.shown(fit.lines())
}

impl HtmlWriter {
    fn asked(&mut self, fit: &ClippedText<'_>, mut highlighter: Option<&mut Highlighter>) {
        self.asked_lines(&fit.head, highlighter.as_deref_mut());
        if let Some(gap) = fit.gap {
            self.gap(gap);
            self.raw("\n");
        }
        self.asked_lines(&fit.tail, highlighter);
    }

    fn asked_lines(&mut self, lines: &[ClippedLine<'_>], mut highlighter: Option<&mut Highlighter>) {
        let mut rest = lines;
        while let Some((line, behind)) = rest.split_first() {
            let empty = rest.iter().take_while(|line| line.is_blank()).count();
            if empty > MAX_BLANK_LINES {
                self.counted(empty, "empty lines");
                rest = rest.split_at(empty).1;
            } else {
                self.asked_line(line, highlighter.as_deref_mut());
                rest = behind;
            }
            self.raw("\n");
        }
    }

    fn asked_line(&mut self, line: &ClippedLine<'_>, highlighter: Option<&mut Highlighter>) {
        let is_wide = line.start.split(|c: char| !c.is_whitespace()).any(|run| run.chars().count() >= MAX_SPACE_RUN);
        match line.left_out {
            0 if !is_wide => self.code_line(line.start, highlighter),
            0 => self.narrowed(line.start),
            _ => self.line(line),
        }
    }

    /// Writes a line with long runs of spaces as counts.
    fn narrowed(&mut self, line: &str) {
        let mut rest = line;
        while !rest.is_empty() {
            let spaces = rest.len() - rest.trim_ascii_start().len();
            let (run, behind) = rest.split_at(spaces);
            if spaces >= MAX_SPACE_RUN {
                self.counted(spaces, "spaces")
            } else {
                self.text(run)
            }
            let end = behind.find(|c: char| c.is_ascii_whitespace()).unwrap_or(behind.len());
            let (word, behind) = behind.split_at(end);
            self.text(word);
            rest = behind;
        }
    }

    fn counted(&mut self, count: usize, what: &str) {
        self.open("span", "ctl");
        self.text(&format!("{} {what}", grouped(count)));
        self.close("span");
    }
}

impl ClippedLine<'_> {
    fn is_blank(&self) -> bool {
        self.left_out == 0 && self.start.trim().is_empty()
    }
}
