//! A call of a tool as far as it got: the one shape behind a tool's part, the single events of newer sessions, and
//! what `opencode run` prints.

use std::borrow::Cow;

use switchboard_event::{Content, Item};

use super::{prompts, wire};
use crate::{Json, Object};

/// How far a call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its input is still being written.
    Pending,
    /// It works.
    Running,
    /// It is done.
    Completed,
    /// It went wrong, was stopped, or was not allowed.
    Failed,
}

/// A call of a tool, as far as it got.
pub struct State<'a> {
    /// The tool.
    pub tool: Cow<'a, str>,
    /// How far it got.
    pub phase: Phase,
    /// What it was given.
    pub input: Option<Json<'a>>,
    /// One line for people.
    pub title: Option<String>,
    /// What the model is given back.
    pub output: Cow<'a, str>,
    /// Why it went wrong.
    pub error: Option<String>,
    /// What else the tool has to say, each in its own way.
    pub meta: Object<'a>,
    /// Files that it gave back.
    pub files: Vec<Content>,
    /// How long it took.
    pub took: Option<u64>,
}

impl<'a> State<'a> {
    /// A part of type `tool`.
    pub fn of_part(part: &Object<'a>) -> Self {
        let state = part.object("state");
        Self {
            tool: part.str("tool").unwrap_or_default(),
            phase: match state.str("status").as_deref() {
                Some("running") => Phase::Running,
                Some("completed") => Phase::Completed,
                Some("error") => Phase::Failed,
                _ => Phase::Pending,
            },
            input: state.get("input"),
            title: state.filled("title"),
            output: state.str("output").unwrap_or_default(),
            error: state.filled("error"),
            meta: state.object("metadata"),
            files: state.array("attachments").into_iter().map(|file| prompts::file(&file.object())).collect(),
            took: wire::took(&state.object("time")),
        }
    }

    /// News of a call that is known: the events of newer sessions do not repeat the tool and its input.
    pub fn of_news(item: &'a Item, phase: Phase, fields: &Object<'a>) -> Self {
        let call = item.call.as_deref();
        let input = call.and_then(|call| call.input.as_deref());
        let content = fields.array("content").into_iter().map(Json::object);
        let (text, files): (Vec<_>, Vec<_>) = content.partition(|piece| piece.is("type", "text"));
        let text: Vec<_> = text.iter().filter_map(|piece| piece.string("text")).collect();
        Self {
            tool: Cow::Borrowed(call.map_or("", |call| call.name.as_str())),
            phase,
            input: input.and_then(|input| Json::parse(input.get())),
            title: None,
            output: Cow::Owned(text.join("\n")),
            error: None,
            meta: fields.object("structured"),
            files: files.iter().map(prompts::file).collect(),
            took: None,
        }
    }
}
