//! Content blocks: the pieces of prompts, messages and tool results.

use switchboard_event::{Content, ContentType};

use crate::{Json, Object};

/// One content block.
pub fn content(block: Json<'_>) -> Content {
    let fields = block.object();
    match fields.str("type").as_deref() {
        Some("text") => Content::text(fields.string("text").unwrap_or_default()),
        Some("image") => media(ContentType::Image, &fields),
        Some("audio") => media(ContentType::File, &fields),
        Some("resource_link") => Content {
            kind: ContentType::File,
            text: fields.filled("title").or_else(|| fields.filled("name")),
            media_type: fields.string("mimeType"),
            url: fields.string("uri"),
            ..Content::default()
        },
        Some("resource") => resource(&fields.object("resource")),
        _ => Content { kind: ContentType::Other, text: Some(block.text().to_owned()), ..Content::default() },
    }
}

fn media(kind: ContentType, fields: &Object<'_>) -> Content {
    Content {
        kind,
        media_type: fields.string("mimeType"),
        data: fields.string("data"),
        url: fields.string("uri"),
        ..Content::default()
    }
}

fn resource(fields: &Object<'_>) -> Content {
    Content {
        kind: ContentType::File,
        text: fields.string("text"),
        media_type: fields.string("mimeType"),
        data: fields.string("blob"),
        url: fields.string("uri"),
        ..Content::default()
    }
}

/// All content blocks of a list.
pub fn contents(blocks: Vec<Json<'_>>) -> Vec<Content> {
    blocks.into_iter().map(content).collect()
}

/// The text of text blocks, one a line.
pub fn text_of(contents: &[Content]) -> String {
    let texts = contents.iter().filter(|c| c.kind == ContentType::Text).filter_map(|c| c.text.as_deref());
    texts.collect::<Vec<_>>().join("\n")
}
