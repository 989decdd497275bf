//! What a client gives an agent to do and to look at, as a prompt.

use std::path::{Path, PathBuf};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use switchboard_agents::AgentPrompt;
use switchboard_dialects::harness::{RpcError, UserInput};
use switchboard_engine::paths::{LocateError, LocatedFile};

use super::refusal::refusal;
use crate::{
    Service,
    order::{ImageData, PromptRequest},
};

/// A file larger than this is no image that an agent takes.
const MAX_IMAGE_BYTES: u64 = 20 << 20;

/// The kinds of images, by the ends of their files' names.
const KINDS: [(&str, &str); 5] =
    [("png", "image/png"), ("jpg", "image/jpeg"), ("jpeg", "image/jpeg"), ("gif", "image/gif"), ("webp", "image/webp")];

/// A prompt out of its pieces: texts are joined with blank lines.
pub async fn prompt(service: &Service, input: Vec<UserInput>) -> Result<AgentPrompt, RpcError> {
    let (mut texts, mut images, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    for (place, piece) in input.into_iter().enumerate() {
        let bad = |why: &str| RpcError::bad_params(format!("input[{place}]: {why}"));
        match piece {
            UserInput::Text { text } => texts.push(text),
            UserInput::Image { url } => {
                images.push(of_address(&url).map_err(bad)?);
                paths.push(None);
            }
            UserInput::LocalImage { path } => {
                let (image, path) = of_file(service, &path).await.map_err(|why| bad(&why))?;
                images.push(image);
                paths.push(Some(path));
            }
        }
    }
    let texts: Vec<_> = texts.iter().map(String::as_str).filter(|text| !text.trim().is_empty()).collect();
    if texts.is_empty() {
        return Err(RpcError::bad_params("input: there is no text in it"));
    }
    let request = PromptRequest { prompt: texts.join("\n\n"), images, ..PromptRequest::default() };
    let mut prompt = request.prompt().map_err(refusal)?;
    prompt.images.iter_mut().zip(paths).for_each(|(image, path)| image.path = path);
    Ok(prompt)
}

/// An image that is its own address. Others would have to be fetched, and we fetch nothing.
fn of_address(url: &str) -> Result<ImageData, &'static str> {
    let Some(rest) = url.strip_prefix("data:") else {
        return Err("url: only data: addresses are taken, nothing is fetched from the network");
    };
    let (kind, data) = rest.split_once(',').ok_or("url: a data: address has a comma before its data")?;
    let media_type = kind.strip_suffix(";base64").ok_or("url: the data must be base64")?;
    let media_type = media_type.split(';').next().unwrap_or_default();
    Ok(ImageData { media_type: media_type.to_owned(), data: data.to_owned() })
}

/// Reads a file of ours that a client may have looked at: where sessions may work, their images may lie. Returns where
/// it is, too.
async fn of_file(service: &Service, path: &str) -> Result<(ImageData, PathBuf), String> {
    let path = PathBuf::from(path);
    if !path.is_absolute() {
        return Err("path: it must be absolute".to_owned());
    }
    let roots = service.setup().roots.clone();
    let read = tokio::task::spawn_blocking(move || {
        let cannot_read = |error: &dyn std::fmt::Display| format!("path: {} cannot be read: {error}", path.display());
        let file = LocatedFile::open_beneath(&path, &roots).map_err(|error| match error {
            // Whether there is something outside the roots is not told.
            LocateError::Io(_) if !roots.is_empty() => cannot_read(&LocateError::Outside),
            error => cannot_read(&error),
        })?;
        let real = file.path().to_owned();
        let media_type = media_type(&real)?;
        let bytes = file.read(MAX_IMAGE_BYTES).map_err(|error| cannot_read(&error))?;
        Ok((ImageData { media_type, data: BASE64_STANDARD.encode(bytes) }, real))
    });
    read.await.unwrap_or_else(|_| Err("path: it cannot be read".to_owned()))
}

fn media_type(path: &Path) -> Result<String, String> {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    let kind = KINDS.iter().find(|(known, _)| *known == end).map(|(_, kind)| (*kind).to_owned());
    kind.ok_or_else(|| "path: not a png, jpeg, gif or webp file".to_owned())
}

#[cfg(test)]
mod tests {
    use super::of_address;

    #[test]
    fn an_image_can_be_its_own_address() {
        let image = of_address("data:image/png;base64,AAAA").unwrap();
        assert_eq!((image.media_type.as_str(), image.data.as_str()), ("image/png", "AAAA"));
        assert_eq!(of_address("data:image/svg+xml;charset=utf-8;base64,AAAA").unwrap().media_type, "image/svg+xml");
        for (wrong, why) in [
            ("https://example.org/a.png", "fetched"),
            ("data:image/png;base64", "comma"),
            ("data:image/png,x", "base64"),
        ] {
            assert!(of_address(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}
