//! Pieces of messages: text, code, images, files.

use switchboard_event::{Content, ContentType, Details, Item};

use super::pile::Pile;
use crate::html::{Shown, code, element, image, line, link, markdown, plain, words};

/// Gives the address of the n-th image of an item, from 0, as [`picture`] counts them; none if it cannot be shown.
pub type Address<'a> = dyn Fn(usize) -> Option<String> + 'a;

/// Images that are shown; anything else may be a program.
const SHOWN: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The n-th image of an item, from 0.
#[must_use]
pub fn picture(item: &Item, n: usize) -> Option<&Content> {
    all(item).filter(|content| is_picture(content)).nth(n)
}

/// All pieces that an item has, in the order in which they are shown.
fn all(item: &Item) -> impl Iterator<Item = &Content> {
    let said = match &item.details {
        Details::UserMessage(message) => message.content.as_slice(),
        Details::AgentMessage(message) => message.content.as_slice(),
        _ => &[],
    };
    let given = item.call.as_ref().map_or(&[][..], |call| call.content.as_slice());
    said.iter().chain(given)
}

/// An image with bytes that a browser shows.
fn is_picture(content: &Content) -> bool {
    let is_known = content.media_type.as_deref().is_some_and(|media| SHOWN.contains(&media));
    content.kind == ContentType::Image && content.data.is_some() && is_known
}

/// Shows pieces, and counts the images among them.
pub(super) struct Pieces<'a> {
    address: &'a Address<'a>,
    pictures: usize,
    text: fn(&str) -> Shown,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(address: &'a Address<'a>) -> Self {
        Self { address, pictures: 0, text: markdown }
    }

    /// The same, with texts as they were written: people do not think of Markdown when they type an asterisk.
    pub(super) fn as_written(address: &'a Address<'a>) -> Self {
        Self { text: plain, ..Self::new(address) }
    }

    pub(super) fn show(&mut self, pile: &mut Pile, content: &[Content]) {
        content.iter().for_each(|piece| self.piece(pile, piece));
    }

    fn piece(&mut self, pile: &mut Pile, content: &Content) {
        let text = content.text.as_deref().unwrap_or_default();
        match content.kind {
            ContentType::Text => pile.add((self.text)(text)),
            ContentType::Code => pile.add(code(text, content.language.as_deref().unwrap_or_default())),
            ContentType::Image => self.image(pile, content),
            ContentType::File => file(pile, content),
            ContentType::Other => pile.add(code(text, "json")),
        }
    }

    fn image(&mut self, pile: &mut Pile, content: &Content) {
        let text = content.text.as_deref().unwrap_or("image");
        let address = if is_picture(content) {
            self.pictures += 1;
            (self.address)(self.pictures - 1)
        } else {
            None
        };
        match address.and_then(|address| image(&address, text)) {
            Some(html) => pile.add(Shown { html: element("p", "", &[html]), lines: 10, cut: false }),
            None => named(pile, "Image:", content),
        }
    }
}

/// A file: its name, or what is in it.
fn file(pile: &mut Pile, content: &Content) {
    match content.text.as_deref() {
        Some(text) if content.url.is_some() || text.contains('\n') => {
            pile.folded(content.url.as_deref().unwrap_or("file"), plain(text));
        }
        _ => named(pile, "File:", content),
    }
}

/// What it is and where, where no more can be shown.
fn named(pile: &mut Pile, what: &str, content: &Content) {
    let name =
        content.text.as_deref().or(content.url.as_deref()).or(content.media_type.as_deref()).unwrap_or("unnamed");
    let name = match content.url.as_deref() {
        Some(url) => link(url, name),
        None => line(name),
    };
    pile.line(element("p", "note", &[words(&[line(what), name])]));
}
