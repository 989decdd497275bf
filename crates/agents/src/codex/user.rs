//! What the user says: a list of pieces, the same in requests and in items.

use switchboard_event::{Content, ContentType, UserMessage};

use super::names;
use crate::{Json, Object};

/// `[{type: text | image | localImage | audio | localAudio | skill | mention, …}]`; a plain text in older protocols.
pub fn message(input: Option<Json<'_>>) -> UserMessage {
    let Some(input) = input else { return UserMessage::default() };
    if let Some(text) = input.str() {
        return UserMessage::text(text);
    }
    UserMessage { content: input.array().into_iter().map(piece).collect(), ..UserMessage::default() }
}

fn piece(native: Json<'_>) -> Content {
    let fields = native.object();
    let kind = match fields.str("type").as_deref() {
        Some("text" | "input_text" | "output_text") => return Content::text(fields.str("text").unwrap_or_default()),
        Some("image" | "localImage" | "input_image") => ContentType::Image,
        Some("audio" | "localAudio" | "skill" | "mention") => ContentType::File,
        _ => {
            return Content { kind: ContentType::Other, text: Some(native.text().to_owned()), ..Content::default() };
        }
    };
    Content { kind, text: fields.filled("name"), url: place(&fields), ..Content::default() }
}

fn place(fields: &Object<'_>) -> Option<String> {
    names::string(fields, &["url", "path", "image_url", "fileId"])
}
