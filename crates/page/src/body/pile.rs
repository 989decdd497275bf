//! Pieces of a body, one below the other.

use super::Body;
use crate::html::{Html, Shown, element, join, line};

/// Pieces, how many lines they have, and whether something is missing in them.
#[derive(Default)]
pub(super) struct Pile {
    pieces: Vec<Html>,
    lines: u32,
    cut: bool,
}

impl Pile {
    /// A piece that may be long.
    pub(super) fn add(&mut self, shown: Shown) {
        self.lines = self.lines.saturating_add(shown.lines);
        self.cut |= shown.cut;
        self.pieces.push(shown.html);
    }

    /// A piece of a line.
    pub(super) fn line(&mut self, html: Html) {
        self.lines = self.lines.saturating_add(1);
        self.pieces.push(html);
    }

    /// A note, if there is one.
    pub(super) fn note(&mut self, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            self.line(element("p", "note", &[line(text)]));
        }
    }

    /// A piece that opens when somebody wants to see it.
    pub(super) fn folded(&mut self, title: &str, shown: Shown) {
        let summary = element("summary", "", &[line(title)]);
        self.cut |= shown.cut;
        self.line(element("details", "", &[summary, shown.html]));
    }

    /// Something is missing.
    pub(super) fn cut(&mut self, what: &str) {
        self.cut = true;
        self.line(element("p", "cut", &[line(what)]));
    }

    pub(super) fn lines(&self) -> u32 {
        self.lines
    }

    /// A body of these pieces.
    pub(super) fn body(self, kind: &'static str, title: Html) -> Body {
        Body { kind, title, html: join(&self.pieces), size: self.lines, more: self.cut, ..Body::default() }
    }

    /// The same as one piece.
    pub(super) fn shown(self) -> Shown {
        Shown { html: join(&self.pieces), lines: self.lines, cut: self.cut }
    }
}
