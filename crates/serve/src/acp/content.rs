//! What an editor says in a prompt: text, images, files that it gives or names. Agents take text and images.

use agent_client_protocol::{
    Result,
    v1::schema::{BlobResourceContents, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ResourceLink},
};
use switchboard_agents::{AgentPrompt, PromptImage};

use super::{
    errors,
    words::{Words, at, path, place},
};

/// A prompt of these blocks.
pub fn prompt(blocks: &[ContentBlock]) -> Result<AgentPrompt> {
    let (mut prompt, mut words, mut given) = (AgentPrompt::default(), Words::default(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text(text) => words.typed(&text.text),
            ContentBlock::Image(image) => {
                words.show();
                prompt.images.push(PromptImage {
                    media_type: image.mime_type.clone(),
                    data: image.data.clone(),
                    path: None,
                });
            }
            ContentBlock::ResourceLink(link) => words.mention(&named(link)),
            ContentBlock::Resource(resource) => {
                words.mention(&at(&place(uri(resource))));
                given.push(resource);
            }
            ContentBlock::Audio(_) => return Err(errors::invalid("agents take no audio")),
            _ => return Err(errors::invalid("a block of content that is not known")),
        }
    }
    prompt.text = words.finish();
    given.into_iter().try_for_each(|resource| embed(resource, &mut prompt))?;
    if prompt.text.trim().is_empty() && prompt.images.is_empty() {
        return Err(errors::invalid("the prompt is empty"));
    }
    Ok(prompt)
}

/// A file as agents find it: by its path.
fn named(link: &ResourceLink) -> String {
    match path(&link.uri) {
        Some(path) => at(&path),
        None => format!("[{}]({})", link.name, link.uri),
    }
}

fn uri(resource: &EmbeddedResource) -> &str {
    match &resource.resource {
        EmbeddedResourceResource::TextResourceContents(text) => &text.uri,
        EmbeddedResourceResource::BlobResourceContents(blob) => &blob.uri,
        _ => "",
    }
}

/// What a file holds stands below the words that speak of it. One that is an image is an image.
fn embed(resource: &EmbeddedResource, prompt: &mut AgentPrompt) -> Result<()> {
    match &resource.resource {
        EmbeddedResourceResource::TextResourceContents(text) => {
            let (place, text) = (place(&text.uri), &text.text);
            prompt.text.push_str(&format!("\n\n<context ref=\"{place}\">\n{text}\n</context>"));
        }
        EmbeddedResourceResource::BlobResourceContents(blob) => binary(blob, prompt)?,
        _ => return Err(errors::invalid("a resource that is neither text nor binary")),
    }
    Ok(())
}

/// What is neither text nor an image cannot be said. If it is a file, the agent is told that it has to look for itself.
fn binary(blob: &BlobResourceContents, prompt: &mut AgentPrompt) -> Result<()> {
    let kind = blob.mime_type.as_deref().unwrap_or("application/octet-stream");
    if kind.starts_with("image/") {
        let (media_type, data) = (kind.to_owned(), blob.blob.clone());
        prompt.images.push(PromptImage { media_type, data, path: None });
        return Ok(());
    }
    let Some(path) = path(&blob.uri) else {
        let why = format!("agents take no {kind}: give {} as text, or as a link to a file", blob.uri);
        return Err(errors::invalid(why));
    };
    let note = format!("\n\n<context ref=\"{path}\">\n({kind}: not shown here, read the file)\n</context>");
    prompt.text.push_str(&note);
    Ok(())
}

/// A slash command: its name and what stands behind it.
pub fn slash(prompt: &AgentPrompt) -> Option<(&str, &str)> {
    let typed = prompt.text.trim().strip_prefix('/').filter(|_| prompt.images.is_empty())?;
    let (name, arguments) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    (!name.is_empty()).then_some((name, arguments.trim()))
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::ContentBlock;
    use serde_json::{Value, json};

    use super::{prompt, slash};

    fn blocks(blocks: Value) -> Vec<ContentBlock> {
        serde_json::from_value(blocks).unwrap()
    }

    #[test]
    fn text_files_and_images_become_a_prompt() {
        let prompt = prompt(&blocks(json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "name": "a", "uri": "file:///w/a.rs"},
            {"type": "text", "text": " and "},
            {"type": "resource", "resource": {"uri": "file:///w/b.rs", "text": "fn b() {}"}},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "x:y", "blob": "BBBB", "mimeType": "image/gif"}},
        ])))
        .unwrap();
        assert_eq!(
            prompt.text,
            "Look at @/w/a.rs and @/w/b.rs @x:y\n\n<context ref=\"/w/b.rs\">\nfn b() {}\n</context>"
        );
        let images: Vec<_> =
            prompt.images.iter().map(|image| (image.media_type.as_str(), image.data.as_str())).collect();
        assert_eq!(images, [("image/png", "AAAA"), ("image/gif", "BBBB")]);
    }

    #[test]
    fn mentions_stand_apart_from_the_words_around_them() {
        let link = |uri: &str| json!({"type": "resource_link", "name": "f", "uri": uri});
        let prompt = prompt(&blocks(json!([
            {"type": "text", "text": "Fix the bug in"},
            link("file:///w/a.rs"),
            link("file:///w/b%20c.rs"),
            link("https://w/d"),
            {"type": "text", "text": "please"},
        ])))
        .unwrap();
        assert_eq!(prompt.text, "Fix the bug in @/w/a.rs @\"/w/b c.rs\" [f](https://w/d) please");
    }

    #[test]
    fn a_binary_file_is_named_and_not_dropped() {
        let pdf = json!({"uri": "file:///w/a.pdf", "blob": "AAAA", "mimeType": "application/pdf"});
        let prompt = prompt(&blocks(json!([{"type": "resource", "resource": pdf}]))).unwrap();
        let note = "(application/pdf: not shown here, read the file)";
        assert_eq!(prompt.text, format!("@/w/a.pdf\n\n<context ref=\"/w/a.pdf\">\n{note}\n</context>"));
    }

    #[test]
    fn what_no_agent_takes_is_refused() {
        for wrong in [
            json!([]),
            json!([{"type": "text", "text": " "}]),
            json!([{"type": "audio", "data": "", "mimeType": "a/b"}]),
            json!([{"type": "resource", "resource": {"uri": "x:y", "blob": "AAAA", "mimeType": "application/pdf"}}]),
        ] {
            assert!(prompt(&blocks(wrong.clone())).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_slash_command_has_a_name() {
        for (text, want) in [
            ("/compact", Some(("compact", ""))),
            (" /review the diff ", Some(("review", "the diff"))),
            ("/", None),
            ("no /command", None),
        ] {
            let prompt = prompt(&blocks(json!([{"type": "text", "text": text}]))).unwrap();
            assert_eq!(slash(&prompt), want, "{text}");
        }
    }
}
