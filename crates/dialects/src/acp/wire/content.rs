//! Content blocks: text, images and resources.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

/// A block of content.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content<'a> {
    /// Text, which may be Markdown.
    Text(Text<'a>),
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Its bytes as base64.
        data: &'a str,
        /// Its media type.
        mime_type: &'a str,
        /// Where it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<&'a str>,
    },
    /// A file that is named and not given.
    #[serde(rename_all = "camelCase")]
    ResourceLink {
        /// What it is called.
        name: &'a str,
        /// Where it is.
        uri: &'a str,
        /// Its media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<&'a str>,
    },
}

/// Text, which may be Markdown.
#[derive(Serialize, JsonSchema)]
pub struct Text<'a> {
    /// The text.
    pub text: Cow<'a, str>,
}

pub fn text_content<'a>(text: impl Into<Cow<'a, str>>) -> Content<'a> {
    Content::Text(Text { text: text.into() })
}

impl<'a> Content<'a> {
    /// Converts a content piece of the event model; none if the protocol cannot express it.
    pub fn from_piece(piece: &'a switchboard_event::Content) -> Option<Self> {
        use switchboard_event::ContentType;
        let (said, url) = (piece.text.as_deref(), piece.url.as_deref());
        let mime_type = piece.media_type.as_deref();
        match (piece.kind, &piece.data, url) {
            (ContentType::Image, Some(data), uri) => {
                Some(Self::Image { data, mime_type: mime_type.unwrap_or("image/png"), uri })
            }
            (ContentType::Image | ContentType::File, _, Some(uri)) => {
                Some(Self::ResourceLink { name: said.unwrap_or(uri), uri, mime_type })
            }
            _ => said.map(text_content),
        }
    }
}
