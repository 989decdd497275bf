//! Messages and reasoning, with their text, images and files.

use switchboard_event::{AgentMessage, Content, ContentType, Details, Item, Reasoning, UserMessage};

use super::tool_calls::returned;
use super::{BodyBuilder, EntryBody};
use crate::html::{HtmlFragment, SafeHtml, code, element, image, line, link, markdown, plain, words};

/// Renders a message of the user, or one that the agent added in the user's name.
pub(super) fn user(message: &UserMessage, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    ContentRenderer::as_written(address).show(&mut builder, &message.content);
    let mut body = builder.body("user", SafeHtml::default());
    body.fold = message.synthetic;
    body.label = match (message.synthetic, message.queued) {
        (true, _) => Some("added by the agent".to_owned()),
        (false, true) => Some("said while it was working".to_owned()),
        (false, false) => None,
    };
    body
}

pub(super) fn agent(item: &Item, message: &AgentMessage, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    if !message.text.is_empty() {
        builder.add(markdown(&message.text));
    }
    ContentRenderer::new(address).show(&mut builder, &message.content);
    if message.truncated {
        builder.cut("There was more text than was kept.");
    }
    returned(&mut builder, item, address);
    let mut body = builder.body("answer", SafeHtml::default());
    body.label = message.refusal.then(|| "refused".to_owned());
    body
}

/// Renders reasoning, folded.
pub(super) fn reasoning(reasoning: &Reasoning) -> EntryBody {
    let mut builder = BodyBuilder::default();
    // The summary represents the full reasoning where both exist.
    let texts = [reasoning.summary.as_deref(), reasoning.text.as_deref()];
    let texts: Vec<&str> = texts.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
    match texts.as_slice() {
        [summary, text] if summary != text => {
            builder.add(markdown(summary));
            builder.folded("All of it", markdown(text));
        }
        [text, ..] => builder.add(markdown(text)),
        [] if reasoning.redacted => builder.note(Some("The provider keeps these thoughts to itself.")),
        [] => {}
    }
    if reasoning.truncated {
        builder.cut("There was more text than was kept.");
    }
    let heading = texts.first().and_then(|text| heading(text)).unwrap_or("Thinking");
    let mut body = builder.body("reasoning", line(heading));
    body.fold = true;
    body
}

/// Returns the bold first line that reasoning often starts with.
fn heading(text: &str) -> Option<&str> {
    let first = text.trim_start().lines().next()?.trim();
    let bold = first.strip_prefix("**")?.strip_suffix("**")?;
    (!bold.contains("**")).then_some(bold)
}

/// Returns the URL of the n-th image of an item, from 0, as [`picture`] counts them; `None` if it cannot be shown.
pub type ImageUrlFn<'a> = dyn Fn(usize) -> Option<String> + 'a;

/// The image types to show; others, such as SVG, may contain scripts.
const SHOWN_IMAGE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns the n-th image of an item, from 0.
#[must_use]
pub fn picture(item: &Item, n: usize) -> Option<&Content> {
    all_content(item).filter(|content| is_picture(content)).nth(n)
}

/// Returns all content of an item, in the order in which it is shown.
fn all_content(item: &Item) -> impl Iterator<Item = &Content> {
    let message_content = match &item.details {
        Details::UserMessage(message) => message.content.as_slice(),
        Details::AgentMessage(message) => message.content.as_slice(),
        _ => &[],
    };
    let given = item.call.as_ref().map_or(&[][..], |call| call.content.as_slice());
    message_content.iter().chain(given)
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
    fn as_written(address: &'a ImageUrlFn<'a>) -> Self {
        Self { text: plain, ..Self::new(address) }
    }

    pub(super) fn show(&mut self, builder: &mut BodyBuilder, content: &[Content]) {
        content.iter().for_each(|piece| self.piece(builder, piece));
    }

    fn piece(&mut self, builder: &mut BodyBuilder, content: &Content) {
        let text = content.text.as_deref().unwrap_or_default();
        match content.kind {
            ContentType::Text => builder.add((self.text)(text)),
            ContentType::Code => builder.add(code(text, content.language.as_deref().unwrap_or_default())),
            ContentType::Image => self.image(builder, content),
            ContentType::File => add_file(builder, content),
            ContentType::Other => builder.add(code(text, "json")),
        }
    }

    fn image(&mut self, builder: &mut BodyBuilder, content: &Content) {
        let text = content.text.as_deref().unwrap_or("image");
        let address = if is_picture(content) {
            self.pictures += 1;
            (self.address)(self.pictures - 1)
        } else {
            None
        };
        match address.and_then(|address| image(&address, text)) {
            Some(html) => builder.add(HtmlFragment { html: element("p", "", &[html]), lines: 10, cut: false }),
            None => add_name(builder, "Image:", content),
        }
    }
}

/// Renders a file: its name or its content.
fn add_file(builder: &mut BodyBuilder, content: &Content) {
    match content.text.as_deref() {
        Some(text) if content.url.is_some() || text.contains('\n') => {
            builder.folded(content.url.as_deref().unwrap_or("file"), plain(text));
        }
        _ => add_name(builder, "File:", content),
    }
}

/// Renders only the name and link of content that cannot be shown.
fn add_name(builder: &mut BodyBuilder, what: &str, content: &Content) {
    let name =
        content.text.as_deref().or(content.url.as_deref()).or(content.media_type.as_deref()).unwrap_or("unnamed");
    let name = match content.url.as_deref() {
        Some(url) => link(url, name),
        None => line(name),
    };
    builder.line(element("p", "note", &[words(&[line(what), name])]));
}
