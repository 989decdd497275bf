//! State of a tool call: the common form of a tool part, the separate events of newer sessions, and the output of
//! `opencode run`.

use std::borrow::Cow;

use switchboard_event::{Content, Item};

use super::{prompts, wire};
use crate::{JsonObject, JsonView};

/// Phase of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The model is still writing the input.
    Pending,
    /// The tool is running.
    Running,
    /// The tool succeeded.
    Completed,
    /// The tool failed, was stopped, or was not allowed.
    Failed,
}

/// State of a tool call.
pub struct State<'a> {
    pub tool: Cow<'a, str>,
    pub phase: Phase,
    pub input: Option<JsonView<'a>>,
    /// One line for people.
    pub title: Option<String>,
    /// The result for the model.
    pub output: Cow<'a, str>,
    pub error: Option<String>,
    /// Metadata, specific to each tool.
    pub meta: JsonObject<'a>,
    /// Files in the result.
    pub files: Vec<Content>,
    /// Duration in milliseconds.
    pub took: Option<u64>,
}

impl<'a> State<'a> {
    /// Parses a part of type `tool`.
    pub fn of_part(part: &JsonObject<'a>) -> Self {
        let state = part.get_object("state");
        Self {
            tool: part.get_str("tool").unwrap_or_default(),
            phase: match state.get_str("status").as_deref() {
                Some("running") => Phase::Running,
                Some("completed") => Phase::Completed,
                Some("error") => Phase::Failed,
                _ => Phase::Pending,
            },
            input: state.get("input"),
            title: state.get_non_empty("title"),
            output: state.get_str("output").unwrap_or_default(),
            error: state.get_non_empty("error"),
            meta: state.get_object("metadata"),
            files: state.get_array("attachments").into_iter().map(|file| prompts::file(&file.as_object())).collect(),
            took: wire::took(&state.get_object("time")),
        }
    }

    /// Builds the state from an update of a known call. The events of newer sessions do not repeat the tool and its
    /// input.
    pub fn of_news(item: &'a Item, phase: Phase, fields: &JsonObject<'a>) -> Self {
        let call = item.call.as_deref();
        let input = call.and_then(|call| call.input.as_deref());
        let content = fields.get_array("content").into_iter().map(JsonView::as_object);
        let (text, files): (Vec<_>, Vec<_>) = content.partition(|piece| piece.str_equals("type", "text"));
        let text: Vec<_> = text.iter().filter_map(|piece| piece.get_string("text")).collect();
        Self {
            tool: Cow::Borrowed(call.map_or("", |call| call.name.as_str())),
            phase,
            input: input.and_then(|input| JsonView::parse(input.get())),
            title: None,
            output: Cow::Owned(text.join("\n")),
            error: None,
            meta: fields.get_object("structured"),
            files: files.iter().map(prompts::file).collect(),
            took: None,
        }
    }
}
