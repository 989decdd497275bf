//! Renders Markdown of an agent. HTML in it is shown as text, only web URLs are linked, and remote images become links.
//! The result also passes an independent sanitizer.

mod links;
mod render;
mod wall;

use pulldown_cmark::{Options, Parser, TextMergeStream};

pub(super) use links::is_safe;

use super::{HtmlFragment, cut::OmittedText, writer::HtmlWriter};
use render::MarkdownRenderer;

/// Longer texts are clipped to a head and a tail of these sizes.
const MAX_HEAD_BYTES: usize = 150_000;
const MAX_TAIL_BYTES: usize = 50_000;

#[must_use]
pub fn markdown(text: &str) -> HtmlFragment {
    let mut out = HtmlWriter::default();
    let (head, gap, tail) = ends(text);
    render(head, &mut out);
    if let Some(gap) = gap {
        out.open("p", "");
        out.gap(gap);
        out.close("p");
        render(tail, &mut out);
    }
    let lines = head.lines().chain(tail.lines()).map(|line| 1 + line.len() / 120).sum();
    let shown = out.shown(lines);
    HtmlFragment { html: wall::pass(&shown.html), ..shown }
}

fn render(text: &str, out: &mut HtmlWriter) {
    let mut render = MarkdownRenderer::new(out);
    for event in TextMergeStream::new(parser(text)) {
        if !render.event(event) {
            break;
        }
    }
    render.end();
}

/// Returns the parser for all Markdown.
pub(super) fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH)
}

/// Splits a long text into a head, a tail and the part between them, at paragraph boundaries.
fn ends(text: &str) -> (&str, Option<OmittedText>, &str) {
    if text.len() <= MAX_HEAD_BYTES + MAX_TAIL_BYTES {
        return (text, None, "");
    }
    let (head, _) = text.split_at(text.floor_char_boundary(MAX_HEAD_BYTES));
    let (head, rest) = text.split_at(head.rfind("\n\n").or_else(|| head.rfind('\n')).map_or(head.len(), |at| at + 1));
    let (_, tail) = rest.split_at(rest.ceil_char_boundary(rest.len() - MAX_TAIL_BYTES));
    let start = tail.find("\n\n").map(|at| at + 2).or_else(|| Some(tail.find('\n')? + 1)).unwrap_or(0);
    let (middle, tail) = rest.split_at(rest.len() - tail.len() + start);
    (head, Some(OmittedText { lines: middle.lines().count(), bytes: middle.len() }), tail)
}
