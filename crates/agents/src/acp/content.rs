//! Content blocks: the pieces of prompts, messages and tool results.

use switchboard_event::{Content, ContentType};

use crate::{JsonObject, JsonView};

pub fn content(block: JsonView<'_>) -> Content {
    let fields = block.as_object();
    match fields.get_str("type").as_deref() {
        Some("text") => Content::text(fields.get_string("text").unwrap_or_default()),
        Some("image") => media(ContentType::Image, &fields),
        Some("audio") => media(ContentType::File, &fields),
        Some("resource_link") => Content {
            kind: ContentType::File,
            text: fields.get_non_empty("title").or_else(|| fields.get_non_empty("name")),
            media_type: fields.get_string("mimeType"),
            url: fields.get_string("uri"),
            ..Content::default()
        },
        Some("resource") => resource(&fields.get_object("resource")),
        _ => Content { kind: ContentType::Other, text: Some(block.raw_text().to_owned()), ..Content::default() },
    }
}

fn media(kind: ContentType, fields: &JsonObject<'_>) -> Content {
    Content {
        kind,
        media_type: fields.get_string("mimeType"),
        data: fields.get_string("data"),
        url: fields.get_string("uri"),
        ..Content::default()
    }
}

fn resource(fields: &JsonObject<'_>) -> Content {
    Content {
        kind: ContentType::File,
        text: fields.get_string("text"),
        media_type: fields.get_string("mimeType"),
        data: fields.get_string("blob"),
        url: fields.get_string("uri"),
        ..Content::default()
    }
}

pub fn contents(blocks: Vec<JsonView<'_>>) -> Vec<Content> {
    blocks.into_iter().map(content).collect()
}

/// Returns the text of text blocks, one per line.
pub fn text_of(contents: &[Content]) -> String {
    let texts = contents.iter().filter(|c| c.kind == ContentType::Text).filter_map(|c| c.text.as_deref());
    texts.collect::<Vec<_>>().join("\n")
}
