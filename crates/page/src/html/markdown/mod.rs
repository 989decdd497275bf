//! Renders Markdown of an agent. HTML in it is shown as text, only web URLs are linked, and remote images become links.
//! The result also passes an independent sanitizer.

mod links;
mod render;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};
use pulldown_cmark::{Event, Options, Parser, TextMergeStream};
use render::MarkdownRenderer;

use super::clip::OmittedText;
use super::writer::HtmlWriter;
use super::{HtmlFragment, SafeHtml};

pub(super) use links::is_safe;

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
    HtmlFragment { html: sanitize(&shown.html), ..shown }
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
fn parser(text: &str) -> Parser<'_> {
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

const ALLOWED_TAGS: &[&str] = &[
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "blockquote",
    "pre",
    "code",
    "em",
    "strong",
    "del",
    "a",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "hr",
    "br",
    "span",
    "div",
    "input",
];

const ALLOWED_CLASSES: &[(&str, &[&str])] = &[
    ("pre", &["code"]),
    (
        "span",
        &[
            "hl-keyword",
            "hl-string",
            "hl-comment",
            "hl-number",
            "hl-function",
            "hl-type",
            "hl-constant",
            "hl-operator",
            "hl-variable",
            "hl-tag",
            "hl-attribute",
            "hl-inserted",
            "hl-deleted",
            "ctl",
            "cut",
            "note",
            "lang",
        ],
    ),
];

static SANITIZER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let set = |list: &[&'static str]| list.iter().copied().collect::<HashSet<_>>();
    let mut sanitizer = Builder::empty();
    sanitizer
        .tags(set(ALLOWED_TAGS))
        .allowed_classes(ALLOWED_CLASSES.iter().map(|(tag, classes)| (*tag, set(classes))).collect())
        .tag_attributes(HashMap::from([
            ("a", set(&["href"])),
            ("ol", set(&["start"])),
            ("input", set(&["checked", "disabled"])),
        ]))
        .tag_attribute_values(HashMap::from([("input", HashMap::from([("type", set(&["checkbox"]))]))]))
        .set_tag_attribute_values(HashMap::from([
            ("a", HashMap::from([("target", "_blank")])),
            ("input", HashMap::from([("type", "checkbox"), ("disabled", "")])),
        ]))
        .url_schemes(set(&["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"));
    sanitizer
});

fn sanitize(html: &SafeHtml) -> SafeHtml {
    SafeHtml(SANITIZER.clean(html.as_str()).to_string())
}

/// Returns the length of the finished part of a growing text: up to the start of the last block that begins in a
/// complete line. An incomplete last line may still become part of the block before it.
#[must_use]
pub fn finished(text: &str) -> usize {
    let Some((whole, _)) = text.rfind('\n').map(|end| text.split_at(end + 1)) else { return 0 };
    let (mut depth, mut last, mut end) = (0_usize, 0, 0);
    for (event, range) in parser(whole).into_offset_iter() {
        let is_outermost = depth == 0;
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_outermost {
            (last, end) = (begin(whole, end, range.start), range.end);
        }
    }
    // Definitions at the end belong to the next block, which does not exist yet.
    let next = begin(whole, end, whole.len());
    line_start(whole, if next < whole.len() { next } else { last })
}

/// Returns the start of a block that follows another. Link definitions produce no block and belong to the next one.
fn begin(text: &str, end: usize, start: usize) -> usize {
    let between = text.get(end..start).unwrap_or_default();
    if between.trim().is_empty() { start } else { end + between.len() - between.trim_start().len() }
}

/// Returns the start of the line: text before a block in its line belongs to it. In Markdown a carriage return also
/// ends a line.
fn line_start(text: &str, place: usize) -> usize {
    text.get(..place).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::finished;

    #[track_caller]
    fn check(text: &str, done: &str) {
        assert_eq!(text.get(..finished(text)), Some(done), "{text:?}");
    }

    #[test]
    fn definitions_at_the_end_belong_to_the_next_block() {
        check("<\n\n[a]:   \n", "<\n\n");
        check("<\n\n[a]:   \n&\n", "<\n\n");
        check("one\n\n[a]: b\n\ntwo\n", "one\n\n");
    }

    #[test]
    fn the_last_block_is_never_finished() {
        check("", "");
        check("one", "");
        check("one\n", "");
        check("one\n\ntwo", "");
        check("one\n\ntwo\n", "one\n\n");
        check("# one\ntwo\n", "# one\n");
        check("one\n\n---\n", "one\n\n");
    }

    #[test]
    fn definitions_belong_to_what_follows() {
        check("a\n\n[x]: y\n\tb\nc\n", "a\n\n");
        check("[x]: y\n\nb\n\nc\n", "[x]: y\n\nb\n\n");
    }

    #[test]
    fn a_carriage_return_ends_a_line() {
        check("a\nb\r# c\n", "a\nb\r");
    }

    #[test]
    fn what_is_open_is_one_block() {
        check("a\n\n```\nx\n\ny\n\n# z\n", "a\n\n");
        check("a\n\n```\nx\n\n```\n\nb\n", "a\n\n```\nx\n\n```\n\n");
        check("- a\n\n- b\n\n  c\n", "");
        check("1. a\n\n2", "");
        check("> a\n>\n> b\n", "");
        check("| a |\n|---|\n| b |\n", "");
        check("<!--\n\na\n\n", "");
    }

    #[test]
    fn it_only_grows() {
        let text = "para\n\n- a\n- b\n\n```rust\nfn x() {}\n\n```\n\nend\n\nmore\n";
        let mut done = 0;
        for end in 0..=text.len() {
            // Finished text is not parsed again.
            done += finished(text.get(done..end).unwrap());
            assert!(done <= end);
        }
        assert_eq!(text.get(done..), Some("more\n"));
    }
}
