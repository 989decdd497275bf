//! Builds a body from pieces, one below the other.

use super::EntryBody;
use crate::html::{HtmlFragment, SafeHtml, element, join, line};

/// The pieces of a body, their number of lines, and whether something was cut.
#[derive(Default)]
pub(super) struct BodyBuilder {
    pieces: Vec<SafeHtml>,
    lines: u32,
    cut: bool,
}

impl BodyBuilder {
    /// Adds a piece of several lines.
    pub(super) fn add(&mut self, shown: HtmlFragment) {
        self.lines = self.lines.saturating_add(shown.lines);
        self.cut |= shown.cut;
        self.pieces.push(shown.html);
    }

    /// Adds a piece of one line.
    pub(super) fn line(&mut self, html: SafeHtml) {
        self.lines = self.lines.saturating_add(1);
        self.pieces.push(html);
    }

    /// Adds a note, if there is one.
    pub(super) fn note(&mut self, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            self.line(element("p", "note", &[line(text)]));
        }
    }

    /// Adds a piece that is folded until the user opens it.
    pub(super) fn folded(&mut self, title: &str, shown: HtmlFragment) {
        let summary = element("summary", "", &[line(title)]);
        self.cut |= shown.cut;
        self.line(element("details", "", &[summary, shown.html]));
    }

    /// Adds a note that something was cut.
    pub(super) fn cut(&mut self, what: &str) {
        self.cut = true;
        self.line(element("p", "cut", &[line(what)]));
    }

    pub(super) fn lines(&self) -> u32 {
        self.lines
    }

    pub(super) fn body(self, kind: &'static str, title: SafeHtml) -> EntryBody {
        EntryBody { kind, title, html: join(&self.pieces), size: self.lines, more: self.cut, ..EntryBody::default() }
    }

    /// Returns the pieces as one fragment.
    pub(super) fn shown(self) -> HtmlFragment {
        HtmlFragment { html: join(&self.pieces), lines: self.lines, cut: self.cut }
    }
}
