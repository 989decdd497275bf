//! Converts message content. Types unknown to the protocol become empty text and are kept in the metadata.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_event::{Content as Piece, ContentType, to_raw_string};

use super::wire::{Content, Dropped, ImageSource};

/// Returns the content blocks for the pieces of a message, and the dropped blocks.
pub fn content_blocks(pieces: &[Piece]) -> (Vec<Content<'_>>, Dropped<'_>) {
    let mut dropped = Dropped::default();
    let blocks = pieces.iter().map(|piece| content_block(piece, &mut dropped)).collect();
    (blocks, dropped)
}

fn content_block<'a>(piece: &'a Piece, dropped: &mut Dropped<'a>) -> Content<'a> {
    let text = piece.text.as_deref();
    match piece.kind {
        ContentType::Text => Content::from_text(text.unwrap_or_default()),
        ContentType::Code => {
            let language = piece.language.as_deref().unwrap_or_default();
            Content::Code { language, code: text.unwrap_or_default() }
        }
        ContentType::Image => image_block(piece),
        ContentType::File => Content::from_text(text.or(piece.url.as_deref()).unwrap_or_default()),
        ContentType::Other => {
            let text = text.unwrap_or_default();
            drop_block(block_type(text), raw_json(text), dropped)
        }
    }
}

/// Records a block without a protocol type and returns the empty text that replaces it.
pub fn drop_block<'a>(kind: Cow<'a, str>, block: Cow<'a, RawValue>, dropped: &mut Dropped<'a>) -> Content<'a> {
    dropped.types.push(kind);
    dropped.blocks.push(block);
    Content::from_text("")
}

/// Converts an image. The protocol only supports embedded images; others are represented by their URL.
fn image_block(piece: &Piece) -> Content<'_> {
    let url = piece.url.as_deref().unwrap_or_default();
    let bytes = match &piece.data {
        Some(data) => Some((piece.media_type.as_deref().unwrap_or("image/png"), data.as_str())),
        None => url.strip_prefix("data:").and_then(|url| url.split_once(";base64,")),
    };
    match bytes {
        Some((media_type, data)) => Content::Image { source: ImageSource::Base64 { media_type, data } },
        None => Content::from_text(piece.text.as_deref().unwrap_or(url)),
    }
}

fn raw_json(text: &str) -> Cow<'_, RawValue> {
    serde_json::from_str::<&RawValue>(text).map_or_else(|_| Cow::Owned(to_raw_string(text)), Cow::Borrowed)
}

/// Returns the `type` of a block given as JSON.
fn block_type(text: &str) -> Cow<'static, str> {
    #[derive(Deserialize)]
    struct TypedBlock {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_str::<TypedBlock>(text).map_or(Cow::Borrowed("other"), |tagged| Cow::Owned(tagged.kind))
}
