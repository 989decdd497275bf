//! What a tool gave back, as text for people.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_event::{Change, ChangeKind, Details, Item, Status};

use crate::{plan, tools};

/// All that a tool gave back, as text; empty if it gave nothing back.
pub fn text(item: &Item) -> Cow<'_, str> {
    match &item.details {
        Details::Command(command) => Cow::Borrowed(&command.output),
        Details::FileChange(change) => match &change.output {
            Some(output) => Cow::Borrowed(output),
            // What was not changed is no output.
            None if item.status != Status::Completed => Cow::Borrowed(""),
            None => Cow::Owned(changes(&change.changes)),
        },
        Details::Mcp(mcp) => mcp.result.as_deref().map(readable).unwrap_or_default(),
        Details::WebSearch(search) => search.results.as_deref().map(readable).unwrap_or_default(),
        Details::Subagent(subagent) => Cow::Borrowed(subagent.result.as_deref().unwrap_or_default()),
        Details::Tool(tool) => match &tool.result {
            Some(result) if tool.output.is_empty() => readable(result),
            _ => Cow::Borrowed(&tool.output),
        },
        Details::Plan(plan) => Cow::Owned(plan::text(plan)),
        Details::Unknown(unknown) => Cow::Borrowed(unknown.raw.as_deref().map_or("", RawValue::get)),
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => Cow::Borrowed(""),
    }
}

/// What a tool gave back, or else why it gave nothing back. Of one that did not run, only why.
pub fn text_or_why(item: &Item) -> Cow<'_, str> {
    let text = text(item);
    let failed = !tools::succeeded(item) && (text.is_empty() || !tools::ran(item));
    tools::error(item).filter(|_| failed).map_or(text, Cow::Owned)
}

/// Changes of files, a line each.
pub fn changes(changes: &[Change]) -> String {
    changes.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(change: &Change) -> String {
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

/// JSON as text for people: of a string, the string; of blocks of text, as MCP servers give them, the text; of
/// anything else, the JSON. Nothing is left out.
pub fn readable(json: &RawValue) -> Cow<'_, str> {
    let text = json.get();
    let read = match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).ok().map(|Text(text)| text),
        Some(b'[') => serde_json::from_str(text).ok().map(joined),
        Some(b'{') => serde_json::from_str(text).ok().map(|Blocks { content }| joined(content)),
        _ => None,
    };
    read.unwrap_or(Cow::Borrowed(text))
}

fn joined(mut blocks: Vec<Block<'_>>) -> Cow<'_, str> {
    if blocks.len() == 1 {
        return blocks.pop().map(|block| block.text).unwrap_or_default();
    }
    Cow::Owned(blocks.iter().map(|block| &*block.text).collect::<Vec<_>>().join("\n"))
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Blocks<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::readable;

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
            assert_eq!(readable(serde_json::from_str(json).unwrap()), text);
        }
    }
}
