//! The content blocks of an editor's prompt as an agent prompt: text, images, and files that are embedded or linked.

use agent_client_protocol::{
    Result,
    v1::schema::{BlobResourceContents, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ResourceLink},
};
use switchboard_agents::{AgentPrompt, PromptImage};

use super::errors;

pub fn build_prompt(blocks: &[ContentBlock]) -> Result<AgentPrompt> {
    let (mut prompt, mut text, mut embedded) = (AgentPrompt::default(), PromptText::default(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text(block) => text.add_text(&block.text),
            ContentBlock::Image(image) => {
                text.add_gap();
                prompt.images.push(PromptImage {
                    media_type: image.mime_type.clone(),
                    data: image.data.clone(),
                    path: None,
                });
            }
            ContentBlock::ResourceLink(link) => text.add_mention(&mention_link(link)),
            ContentBlock::Resource(resource) => {
                text.add_mention(&file_mention(&path_or_uri(resource_uri(resource))));
                embedded.push(resource);
            }
            ContentBlock::Audio(_) => return Err(errors::invalid_params("agents accept no audio")),
            _ => return Err(errors::invalid_params("unknown content block")),
        }
    }
    prompt.text = text.finish();
    embedded.into_iter().try_for_each(|resource| embed_resource(resource, &mut prompt))?;
    if prompt.text.trim().is_empty() && prompt.images.is_empty() {
        return Err(errors::invalid_params("the prompt is empty"));
    }
    Ok(prompt)
}

/// Mentions a file by its path, or links to another resource.
fn mention_link(link: &ResourceLink) -> String {
    match file_uri_path(&link.uri) {
        Some(path) => file_mention(&path),
        None => format!("[{}]({})", link.name, link.uri),
    }
}

fn resource_uri(resource: &EmbeddedResource) -> &str {
    match &resource.resource {
        EmbeddedResourceResource::TextResourceContents(text) => &text.uri,
        EmbeddedResourceResource::BlobResourceContents(blob) => &blob.uri,
        _ => "",
    }
}

/// Appends the content of an embedded file to the prompt, after the text that refers to it; an image becomes an image.
fn embed_resource(resource: &EmbeddedResource, prompt: &mut AgentPrompt) -> Result<()> {
    match &resource.resource {
        EmbeddedResourceResource::TextResourceContents(text) => {
            let (place, text) = (path_or_uri(&text.uri), &text.text);
            prompt.text.push_str(&format!("\n\n<context ref=\"{place}\">\n{text}\n</context>"));
        }
        EmbeddedResourceResource::BlobResourceContents(blob) => embed_binary(blob, prompt)?,
        _ => return Err(errors::invalid_params("a resource must be text or binary")),
    }
    Ok(())
}

/// Agents take no other binary content. If it is a file, the agent is asked to read it itself.
fn embed_binary(blob: &BlobResourceContents, prompt: &mut AgentPrompt) -> Result<()> {
    let kind = blob.mime_type.as_deref().unwrap_or("application/octet-stream");
    if kind.starts_with("image/") {
        let (media_type, data) = (kind.to_owned(), blob.blob.clone());
        prompt.images.push(PromptImage { media_type, data, path: None });
        return Ok(());
    }
    let Some(path) = file_uri_path(&blob.uri) else {
        let message = format!("agents accept no {kind}; send {} as text or as a link to a file", blob.uri);
        return Err(errors::invalid_params(message));
    };
    let note = format!("\n\n<context ref=\"{path}\">\n({kind}: not shown here, read the file)\n</context>");
    prompt.text.push_str(&note);
    Ok(())
}

/// Returns the name and the arguments of a slash command.
pub fn parse_slash_command(prompt: &AgentPrompt) -> Option<(&str, &str)> {
    let typed = prompt.text.trim().strip_prefix('/').filter(|_| prompt.images.is_empty())?;
    let (name, arguments) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    (!name.is_empty()).then_some((name, arguments.trim()))
}

/// The text of a prompt, joined from blocks that know nothing of each other.
#[derive(Default)]
struct PromptText {
    text: String,
    /// The separator before the next block, unless there is whitespace already.
    gap: &'static str,
}

impl PromptText {
    fn add_text(&mut self, text: &str) {
        self.add(text);
        // Consecutive texts are paragraphs.
        self.gap = "\n";
    }

    fn add_mention(&mut self, mention: &str) {
        self.gap = " ";
        self.add(mention);
    }

    /// Notes that an image or a similar block comes between the texts.
    fn add_gap(&mut self) {
        self.gap = " ";
    }

    fn add(&mut self, piece: &str) {
        let is_text = |c: char| !c.is_whitespace();
        if self.text.ends_with(is_text) && piece.starts_with(is_text) {
            self.text.push_str(self.gap);
        }
        self.text.push_str(piece);
    }

    pub fn finish(self) -> String {
        self.text
    }
}

/// Returns a mention of a file in the form that agents understand. Paths with spaces are quoted.
fn file_mention(path: &str) -> String {
    if path.contains(char::is_whitespace) {
        return format!("@\"{}\"", path.replace('"', "\\\""));
    }
    format!("@{path}")
}

/// Returns the path of a `file:` URI.
fn file_uri_path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let local = rest.strip_prefix("localhost").filter(|path| path.starts_with('/'));
    Some(decode_percent(local.unwrap_or(rest)))
}

fn path_or_uri(uri: &str) -> String {
    file_uri_path(uri).unwrap_or_else(|| uri.to_owned())
}

/// Decodes percent escapes; returns the input if the result is not UTF-8.
fn decode_percent(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.first_chunk::<2>().filter(|_| *first == b'%').and_then(parse_hex_byte);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn parse_hex_byte(digits: &[u8; 2]) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::ContentBlock;
    use serde_json::{Value, json};

    use super::{PromptText, build_prompt, file_mention, file_uri_path, parse_slash_command};

    fn blocks(blocks: Value) -> Vec<ContentBlock> {
        serde_json::from_value(blocks).unwrap()
    }

    #[test]
    fn text_files_and_images_become_a_prompt() {
        let prompt = build_prompt(&blocks(json!([
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
    fn mentions_are_separated_from_the_text_around_them() {
        let link = |uri: &str| json!({"type": "resource_link", "name": "f", "uri": uri});
        let prompt = build_prompt(&blocks(json!([
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
        let prompt = build_prompt(&blocks(json!([{"type": "resource", "resource": pdf}]))).unwrap();
        let note = "(application/pdf: not shown here, read the file)";
        assert_eq!(prompt.text, format!("@/w/a.pdf\n\n<context ref=\"/w/a.pdf\">\n{note}\n</context>"));
    }

    #[test]
    fn unsupported_content_is_refused() {
        for wrong in [
            json!([]),
            json!([{"type": "text", "text": " "}]),
            json!([{"type": "audio", "data": "", "mimeType": "a/b"}]),
            json!([{"type": "resource", "resource": {"uri": "x:y", "blob": "AAAA", "mimeType": "application/pdf"}}]),
        ] {
            assert!(build_prompt(&blocks(wrong.clone())).is_err(), "{wrong}");
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
            let prompt = build_prompt(&blocks(json!([{"type": "text", "text": text}]))).unwrap();
            assert_eq!(parse_slash_command(&prompt), want, "{text}");
        }
    }

    #[test]
    fn a_file_is_found_by_its_path() {
        for (uri, want) in [
            ("file:///w/a.rs", "@/w/a.rs"),
            ("file://localhost/w/a.rs", "@/w/a.rs"),
            ("file:///w/my%20notes/%C3%A9.md#L1", "@\"/w/my notes/é.md#L1\""),
            ("file:///w/100%", "@/w/100%"),
            ("file:///w/%zz%4", "@/w/%zz%4"),
            ("file:///w/%FF", "@/w/%FF"),
        ] {
            assert_eq!(file_mention(&file_uri_path(uri).unwrap()), want, "{uri}");
        }
        assert_eq!(file_uri_path("https://w/a"), None);
    }

    #[test]
    fn blocks_are_separated() {
        let mut text = PromptText::default();
        text.add_mention("@a");
        text.add_mention("@b");
        text.add_text("and ");
        text.add_mention("@c");
        text.add_text("");
        text.add_text("\tthen");
        text.add_text("this");
        text.add_gap();
        text.add_text("last");
        assert_eq!(text.finish(), "@a @b and @c\tthen\nthis last");
    }
}
