//! The files of the page, from the directory `assets`. Comments and indentation are stripped before serving.

use std::borrow::Cow;

use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "assets"]
struct AssetFiles;

/// A file of the page.
#[derive(Clone, Debug)]
pub struct Asset {
    pub bytes: Cow<'static, [u8]>,
    /// The version tag, a hash of the content.
    pub tag: String,
    pub media_type: &'static str,
}

/// Returns the file with a path such as `js/main.js`.
#[must_use]
pub fn asset(path: &str) -> Option<Asset> {
    let file = AssetFiles::get(path)?;
    let hash = file.metadata.sha256_hash();
    let tag = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    let bytes = str::from_utf8(&file.data).map_or_else(|_| file.data.to_vec(), |text| lean(text).into_bytes());
    Some(Asset { bytes: bytes.into(), tag, media_type: media_type(path)? })
}

/// Removes indentation, empty lines and comment lines.
fn lean(text: &str) -> String {
    let is_comment = |line: &str| line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

pub fn paths() -> impl Iterator<Item = Cow<'static, str>> {
    AssetFiles::iter()
}

/// Returns the media type of a path; files of other types are not served.
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

#[cfg(test)]
mod tests {
    use super::{AssetFiles, asset, lean, paths};

    #[test]
    fn what_browsers_do_not_need_is_left_out() {
        assert_eq!(
            lean("// why\nlet a = 1; // kept\n\n  b(`//`);\n/* all */\nc { d: e; }"),
            "let a = 1; // kept\nb(`//`);\nc { d: e; }\n"
        );
    }

    #[test]
    fn no_text_of_a_script_spans_lines() {
        // A string over several lines would lose its indentation.
        for path in paths().filter(|path| path.ends_with(".js")) {
            let file = AssetFiles::get(&path).map(|file| file.data).unwrap_or_default();
            let text = String::from_utf8_lossy(&file).into_owned();
            let open = text.lines().find(|line| !line.trim().starts_with("//") && line.matches('`').count() % 2 == 1);
            assert_eq!(open, None, "{path}");
        }
    }

    #[test]
    fn the_page_weighs_little() {
        let weight: usize = paths().filter_map(|path| asset(&path)).map(|asset| asset.bytes.len()).sum();
        assert!(weight > 10_000 && weight < 150_000, "{weight} bytes");
    }
}
