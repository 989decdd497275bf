//! Pieces of a message: text, images, code, files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ContentType,
    /// Its text; of code, the code; of a file, its content or its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The language of code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The media type of an image or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its bytes as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Content {
    /// Creates a piece of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }
}

/// What a piece of a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContentType {
    /// Text.
    #[default]
    Text,
    /// An image.
    Image,
    /// Code.
    Code,
    /// A file or another resource.
    File,
    /// Something else; its text is the JSON it came as.
    #[serde(other)]
    Other,
}
