//! Converts untrusted text to safe HTML. Only this module creates [`SafeHtml`], and all its output is bounded: excess text
//! is omitted, with a note of the class `cut`.

mod clip;
mod diff;
mod diff_table;
mod languages;
mod markdown;
mod syntax;
mod terminal;
mod writer;

use clip::{ClippedLine, ClippedText, TEXT_LIMITS, fit};
use serde::Serialize;
use syntax::{Highlighter, Language};
use writer::HtmlWriter;

pub use clip::approval_text;
pub use diff::{DiffSource, DiffStat, diff};
pub use markdown::{finished, markdown};
pub use terminal::terminal;
pub use writer::{element, image, join, line, link, words};

/// HTML that is safe to show: no scripts, no styles, only web URLs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SafeHtml(String);

impl SafeHtml {
    /// Returns the HTML as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Rendered HTML with information about the source text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtmlFragment {
    pub html: SafeHtml,
    /// The approximate number of lines.
    pub lines: u32,
    /// Whether part of the text is omitted.
    pub cut: bool,
}

/// Renders text in a `<pre>`: escaped, with hidden characters as code points and the middle of long text omitted.
#[must_use]
pub fn plain(text: &str) -> HtmlFragment {
    let fit = fit(text, &TEXT_LIMITS);
    let mut out = HtmlWriter::default();
    out.open("pre", "");
    for line in &fit.head {
        out.line(line);
        out.raw("\n");
    }
    if let Some(gap) = fit.gap {
        out.gap(gap);
        out.raw("\n");
    }
    for line in &fit.tail {
        out.line(line);
        out.raw("\n");
    }
    out.close("pre");
    out.shown(fit.lines())
}

/// Longer texts are not highlighted: the shown part lacks too much context.
const MAX_HIGHLIGHTED_BYTES: usize = 200_000;

/// Renders code in a `<pre class="code">`, highlighted by the name of its language or the path of its file.
#[must_use]
pub fn code(text: &str, language_or_path: &str) -> HtmlFragment {
    let fit = fit(text, &TEXT_LIMITS);
    let mut out = HtmlWriter::default();
    out.open("pre", "code");
    out.code(&fit, language(text, language_or_path));
    out.close("pre");
    out.shown(fit.lines())
}

/// Renders one line of code.
#[must_use]
pub fn code_title(text: &str) -> SafeHtml {
    element("code", "", &[line(text)])
}

/// Returns the language of a text, if it is to be highlighted.
fn language(text: &str, language_or_path: &str) -> Option<Language> {
    if text.len() > MAX_HIGHLIGHTED_BYTES || language_or_path.is_empty() {
        return None;
    }
    let is_path = language_or_path.contains(['/', '\\', '.']) && !language_or_path.starts_with(['{', '.']);
    if is_path { Language::of_path(language_or_path) } else { Language::named(language_or_path) }
}

impl HtmlWriter {
    /// Writes the shown lines of a text as code.
    fn code(&mut self, fit: &ClippedText<'_>, language: Option<Language>) {
        let mut highlighter = language.map(Highlighter::new);
        self.code_lines(&fit.head, highlighter.as_mut());
        if let Some(gap) = fit.gap {
            self.gap(gap);
            self.raw("\n");
            highlighter.iter_mut().for_each(Highlighter::restart);
        }
        self.code_lines(&fit.tail, highlighter.as_mut());
    }

    fn code_lines(&mut self, lines: &[ClippedLine<'_>], mut highlighter: Option<&mut Highlighter>) {
        for line in lines {
            match line.left_out {
                0 => self.code_line(line.start, highlighter.as_deref_mut()),
                _ => self.line(line),
            }
            self.raw("\n");
        }
    }

    /// Writes the code of a fence.
    fn fence(&mut self, text: &str, name: &str, may_highlight: bool) {
        let language = if may_highlight { language(text, name) } else { None };
        self.open("pre", "code");
        if !name.is_empty() {
            self.open("span", "lang");
            self.html(&line(name));
            self.close("span");
        }
        self.open("code", "");
        self.code(&fit(text, &TEXT_LIMITS), language);
        self.close("code");
        self.close("pre");
    }
}

/// Returns whether a character between `before` and `after` must be made visible. Line feeds and tabs need not be.
fn is_hidden(c: char, before: Option<char>, after: Option<char>) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => false,
        // Joiners are needed in emoji and many scripts; between ASCII characters they only hide.
        '\u{200c}' | '\u{200d}' => !(joins(before) && joins(after)),
        // Selects the text or emoji form of the preceding character.
        '\u{fe0e}' | '\u{fe0f}' => !before.is_some_and(|c| joins(Some(c)) || matches!(c, '0'..='9' | '#' | '*')),
        _ => is_never_seen(c),
    }
}

/// Returns whether a joiner next to the character has an effect.
fn joins(c: Option<char>) -> bool {
    c.is_some_and(|c| {
        c > '\u{a0}' && (matches!(c, '\u{fe0f}') || !is_never_seen(c)) && !matches!(c, '\u{200c}' | '\u{200d}')
    })
}

fn is_never_seen(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}'
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::is_hidden;

    #[test]
    fn what_is_seen_is_left_alone() {
        for c in "aä\n\t 漢🎉é".chars() {
            assert!(!is_hidden(c, Some('a'), Some('b')), "{c:?}");
        }
        assert!(!is_hidden('\u{200d}', Some('👩'), Some('💻')));
        assert!(!is_hidden('\u{200d}', Some('\u{fe0f}'), Some('🔥')));
        assert!(!is_hidden('\u{fe0f}', Some('❤'), None));
        assert!(!is_hidden('\u{fe0f}', Some('1'), None));
        assert!(!is_hidden('\u{200c}', Some('ی'), Some('خ')));
    }

    #[test]
    fn what_hides_is_shown() {
        for c in "\0\u{1b}\r\u{7f}\u{9b}\u{202e}\u{2066}\u{200b}\u{feff}\u{ad}\u{e0041}\u{3164}".chars() {
            assert!(is_hidden(c, Some('a'), Some('b')), "{c:?}");
        }
        assert!(is_hidden('\u{200d}', Some('a'), Some('b')));
        assert!(is_hidden('\u{200d}', Some('👩'), Some('\u{200d}')));
        assert!(is_hidden('\u{fe0f}', Some('a'), None));
    }
}
