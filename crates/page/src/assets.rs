//! The files of the page, as they lie in the folder `assets`.

use std::borrow::Cow;

use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "assets"]
struct Files;

/// A file of the page.
#[derive(Clone, Debug)]
pub struct Asset {
    /// What is in it.
    pub bytes: Cow<'static, [u8]>,
    /// What tells it from other versions of it.
    pub tag: String,
    /// Its media type.
    pub media_type: &'static str,
}

/// The file of this path, such as `js/main.js`.
#[must_use]
pub fn asset(path: &str) -> Option<Asset> {
    let file = Files::get(path)?;
    let hash = file.metadata.sha256_hash();
    let tag = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    Some(Asset { bytes: file.data, tag, media_type: media_type(path)? })
}

/// The paths of all files.
pub fn paths() -> impl Iterator<Item = Cow<'static, str>> {
    Files::iter()
}

/// Only files of these kinds are given out.
fn media_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "webmanifest" => "application/manifest+json",
        _ => return None,
    })
}
