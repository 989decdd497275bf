//! What a message holds: a text, or parts as the API has them.

use crate::{Json, Object};

/// The text of a message, or of what a tool shows: a string, parts with texts, or the styled cells of a terminal.
pub fn text(content: Json<'_>) -> String {
    if let Some(text) = content.str() {
        return text.into_owned();
    }
    if content.is_object() {
        return content.object().string("text").unwrap_or_default();
    }
    let lines = content.array();
    if lines.iter().any(|line| line.text().starts_with('[')) {
        let line = |line: &Json<'_>| line.array().into_iter().map(text).collect::<String>();
        return lines.iter().map(line).collect::<Vec<_>>().join("\n");
    }
    lines.into_iter().map(text).collect()
}

/// What tools gave back, if the message holds it.
pub fn responses<'a>(content: Option<Json<'a>>) -> Vec<Object<'a>> {
    let Some(content) = content else { return Vec::new() };
    let parts = if content.is_object() { vec![content] } else { content.array() };
    let response = |part: Json<'a>| Some(part.object().object("functionResponse")).filter(|fields| !fields.is_empty());
    parts.into_iter().filter_map(response).collect()
}

/// Pictures and files among the parts, by their kinds.
pub fn attachments(content: Json<'_>) -> Vec<String> {
    let kind = |part: Json<'_>| {
        let part = part.object();
        let data = ["inlineData", "fileData"].into_iter().map(|key| part.object(key)).find(|data| !data.is_empty())?;
        data.filled("mimeType")
    };
    content.array().into_iter().filter_map(kind).collect()
}
