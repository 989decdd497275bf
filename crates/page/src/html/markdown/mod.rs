//! Markdown of an agent. HTML in it is shown as text, addresses lead to the web or nowhere, and images of the web are
//! links. What is rendered passes a second wall before anybody sees it.

mod links;
mod render;
mod wall;

use pulldown_cmark::{Options, Parser, TextMergeStream};

pub(super) use links::is_safe;

use super::{Shown, cut::Gap, writer::Writer};
use render::Render;

/// Of longer texts only the beginning and the end are shown.
const HEAD: usize = 150_000;
const TAIL: usize = 50_000;

/// Markdown as HTML.
#[must_use]
pub fn markdown(text: &str) -> Shown {
    let mut out = Writer::default();
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
    Shown { html: wall::pass(&shown.html), ..shown }
}

fn render(text: &str, out: &mut Writer) {
    let mut render = Render::new(out);
    for event in TextMergeStream::new(parser(text)) {
        if !render.event(event) {
            break;
        }
    }
    render.end();
}

/// How all Markdown is read.
pub(super) fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH)
}

/// The beginning of a long text up to the end of a paragraph, the end of it from the beginning of one, and what is
/// between them.
fn ends(text: &str) -> (&str, Option<Gap>, &str) {
    if text.len() <= HEAD + TAIL {
        return (text, None, "");
    }
    let (head, _) = text.split_at(text.floor_char_boundary(HEAD));
    let (head, rest) = text.split_at(head.rfind("\n\n").or_else(|| head.rfind('\n')).map_or(head.len(), |at| at + 1));
    let (_, tail) = rest.split_at(rest.ceil_char_boundary(rest.len() - TAIL));
    let start = tail.find("\n\n").map(|at| at + 2).or_else(|| Some(tail.find('\n')? + 1)).unwrap_or(0);
    let (middle, tail) = rest.split_at(rest.len() - tail.len() + start);
    (head, Some(Gap { lines: middle.lines().count(), bytes: middle.len() }), tail)
}
