//! From the events of Markdown to HTML. What was opened is closed, however deep it is and wherever it ends.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Tag};

use super::links::{find, is_safe, looks_like_address, says_where};
use crate::html::writer::Writer;

/// Deeper elements are not opened; their text stands where it is.
const DEPTH: usize = 40;
/// A text of more events or more HTML ends here: no person reads that far.
const EVENTS: usize = 50_000;
const WRITTEN: usize = 1 << 20;
/// So many bytes of code are highlighted.
const HIGHLIGHTED: usize = 200_000;
/// So much of an address is shown behind a link.
const ADDRESS: usize = 200;

/// What is open.
enum Open {
    /// An element of ours.
    Element(&'static str),
    /// Nothing: too deep, or not of the kind that is shown.
    Nothing,
    /// A fence and its language.
    Fence(String),
    /// A link and where it leads.
    Link(String),
    /// An image and where it is.
    Image(String),
}

/// HTML that is being made of events.
pub(super) struct Render<'a> {
    out: &'a mut Writer,
    open: Vec<Open>,
    /// Text of the fence, the link or the image that is open.
    held: String,
    in_head: bool,
    /// How many links and images are open.
    links: usize,
    images: usize,
    events: usize,
    highlighted: usize,
}

impl<'a> Render<'a> {
    pub(super) fn new(out: &'a mut Writer) -> Self {
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

    /// One event; `false` if that was enough.
    pub(super) fn event(&mut self, event: Event<'_>) -> bool {
        self.events += 1;
        if self.events > EVENTS || self.out.len() > WRITTEN {
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

    /// Closes what is open. More of it means that the text was not shown to its end.
    pub(super) fn end(mut self) {
        let was_stopped = self.events > EVENTS || self.out.len() > WRITTEN;
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
            _ if self.in_image() => Open::Nothing,
            Tag::CodeBlock(kind) => self.fence(kind),
            Tag::Link { dest_url, .. } => self.link(dest_url),
            Tag::Image { dest_url, .. } => self.image(dest_url),
            _ if self.open.len() >= DEPTH => Open::Nothing,
            Tag::List(Some(start)) => self.numbered(start),
            tag => self.element(&tag),
        };
        self.open.push(opened);
    }

    fn element(&mut self, tag: &Tag<'_>) -> Open {
        let Some(name) = name(tag, self.in_head) else { return Open::Nothing };
        self.out.open(name, "");
        if matches!(tag, Tag::TableHead) {
            self.out.raw("<tr>");
            self.in_head = true;
        }
        Open::Element(name)
    }

    fn numbered(&mut self, start: u64) -> Open {
        self.out.raw("<ol");
        if start != 1 {
            self.out.attribute("start", &start.min(999_999_999).to_string());
        }
        self.out.raw(">");
        Open::Element("ol")
    }

    fn fence(&mut self, kind: CodeBlockKind<'_>) -> Open {
        self.held.clear();
        match kind {
            CodeBlockKind::Fenced(language) => Open::Fence(language.into_string()),
            CodeBlockKind::Indented => Open::Fence(String::new()),
        }
    }

    fn link(&mut self, address: CowStr<'_>) -> Open {
        if self.in_link() {
            return Open::Nothing;
        }
        if is_safe(&address) {
            self.out.anchor(&address);
        }
        self.held.clear();
        self.links += 1;
        Open::Link(address.into_string())
    }

    fn image(&mut self, address: CowStr<'_>) -> Open {
        if !self.in_link() {
            self.held.clear();
        }
        self.images += 1;
        Open::Image(address.into_string())
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::Element(name)) => self.close_element(name),
            Some(Open::Fence(language)) => self.close_fence(&language),
            Some(Open::Link(address)) => self.close_link(&address),
            Some(Open::Image(address)) => self.close_image(&address),
            Some(Open::Nothing) | None => {}
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
        self.out.fence(&text, language, self.highlighted <= HIGHLIGHTED);
    }

    /// Where a link leads is said behind it if it leads nowhere, or if its text says something else.
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
        let (shown, rest) = address.split_at(address.floor_char_boundary(ADDRESS));
        self.out.raw(" <span class=\"note\">(");
        self.out.text(shown);
        self.out.raw(if rest.is_empty() { ")</span>" } else { "…)</span>" });
    }

    /// Images of the web are not loaded: they would tell somebody that this was read.
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
            Some(Open::Fence(_)) => self.held.push_str(text),
            _ if self.in_image() && !self.in_link() => self.held.push_str(text),
            _ if self.in_link() => {
                self.held.push_str(text);
                self.out.text(text);
            }
            _ => self.linked(text),
        }
    }

    /// Text in which addresses are links.
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

    /// HTML is text, but for a line break: models write tables with it.
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

/// The element of a tag.
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
