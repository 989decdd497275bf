//! Prompts in the format of the app-server.

use std::path::PathBuf;

use serde::Serialize;

use crate::{AgentPrompt, PromptImage};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum CodexPromptPart<'a> {
    Text {
        text: &'a str,
    },
    /// An inline image.
    Image {
        /// A `data:` URL.
        url: String,
    },
    LocalImage {
        path: &'a PathBuf,
    },
}

pub fn prompt_parts(prompt: &AgentPrompt) -> Vec<CodexPromptPart<'_>> {
    let text = Some(CodexPromptPart::Text { text: &prompt.text }).filter(|_| !prompt.text.is_empty());
    text.into_iter().chain(prompt.images.iter().map(image_part)).collect()
}

/// An image file is passed by its path, so that its bytes do not enter the log twice.
fn image_part(image: &PromptImage) -> CodexPromptPart<'_> {
    match image.path.as_ref().filter(|path| path.is_absolute()) {
        Some(path) => CodexPromptPart::LocalImage { path },
        None => CodexPromptPart::Image { url: format!("data:{};base64,{}", image.media_type, image.data) },
    }
}
