//! Renders Markdown events to HTML. Every element is closed, however deep the nesting and wherever the text ends.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Tag};

use super::links::{find, is_safe, looks_like_address, says_where};
use crate::html::writer::HtmlWriter;

/// Deeper elements are not opened; only their text is written.
const MAX_DEPTH: usize = 40;
/// Rendering stops after this many events or bytes of HTML.
const MAX_EVENTS: usize = 50_000;
const MAX_HTML_BYTES: usize = 1 << 20;
/// The maximum number of bytes of code to highlight.
const MAX_HIGHLIGHTED_BYTES: usize = 200_000;
/// The maximum length of a URL shown after a link.
const MAX_SHOWN_URL_BYTES: usize = 200;

/// An open Markdown element.
enum OpenTag {
    /// An HTML element.
    Element(&'static str),
    /// An element that is not written: too deep, or not supported.
    Nothing,
    /// A fence and its language.
    Fence(String),
    /// A link and its target.
    Link(String),
    /// An image and its URL.
    Image(String),
}

/// Renders Markdown events.
pub(super) struct MarkdownRenderer<'a> {
    out: &'a mut HtmlWriter,
    open: Vec<OpenTag>,
    /// The text of the open fence, link or image.
    held: String,
    in_head: bool,
    /// The number of open links and images.
    links: usize,
    images: usize,
    events: usize,
    highlighted: usize,
}

impl<'a> MarkdownRenderer<'a> {
    pub(super) fn new(out: &'a mut HtmlWriter) -> Self {
        Self {
            out,
            open: Vec::new(),
            held: String::new(),
            in_head: false,
            links: 0,
            images: 0,
            events: 0,
            highlighted: 0,
        }
    }

    /// Handles an event; returns `false` if a limit is reached.
    pub(super) fn event(&mut self, event: Event<'_>) -> bool {
        self.events += 1;
        if self.events > MAX_EVENTS || self.out.len() > MAX_HTML_BYTES {
            return false;
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.close(),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.code(&code),
            Event::Html(html) | Event::InlineHtml(html) => self.markup(&html),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.leaf("<br>"),
            Event::Rule => self.leaf("<hr>"),
            Event::TaskListMarker(true) => self.leaf("<input type=\"checkbox\" disabled=\"\" checked=\"\"> "),
            Event::TaskListMarker(false) => self.leaf("<input type=\"checkbox\" disabled=\"\"> "),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
        }
        true
    }

    /// Closes all open elements, and notes if the text was not rendered to its end.
    pub(super) fn end(mut self) {
        let was_stopped = self.events > MAX_EVENTS || self.out.len() > MAX_HTML_BYTES;
        while !self.open.is_empty() {
            self.close();
        }
        if was_stopped {
            self.out.open("p", "");
            self.out.left_out("the rest left out");
            self.out.close("p");
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let opened = match tag {
            _ if self.in_image() => OpenTag::Nothing,
            Tag::CodeBlock(kind) => self.fence(kind),
            Tag::Link { dest_url, .. } => self.link(dest_url),
            Tag::Image { dest_url, .. } => self.image(dest_url),
            _ if self.open.len() >= MAX_DEPTH => OpenTag::Nothing,
            Tag::List(Some(start)) => self.numbered(start),
            tag => self.element(&tag),
        };
        self.open.push(opened);
    }

    fn element(&mut self, tag: &Tag<'_>) -> OpenTag {
        let Some(name) = name(tag, self.in_head) else { return OpenTag::Nothing };
        self.out.open(name, "");
        if matches!(tag, Tag::TableHead) {
            self.out.raw("<tr>");
            self.in_head = true;
        }
        OpenTag::Element(name)
    }

    fn numbered(&mut self, start: u64) -> OpenTag {
        self.out.raw("<ol");
        if start != 1 {
            self.out.attribute("start", &start.min(999_999_999).to_string());
        }
        self.out.raw(">");
        OpenTag::Element("ol")
    }

    fn fence(&mut self, kind: CodeBlockKind<'_>) -> OpenTag {
        self.held.clear();
        match kind {
            CodeBlockKind::Fenced(language) => OpenTag::Fence(language.into_string()),
            CodeBlockKind::Indented => OpenTag::Fence(String::new()),
        }
    }

    fn link(&mut self, address: CowStr<'_>) -> OpenTag {
        if self.in_link() {
            return OpenTag::Nothing;
        }
        if is_safe(&address) {
            self.out.anchor(&address);
        }
        self.held.clear();
        self.links += 1;
        OpenTag::Link(address.into_string())
    }

    fn image(&mut self, address: CowStr<'_>) -> OpenTag {
        if !self.in_link() {
            self.held.clear();
        }
        self.images += 1;
        OpenTag::Image(address.into_string())
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(OpenTag::Element(name)) => self.close_element(name),
            Some(OpenTag::Fence(language)) => self.close_fence(&language),
            Some(OpenTag::Link(address)) => self.close_link(&address),
            Some(OpenTag::Image(address)) => self.close_image(&address),
            Some(OpenTag::Nothing) | None => {}
        }
    }

    fn close_element(&mut self, name: &'static str) {
        match name {
            "thead" => {
                self.in_head = false;
                self.out.raw("</tr></thead><tbody>");
            }
            "table" => self.out.raw("</tbody></table>"),
            name => self.out.close(name),
        }
    }

    fn close_fence(&mut self, language: &str) {
        let text = std::mem::take(&mut self.held);
        self.highlighted += text.len();
        self.out.fence(&text, language, self.highlighted <= MAX_HIGHLIGHTED_BYTES);
    }

    /// Closes a link. The target is written after it if it cannot be followed or the text names another target.
    fn close_link(&mut self, address: &str) {
        self.links -= 1;
        let text = std::mem::take(&mut self.held);
        let leads = is_safe(address);
        if leads {
            self.out.close("a");
        }
        if !says_where(&text, address) && (!leads || looks_like_address(&text)) {
            self.whereto(address);
        }
    }

    fn whereto(&mut self, address: &str) {
        let (shown, rest) = address.split_at(address.floor_char_boundary(MAX_SHOWN_URL_BYTES));
        self.out.raw(" <span class=\"note\">(");
        self.out.text(shown);
        self.out.raw(if rest.is_empty() { ")</span>" } else { "…)</span>" });
    }

    /// Writes an image as a link. Remote images are not loaded, since that would reveal that the text was read.
    fn close_image(&mut self, address: &str) {
        self.images -= 1;
        if self.in_link() || self.in_image() {
            return;
        }
        let text = std::mem::take(&mut self.held);
        let is_safe = is_safe(address);
        if is_safe {
            self.out.anchor(address);
        }
        self.out.text("image: ");
        self.out.text(if text.is_empty() { address } else { &text });
        if is_safe {
            self.out.close("a");
        } else if !text.is_empty() {
            self.whereto(address);
        }
    }

    fn text(&mut self, text: &str) {
        match self.open.last() {
            Some(OpenTag::Fence(_)) => self.held.push_str(text),
            _ if self.in_image() && !self.in_link() => self.held.push_str(text),
            _ if self.in_link() => {
                self.held.push_str(text);
                self.out.text(text);
            }
            _ => self.linked(text),
        }
    }

    /// Writes text with URLs as links.
    fn linked(&mut self, text: &str) {
        let mut rest = text;
        while let Some((start, end)) = find(rest) {
            let (before, address) = rest.split_at(start);
            let (address, behind) = address.split_at(end - start);
            self.out.text(before);
            let is_safe = is_safe(address);
            if is_safe {
                self.out.anchor(address);
            }
            self.out.text(address);
            if is_safe {
                self.out.close("a");
            }
            rest = behind;
        }
        self.out.text(rest);
    }

    fn code(&mut self, code: &str) {
        if self.in_image() || self.in_link() {
            self.held.push_str(code);
        }
        if !self.in_image() {
            self.out.open("code", "");
            self.out.text(code);
            self.out.close("code");
        }
    }

    /// Writes HTML as text, except for line breaks, which models use in tables.
    fn markup(&mut self, html: &str) {
        let name = html.trim_matches(['<', '>', '/', ' ']);
        if name.eq_ignore_ascii_case("br") && html.starts_with('<') { self.leaf("<br>") } else { self.text(html) }
    }

    fn leaf(&mut self, markup: &'static str) {
        if !self.in_image() {
            self.out.raw(markup);
        }
    }

    fn in_image(&self) -> bool {
        self.images > 0
    }

    fn in_link(&self) -> bool {
        self.links > 0
    }
}

/// Returns the element name of a tag.
fn name(tag: &Tag<'_>, in_head: bool) -> Option<&'static str> {
    Some(match tag {
        Tag::Paragraph | Tag::HtmlBlock => "p",
        Tag::Heading { level, .. } => heading(*level),
        Tag::BlockQuote(_) => "blockquote",
        Tag::List(_) => "ul",
        Tag::Item => "li",
        Tag::Table(_) => "table",
        Tag::TableHead => "thead",
        Tag::TableRow => "tr",
        Tag::TableCell if in_head => "th",
        Tag::TableCell => "td",
        Tag::Emphasis => "em",
        Tag::Strong => "strong",
        Tag::Strikethrough => "del",
        _ => return None,
    })
}

fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "h1",
        HeadingLevel::H2 => "h2",
        HeadingLevel::H3 => "h3",
        HeadingLevel::H4 => "h4",
        HeadingLevel::H5 => "h5",
        HeadingLevel::H6 => "h6",
    }
}
