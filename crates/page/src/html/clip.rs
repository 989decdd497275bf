//! Clips long texts to their head and tail, and long lines to their start and end. Text that the user is asked to
//! approve is shown completely.

use memchr::{memchr, memchr_iter, memrchr};

use super::HtmlFragment;
use super::syntax::{Highlighter, Language};
use super::writer::HtmlWriter;

/// The amount of a text to show.
pub(super) struct ClipLimits {
    /// Lines and bytes at the beginning.
    head: (usize, usize),
    /// Lines and bytes at the end.
    tail: (usize, usize),
    /// Maximum bytes of a line.
    line: usize,
}

/// The limits for output, code and diffs.
pub(super) const TEXT_LIMITS: ClipLimits =
    ClipLimits { head: (300, 75_000), tail: (100, 25_000), line: MAX_LINE_BYTES };

/// The limits for text that the user is asked to approve: as much as a person can be expected to read.
const APPROVAL_LIMITS: ClipLimits = ClipLimits { head: (5_000, 200_000), tail: (100, 25_000), line: 200_000 };

/// The usual maximum length of a line.
pub(super) const MAX_LINE_BYTES: usize = 4_000;

/// The shown part of a text.
pub(super) struct ClippedText<'a> {
    /// The first lines.
    pub(super) head: Vec<ClippedLine<'a>>,
    /// The omitted part after them.
    pub(super) gap: Option<OmittedText>,
    /// The last lines, if something is omitted.
    pub(super) tail: Vec<ClippedLine<'a>>,
}

impl ClippedText<'_> {
    /// Returns the number of shown lines.
    pub(super) fn lines(&self) -> usize {
        self.head.len() + self.tail.len() + usize::from(self.gap.is_some())
    }
}

/// The size of the omitted part of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OmittedText {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// A line without its line end; only start and end of a long one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClippedLine<'a> {
    pub(super) start: &'a str,
    /// The number of omitted bytes.
    pub(super) left_out: usize,
    pub(super) end: &'a str,
}

impl<'a> ClippedLine<'a> {
    pub(super) fn new(line: &'a str, limit: usize) -> Self {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.len() <= limit {
            return Self { start: line, left_out: 0, end: "" };
        }
        let (start, rest) = line.split_at(line.floor_char_boundary(limit / 4 * 3));
        let (middle, end) = rest.split_at(rest.ceil_char_boundary(rest.len() - limit / 4));
        Self { start, left_out: middle.len(), end }
    }

    fn len(&self) -> usize {
        self.start.len() + self.end.len()
    }
}

/// Clips a text. Costs little more than finding the line ends.
pub(super) fn fit<'a>(text: &'a str, limits: &ClipLimits) -> ClippedText<'a> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let (head, rest) = first(text, limits.head, limits.line);
    let Some(rest) = rest else { return ClippedText { head, gap: None, tail: Vec::new() } };
    let (tail, middle) = last(rest, limits.tail, limits.line);
    let gap = middle
        .map(|middle| OmittedText { lines: 1 + memchr_iter(b'\n', middle.as_bytes()).count(), bytes: middle.len() });
    ClippedText { head, gap, tail }
}

/// Returns the first lines of a text and the rest.
fn first(text: &str, (lines, bytes): (usize, usize), limit: usize) -> (Vec<ClippedLine<'_>>, Option<&str>) {
    let (mut found, mut taken, mut rest) = (Vec::new(), 0, text);
    while found.len() < lines && taken < bytes {
        let Some(end) = memchr(b'\n', rest.as_bytes()) else {
            found.push(ClippedLine::new(rest, limit));
            return (found, None);
        };
        let (line, behind) = rest.split_at(end);
        let line = ClippedLine::new(line, limit);
        taken += line.len();
        found.push(line);
        rest = behind.strip_prefix('\n').unwrap_or(behind);
    }
    (found, Some(rest))
}

/// Returns the last lines of a text and the part before them.
fn last(text: &str, (lines, bytes): (usize, usize), limit: usize) -> (Vec<ClippedLine<'_>>, Option<&str>) {
    let (mut found, mut taken, mut rest) = (Vec::new(), 0, Some(text));
    while let Some(text) = rest
        && found.len() < lines
        && taken < bytes
    {
        let start = memrchr(b'\n', text.as_bytes());
        let (before, line) = text.split_at(start.map_or(0, |start| start + 1));
        let line = ClippedLine::new(line, limit);
        taken += line.len();
        found.push(line);
        rest = start.and(before.strip_suffix('\n'));
    }
    found.reverse();
    (found, rest)
}

impl HtmlWriter {
    /// Writes a note about omitted lines.
    pub(super) fn gap(&mut self, gap: OmittedText) {
        let lines = if gap.lines == 1 { "1 line".to_owned() } else { format!("{} lines", grouped(gap.lines)) };
        self.left_out(&format!("{lines} ({}) left out", size(gap.bytes)));
    }

    /// Writes a note about an omission.
    pub(super) fn left_out(&mut self, what: &str) {
        self.cut = true;
        self.open("span", "cut");
        self.text("… ");
        self.text(what);
        self.text(" …");
        self.close("span");
    }

    /// Writes a line without its line end.
    pub(super) fn line(&mut self, line: &ClippedLine<'_>) {
        self.text(line.start);
        if line.left_out > 0 {
            self.left_out(&format!("{} of this line left out", size(line.left_out)));
        }
        self.text(line.end);
    }
}

/// Formats a number of bytes.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", grouped(bytes / 1_000_000), bytes / 100_000 % 10),
    }
}

/// Formats a number with thousands separators.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Longer runs of spaces or empty lines are shown as counts.
const MAX_SPACE_RUN: usize = 40;
const MAX_BLANK_LINES: usize = 5;

/// Renders a command or a text in a `<pre class="code">`, highlighted by the name of its language.
#[must_use]
pub fn approval_text(text: &str, language: &str) -> HtmlFragment {
    let fit = fit(text, &APPROVAL_LIMITS);
    let mut out = HtmlWriter::default();
    let mut highlighter = Language::named(language).map(Highlighter::new);
    out.open("pre", "code");
    out.approval_lines(&fit, highlighter.as_mut());
    out.close("pre");
    out.shown(fit.lines())
}

impl HtmlWriter {
    fn approval_lines(&mut self, fit: &ClippedText<'_>, mut highlighter: Option<&mut Highlighter>) {
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

#[cfg(test)]
mod tests {
    use super::{ClipLimits, MAX_LINE_BYTES, OmittedText, fit, grouped, size};

    const SMALL_LIMITS: ClipLimits = ClipLimits { head: (3, 100), tail: (2, 100), line: MAX_LINE_BYTES };

    #[test]
    fn short_texts_are_whole() {
        for (text, lines) in [("", 1), ("a", 1), ("a\n", 1), ("a\nb\r\nc", 3), ("a\nb\nc\nd\ne\n", 5)] {
            let fit = fit(text, &SMALL_LIMITS);
            assert_eq!((fit.lines(), fit.gap), (lines, None), "{text:?}");
        }
    }

    #[test]
    fn the_middle_of_long_texts_is_left_out() {
        let fit = fit("1\n2\n3\n4\n5\n6\n7\n", &SMALL_LIMITS);
        let starts =
            |lines: &[super::ClippedLine<'_>]| lines.iter().map(|line| line.start.to_owned()).collect::<Vec<_>>();
        assert_eq!(starts(&fit.head), ["1", "2", "3"]);
        assert_eq!(fit.gap, Some(OmittedText { lines: 2, bytes: 3 }));
        assert_eq!(starts(&fit.tail), ["6", "7"]);
    }

    #[test]
    fn the_middle_of_long_lines_is_left_out() {
        let text = "ä".repeat(10_000);
        let fit = fit(&text, &SMALL_LIMITS);
        let line = fit.head[0];
        assert!(line.start.len() + line.end.len() <= MAX_LINE_BYTES);
        assert_eq!(line.start.len() + line.left_out + line.end.len(), text.len());
    }

    #[test]
    fn figures_are_for_people() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!([size(12), size(4_321), size(12_345_678)], ["12 bytes", "4 KB", "12.3 MB"]);
    }
}
