//! Writes HTML: text is escaped here and nowhere else. Tags, classes and attribute names are trusted and therefore
//! `'static`.

use std::fmt::Write as _;

use super::markdown::is_safe;
use super::{HtmlFragment, SafeHtml, is_hidden};

/// The maximum number of hidden characters shown as code points; further ones become replacement characters.
const MAX_NUMBERED_CHARS: u32 = 1_000;

#[derive(Default)]
pub(super) struct HtmlWriter {
    out: String,
    /// The number of hidden characters shown as code points.
    numbered: u32,
    /// Whether something was omitted.
    pub(super) cut: bool,
}

impl HtmlWriter {
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Writes trusted markup.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// Writes HTML that is already safe.
    pub(super) fn html(&mut self, html: &SafeHtml) {
        self.out.push_str(&html.0);
    }

    /// Writes `<tag>` or `<tag class="…">`.
    pub(super) fn open(&mut self, tag: &'static str, class: &str) {
        self.out.push('<');
        self.out.push_str(tag);
        if !class.is_empty() {
            self.attribute("class", class);
        }
        self.out.push('>');
    }

    pub(super) fn close(&mut self, tag: &'static str) {
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
    }

    /// Writes ` name="value"` in a tag that was started as trusted markup.
    pub(super) fn attribute(&mut self, name: &'static str, value: &str) {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        self.address(value);
        self.out.push('"');
    }

    /// Writes an attribute value: escaped, with hidden characters percent-encoded.
    fn address(&mut self, value: &str) {
        for c in value.chars() {
            match escape(c) {
                Some(escaped) => self.out.push_str(escaped),
                None if is_hidden(c, None, None) || c.is_whitespace() && c != ' ' => {
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        self.push_fmt(format_args!("%{byte:02X}"));
                    }
                }
                None => self.out.push(c),
            }
        }
    }

    /// Writes the start tag of a link to a safe URL.
    pub(super) fn anchor(&mut self, address: &str) {
        self.raw("<a");
        self.attribute("href", address);
        self.raw(" rel=\"noopener noreferrer nofollow\" target=\"_blank\">");
    }

    pub(super) fn number(&mut self, number: u64) {
        self.push_fmt(format_args!("{number}"));
    }

    fn push_fmt(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ok = self.out.write_fmt(text).is_ok();
    }

    /// Writes escaped text, with hidden characters as code points.
    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.bytes().position(is_special) {
            let (fine, special) = rest.split_at(at);
            self.out.push_str(fine);
            rest = self.special(special, fine.chars().next_back());
        }
        self.out.push_str(rest);
    }

    /// Writes the special characters at the start of a text and returns the rest.
    fn special<'a>(&mut self, text: &'a str, before: Option<char>) -> &'a str {
        let mut before = before;
        let mut chars = text.chars();
        while let Some(c) = chars.clone().next() {
            if !u8::try_from(c).map_or(true, is_special) {
                break;
            }
            chars.next();
            if let Some(escaped) = escape(c) {
                self.out.push_str(escaped);
            } else if is_hidden(c, before, chars.clone().next()) {
                let run = 1 + chars.clone().take_while(|next| *next == c).count();
                chars = take(chars, run - 1);
                self.hidden(c, run);
            } else {
                self.out.push(c);
            }
            before = Some(c);
        }
        chars.as_str()
    }

    fn hidden(&mut self, c: char, run: usize) {
        if self.numbered >= MAX_NUMBERED_CHARS {
            self.out.push(char::REPLACEMENT_CHARACTER);
            return;
        }
        self.numbered += 1;
        self.push_fmt(format_args!("<span class=\"ctl\">U+{:04X}", u32::from(c)));
        if run > 1 {
            self.push_fmt(format_args!("×{run}"));
        }
        self.raw("</span>");
    }

    /// Returns the HTML as a fragment.
    pub(super) fn shown(self, lines: usize) -> HtmlFragment {
        let lines = u32::try_from(lines).unwrap_or(u32::MAX);
        HtmlFragment { cut: self.cut, lines, html: SafeHtml(self.out) }
    }

    fn finish(self) -> SafeHtml {
        SafeHtml(self.out)
    }
}

fn take(mut chars: std::str::Chars<'_>, count: usize) -> std::str::Chars<'_> {
    for _ in 0..count {
        chars.next();
    }
    chars
}

/// Returns whether a byte may need escaping; plain ASCII does not.
fn is_special(byte: u8) -> bool {
    !matches!(byte, b'\n' | b'\t' | b' '..=b'~') || matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'')
}

fn escape(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&#39;",
        _ => return None,
    })
}

/// The maximum length of a title or a name.
const MAX_TITLE_CHARS: usize = 300;

/// Renders text as one line: line ends become spaces, and long text is cut.
#[must_use]
pub fn line(text: &str) -> SafeHtml {
    let mut out = HtmlWriter::default();
    let text = text.trim();
    let end = text.char_indices().nth(MAX_TITLE_CHARS).map_or(text.len(), |(end, _)| end);
    let (shown, rest) = text.split_at(end);
    for (at, word) in shown.split(['\n', '\r', '\t']).filter(|word| !word.is_empty()).enumerate() {
        if at > 0 {
            out.raw(" ");
        }
        out.text(word);
    }
    if !rest.is_empty() {
        out.raw("…");
    }
    out.finish()
}

/// Wraps HTML in an element, with a class unless that is empty. Tag and class are trusted.
#[must_use]
pub fn element(tag: &'static str, class: &'static str, inner: &[SafeHtml]) -> SafeHtml {
    let mut out = HtmlWriter::default();
    out.open(tag, class);
    inner.iter().for_each(|inner| out.html(inner));
    out.close(tag);
    out.finish()
}

#[must_use]
pub fn join(pieces: &[SafeHtml]) -> SafeHtml {
    let mut out = HtmlWriter::default();
    pieces.iter().for_each(|piece| out.html(piece));
    out.finish()
}

/// Joins the pieces that are not empty with spaces.
#[must_use]
pub fn words(pieces: &[SafeHtml]) -> SafeHtml {
    let mut out = HtmlWriter::default();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        if out.len() > 0 {
            out.raw(" ");
        }
        out.html(piece);
    }
    out.finish()
}

/// Renders a web link; only its text if the URL is not safe.
#[must_use]
pub fn link(address: &str, text: &str) -> SafeHtml {
    let mut out = HtmlWriter::default();
    let is_safe = is_safe(address);
    if is_safe {
        out.anchor(address);
    }
    out.html(&line(text));
    if is_safe {
        out.close("a");
    }
    out.finish()
}

/// Renders an image of this server; `None` if the URL is not local.
#[must_use]
pub fn image(address: &str, text: &str) -> Option<SafeHtml> {
    let is_ours = address.starts_with('/') && !address.starts_with("//");
    let is_plain = address.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~%:".contains(&byte));
    if !is_ours || !is_plain {
        return None;
    }
    let mut out = HtmlWriter::default();
    out.raw("<img");
    out.attribute("src", address);
    out.attribute("alt", text);
    out.attribute("loading", "lazy");
    out.raw(">");
    Some(out.finish())
}
