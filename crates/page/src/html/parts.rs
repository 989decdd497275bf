//! Combines safe HTML.

use super::{SafeHtml, markdown::is_safe, writer::HtmlWriter};

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
