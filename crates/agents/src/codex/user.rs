//! User messages: a list of parts, the same in requests and in items.

use switchboard_event::{Content, ContentType, UserMessage};

use super::names;
use crate::{JsonObject, JsonView};

/// Parses `[{type: text | image | localImage | audio | localAudio | skill | mention, …}]`, or the plain text of older
/// protocols.
pub fn parse_user_message(input: Option<JsonView<'_>>) -> UserMessage {
    let Some(input) = input else { return UserMessage::default() };
    if let Some(text) = input.as_str() {
        return UserMessage::text(text);
    }
    UserMessage { content: input.as_array().into_iter().map(parse_content).collect(), ..UserMessage::default() }
}

fn parse_content(native: JsonView<'_>) -> Content {
    let fields = native.as_object();
    let kind = match fields.get_str("type").as_deref() {
        Some("text" | "input_text" | "output_text") => {
            return Content::text(fields.get_str("text").unwrap_or_default());
        }
        Some("image" | "localImage" | "input_image") => ContentType::Image,
        Some("audio" | "localAudio" | "skill" | "mention") => ContentType::File,
        _ => {
            return Content {
                kind: ContentType::Other,
                text: Some(native.raw_text().to_owned()),
                ..Content::default()
            };
        }
    };
    Content { kind, text: fields.get_non_empty("name"), url: content_url(&fields), ..Content::default() }
}

fn content_url(fields: &JsonObject<'_>) -> Option<String> {
    names::first_string(fields, &["url", "path", "image_url", "fileId"])
}
