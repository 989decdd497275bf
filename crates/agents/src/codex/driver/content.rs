//! A prompt as the app-server takes it.

use std::path::PathBuf;

use serde::Serialize;

use crate::{Image, Prompt};

/// One part of a prompt.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Input<'a> {
    /// Words.
    Text {
        /// The words.
        text: &'a str,
    },
    /// An image as its bytes.
    Image {
        /// A `data:` address.
        url: String,
    },
    /// An image in a file.
    LocalImage {
        /// The file.
        path: &'a PathBuf,
    },
}

/// The parts of a prompt.
pub fn input(prompt: &Prompt) -> Vec<Input<'_>> {
    let text = Some(Input::Text { text: &prompt.text }).filter(|_| !prompt.text.is_empty());
    text.into_iter().chain(prompt.images.iter().map(image)).collect()
}

/// A file is named: its bytes need not go into the log twice.
fn image(image: &Image) -> Input<'_> {
    match image.path.as_ref().filter(|path| path.is_absolute()) {
        Some(path) => Input::LocalImage { path },
        None => Input::Image { url: format!("data:{};base64,{}", image.media_type, image.data) },
    }
}
