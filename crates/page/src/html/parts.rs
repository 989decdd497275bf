//! Putting together HTML of parts that are safe.

use super::{Html, markdown::is_safe, writer::Writer};

/// So many characters of a title or a name are shown.
const TITLE: usize = 300;

/// One line of text: line ends are spaces, and what is long is cut.
#[must_use]
pub fn line(text: &str) -> Html {
    let mut out = Writer::default();
    let text = text.trim();
    let end = text.char_indices().nth(TITLE).map_or(text.len(), |(end, _)| end);
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

/// An element with a class, or none if it is empty, around some HTML. Tag and class are ours.
#[must_use]
pub fn element(tag: &'static str, class: &'static str, inner: &[Html]) -> Html {
    let mut out = Writer::default();
    out.open(tag, class);
    inner.iter().for_each(|inner| out.html(inner));
    out.close(tag);
    out.finish()
}

/// Pieces one behind the other.
#[must_use]
pub fn join(pieces: &[Html]) -> Html {
    let mut out = Writer::default();
    pieces.iter().for_each(|piece| out.html(piece));
    out.finish()
}

/// Pieces with a space between those that are not empty.
#[must_use]
pub fn words(pieces: &[Html]) -> Html {
    let mut out = Writer::default();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        if out.len() > 0 {
            out.raw(" ");
        }
        out.html(piece);
    }
    out.finish()
}

/// A link to the web; only its text if the address leads elsewhere.
#[must_use]
pub fn link(address: &str, text: &str) -> Html {
    let mut out = Writer::default();
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

/// An image of ours; none if the address is not one of this server.
#[must_use]
pub fn image(address: &str, text: &str) -> Option<Html> {
    let is_ours = address.starts_with('/') && !address.starts_with("//");
    let is_plain = address.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~%:".contains(&byte));
    if !is_ours || !is_plain {
        return None;
    }
    let mut out = Writer::default();
    out.raw("<img");
    out.attribute("src", address);
    out.attribute("alt", text);
    out.attribute("loading", "lazy");
    out.raw(">");
    Some(out.finish())
}
