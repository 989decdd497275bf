//! What a message holds: a text, or parts as the API has them.

use std::borrow::Cow;

use crate::{Json, Object};

/// The text of a message, or of what a tool shows: a string, parts with texts, or lines of the styled cells of a
/// terminal. Nobody nests deeper, and what is deeper is not followed: it may have no end that a stack could hold.
pub fn text(content: Json<'_>) -> String {
    let parts = content.array();
    match parts.iter().any(|part| is_array(*part)) {
        true => parts.into_iter().map(line).collect::<Vec<_>>().join("\n"),
        false => line(content),
    }
}

fn line(line: Json<'_>) -> String {
    match is_array(line) {
        true => line.array().into_iter().map(part).collect(),
        false => part(line),
    }
}

fn part(part: Json<'_>) -> String {
    part.str().map(Cow::into_owned).or_else(|| part.object().string("text")).unwrap_or_default()
}

fn is_array(content: Json<'_>) -> bool {
    content.text().starts_with('[')
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

#[cfg(test)]
mod tests {
    use super::text;
    use crate::Json;

    #[test]
    fn a_text_is_said_in_several_ways() {
        for (content, expected) in [
            (r#""a""#, "a"),
            (r#"{"text":"a"}"#, "a"),
            (r#"["a",{"text":"b"},{"inlineData":{}},7]"#, "ab"),
            (r#"[[{"text":"a"},{"text":"b"}],[],["c"],{"text":"d"}]"#, "ab\n\nc\nd"),
            (r#"[["a",["too deep"]]]"#, "a"),
            ("7", ""),
        ] {
            assert_eq!(text(Json::parse(content).unwrap()), expected, "{content}");
        }
    }
}
