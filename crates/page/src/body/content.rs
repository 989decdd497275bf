//! Content of messages: text, code, images, files.

use switchboard_event::{Content, ContentType, Details, Item};

use super::pile::BodyBuilder;
use crate::html::{HtmlFragment, code, element, image, line, link, markdown, plain, words};

/// Returns the URL of the n-th image of an item, from 0, as [`picture`] counts them; `None` if it cannot be shown.
pub type ImageUrlFn<'a> = dyn Fn(usize) -> Option<String> + 'a;

/// The image types to show; others, such as SVG, may contain scripts.
const SHOWN_IMAGE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns the n-th image of an item, from 0.
#[must_use]
pub fn picture(item: &Item, n: usize) -> Option<&Content> {
    all(item).filter(|content| is_picture(content)).nth(n)
}

/// Returns all content of an item, in the order in which it is shown.
fn all(item: &Item) -> impl Iterator<Item = &Content> {
    let said = match &item.details {
        Details::UserMessage(message) => message.content.as_slice(),
        Details::AgentMessage(message) => message.content.as_slice(),
        _ => &[],
    };
    let given = item.call.as_ref().map_or(&[][..], |call| call.content.as_slice());
    said.iter().chain(given)
}

fn is_picture(content: &Content) -> bool {
    let is_known = content.media_type.as_deref().is_some_and(|media| SHOWN_IMAGE_TYPES.contains(&media));
    content.kind == ContentType::Image && content.data.is_some() && is_known
}

/// Renders content and counts the images.
pub(super) struct ContentRenderer<'a> {
    address: &'a ImageUrlFn<'a>,
    pictures: usize,
    text: fn(&str) -> HtmlFragment,
}

impl<'a> ContentRenderer<'a> {
    pub(super) fn new(address: &'a ImageUrlFn<'a>) -> Self {
        Self { address, pictures: 0, text: markdown }
    }

    /// Creates a renderer that shows text literally: people do not mean Markdown when they type an asterisk.
    pub(super) fn as_written(address: &'a ImageUrlFn<'a>) -> Self {
        Self { text: plain, ..Self::new(address) }
    }

    pub(super) fn show(&mut self, pile: &mut BodyBuilder, content: &[Content]) {
        content.iter().for_each(|piece| self.piece(pile, piece));
    }

    fn piece(&mut self, pile: &mut BodyBuilder, content: &Content) {
        let text = content.text.as_deref().unwrap_or_default();
        match content.kind {
            ContentType::Text => pile.add((self.text)(text)),
            ContentType::Code => pile.add(code(text, content.language.as_deref().unwrap_or_default())),
            ContentType::Image => self.image(pile, content),
            ContentType::File => file(pile, content),
            ContentType::Other => pile.add(code(text, "json")),
        }
    }

    fn image(&mut self, pile: &mut BodyBuilder, content: &Content) {
        let text = content.text.as_deref().unwrap_or("image");
        let address = if is_picture(content) {
            self.pictures += 1;
            (self.address)(self.pictures - 1)
        } else {
            None
        };
        match address.and_then(|address| image(&address, text)) {
            Some(html) => pile.add(HtmlFragment { html: element("p", "", &[html]), lines: 10, cut: false }),
            None => named(pile, "Image:", content),
        }
    }
}

/// Renders a file: its name or its content.
fn file(pile: &mut BodyBuilder, content: &Content) {
    match content.text.as_deref() {
        Some(text) if content.url.is_some() || text.contains('\n') => {
            pile.folded(content.url.as_deref().unwrap_or("file"), plain(text));
        }
        _ => named(pile, "File:", content),
    }
}

/// Renders only the name and link of content that cannot be shown.
fn named(pile: &mut BodyBuilder, what: &str, content: &Content) {
    let name =
        content.text.as_deref().or(content.url.as_deref()).or(content.media_type.as_deref()).unwrap_or("unnamed");
    let name = match content.url.as_deref() {
        Some(url) => link(url, name),
        None => line(name),
    };
    pile.line(element("p", "note", &[words(&[line(what), name])]));
}
