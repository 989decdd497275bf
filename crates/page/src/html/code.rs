//! Renders code: a file, a command, JSON.

use super::{
    HtmlFragment, SafeHtml,
    cut::{ClippedLine, ClippedText, TEXT_LIMITS, fit},
    highlight::{Highlighter, Language},
    parts::{element, line},
    writer::HtmlWriter,
};

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
    pub(super) fn fence(&mut self, text: &str, name: &str, may_highlight: bool) {
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
