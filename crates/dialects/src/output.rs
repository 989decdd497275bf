//! Human-readable text of tool output.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_event::{Change, ChangeKind, Details, Item, Status};

use crate::{plan, tools};

/// Returns the complete output of a tool as text; empty if there is none.
pub fn output_text(item: &Item) -> Cow<'_, str> {
    match &item.details {
        Details::Command(command) => Cow::Borrowed(&command.output),
        Details::FileChange(change) => match &change.output {
            Some(output) => Cow::Borrowed(output),
            // Changes that were not applied are not output.
            None if item.status != Status::Completed => Cow::Borrowed(""),
            None => Cow::Owned(changes_text(&change.changes)),
        },
        Details::Mcp(mcp) => mcp.result.as_deref().map(readable_json).unwrap_or_default(),
        Details::WebSearch(search) => search.results.as_deref().map(readable_json).unwrap_or_default(),
        Details::Subagent(subagent) => Cow::Borrowed(subagent.result.as_deref().unwrap_or_default()),
        Details::Tool(tool) => match &tool.result {
            Some(result) if tool.output.is_empty() => readable_json(result),
            _ => Cow::Borrowed(&tool.output),
        },
        Details::Plan(plan) => Cow::Owned(plan::plan_text(plan)),
        Details::Unknown(unknown) => Cow::Borrowed(unknown.raw.as_deref().map_or("", RawValue::get)),
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => Cow::Borrowed(""),
    }
}

/// Returns the output of a tool, or the error if it has no output. If the tool did not run, only the error is returned.
pub fn output_or_error(item: &Item) -> Cow<'_, str> {
    let text = output_text(item);
    let failed = !tools::has_succeeded(item) && (text.is_empty() || !tools::has_run(item));
    tools::tool_error(item).filter(|_| failed).map_or(text, Cow::Owned)
}

/// Formats file changes, one per line.
pub fn changes_text(changes: &[Change]) -> String {
    changes.iter().map(change_line).collect::<Vec<_>>().join("\n")
}

fn change_line(change: &Change) -> String {
    let verb = match change.kind {
        ChangeKind::Add => "added",
        ChangeKind::Modify => "changed",
        ChangeKind::Delete => "deleted",
        ChangeKind::Move => "moved",
    };
    match &change.to {
        Some(to) => format!("{verb} {} to {to}", change.path),
        None => format!("{verb} {}", change.path),
    }
}

/// Converts JSON to readable text: the content of a string, the joined text of text blocks as returned by MCP servers,
/// or else the JSON itself. Nothing is dropped.
pub fn readable_json(json: &RawValue) -> Cow<'_, str> {
    let text = json.get();
    let read = match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).ok().map(|JsonText(text)| text),
        Some(b'[') => serde_json::from_str(text).ok().map(join_blocks),
        Some(b'{') => serde_json::from_str(text).ok().map(|ContentBlocks { content }| join_blocks(content)),
        _ => None,
    };
    read.unwrap_or(Cow::Borrowed(text))
}

fn join_blocks(mut blocks: Vec<TextContentBlock<'_>>) -> Cow<'_, str> {
    if blocks.len() == 1 {
        return blocks.pop().map(|block| block.text).unwrap_or_default();
    }
    Cow::Owned(blocks.iter().map(|block| &*block.text).collect::<Vec<_>>().join("\n"))
}

#[derive(Deserialize)]
struct JsonText<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct ContentBlocks<'a> {
    #[serde(borrow)]
    content: Vec<TextContentBlock<'a>>,
}

#[derive(Deserialize)]
struct TextContentBlock<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::readable_json;

    #[test]
    fn json_becomes_text_without_loss() {
        for (json, text) in [
            (r#""plain \"é\"""#, "plain \"é\""),
            (r#"{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}"#, "one\ntwo"),
            (r#"[{"type":"text","text":"one"}]"#, "one"),
            (
                r#"[{"type":"text","text":"one"},{"type":"image","data":"x"}]"#,
                r#"[{"type":"text","text":"one"},{"type":"image","data":"x"}]"#,
            ),
            (r#"{"n":1}"#, r#"{"n":1}"#),
            ("null", "null"),
        ] {
            assert_eq!(readable_json(serde_json::from_str(json).unwrap()), text);
        }
    }
}
