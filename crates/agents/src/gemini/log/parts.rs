//! Content of a message: a text, or parts of the API.

use std::borrow::Cow;

use crate::{JsonObject, JsonView};

/// Returns the text of a message or of a tool's display: a string, parts with texts, or lines of styled terminal cells.
/// Deeper nesting does not occur and is not followed, because unbounded nesting could overflow the stack.
pub fn content_text(content: JsonView<'_>) -> String {
    let parts = content.as_array();
    match parts.iter().any(|part| is_array(*part)) {
        true => parts.into_iter().map(line_text).collect::<Vec<_>>().join("\n"),
        false => line_text(content),
    }
}

fn line_text(line: JsonView<'_>) -> String {
    match is_array(line) {
        true => line.as_array().into_iter().map(part_text).collect(),
        false => part_text(line),
    }
}

fn part_text(part: JsonView<'_>) -> String {
    part.as_str().map(Cow::into_owned).or_else(|| part.as_object().get_string("text")).unwrap_or_default()
}

fn is_array(content: JsonView<'_>) -> bool {
    content.raw_text().starts_with('[')
}

/// Returns the tool results in a message.
pub fn function_responses<'a>(content: Option<JsonView<'a>>) -> Vec<JsonObject<'a>> {
    let Some(content) = content else { return Vec::new() };
    let parts = if content.is_object() { vec![content] } else { content.as_array() };
    let response =
        |part: JsonView<'a>| Some(part.as_object().get_object("functionResponse")).filter(|fields| !fields.is_empty());
    parts.into_iter().filter_map(response).collect()
}

/// Returns the media types of images and files among the parts.
pub fn attachment_types(content: JsonView<'_>) -> Vec<String> {
    let kind = |part: JsonView<'_>| {
        let part = part.as_object();
        let data =
            ["inlineData", "fileData"].into_iter().map(|key| part.get_object(key)).find(|data| !data.is_empty())?;
        data.get_non_empty("mimeType")
    };
    content.as_array().into_iter().filter_map(kind).collect()
}

#[cfg(test)]
mod tests {

    use super::content_text;
    use crate::JsonView;

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
            assert_eq!(content_text(JsonView::parse(content).unwrap()), expected, "{content}");
        }
    }
}
