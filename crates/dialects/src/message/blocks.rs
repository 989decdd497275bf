//! Pieces of messages as content. What the protocol has no type for is an empty text, and kept in the metadata.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_event::{Content as Piece, ContentType, raw_string};

use super::wire::{Content, Dropped, ImageSource};

/// The content for the pieces of a message, and what there is no content for.
pub fn blocks(pieces: &[Piece]) -> (Vec<Content<'_>>, Dropped<'_>) {
    let mut dropped = Dropped::default();
    let blocks = pieces.iter().map(|piece| block(piece, &mut dropped)).collect();
    (blocks, dropped)
}

fn block<'a>(piece: &'a Piece, dropped: &mut Dropped<'a>) -> Content<'a> {
    let text = piece.text.as_deref();
    match piece.kind {
        ContentType::Text => Content::text(text.unwrap_or_default()),
        ContentType::Code => {
            let language = piece.language.as_deref().unwrap_or_default();
            Content::Code { language, code: text.unwrap_or_default() }
        }
        ContentType::Image => image(piece),
        ContentType::File => Content::text(text.or(piece.url.as_deref()).unwrap_or_default()),
        ContentType::Other => {
            let text = text.unwrap_or_default();
            drop_block(type_of(text), json(text), dropped)
        }
    }
}

/// An empty text in place of a block that there is no type for.
pub fn drop_block<'a>(kind: Cow<'a, str>, block: Cow<'a, RawValue>, dropped: &mut Dropped<'a>) -> Content<'a> {
    dropped.types.push(kind);
    dropped.blocks.push(block);
    Content::text("")
}

/// The protocol only knows images by their bytes; of others the address is told.
fn image(piece: &Piece) -> Content<'_> {
    let url = piece.url.as_deref().unwrap_or_default();
    let bytes = match &piece.data {
        Some(data) => Some((piece.media_type.as_deref().unwrap_or("image/png"), data.as_str())),
        None => url.strip_prefix("data:").and_then(|url| url.split_once(";base64,")),
    };
    match bytes {
        Some((media_type, data)) => Content::Image { source: ImageSource::Base64 { media_type, data } },
        None => Content::text(piece.text.as_deref().unwrap_or(url)),
    }
}

fn json(text: &str) -> Cow<'_, RawValue> {
    serde_json::from_str::<&RawValue>(text).map_or_else(|_| Cow::Owned(raw_string(text)), Cow::Borrowed)
}

/// The `type` of a block that is given as JSON.
fn type_of(text: &str) -> Cow<'static, str> {
    #[derive(Deserialize)]
    struct Tagged {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_str::<Tagged>(text).map_or(Cow::Borrowed("other"), |tagged| Cow::Owned(tagged.kind))
}
