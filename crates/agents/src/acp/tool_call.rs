//! A tool call, merged from all records with its id. Missing fields keep their value; lists are replaced.

use serde_json::value::RawValue;
use switchboard_event::{CallKind, Change, Command, Content, Details, Id, Item, Status};

use super::{
    items,
    messages::{contents, text_of},
    session::SessionScope,
    tool_names,
};
use crate::{JsonObject, JsonView, RunRecorder};

/// Known state of a tool call.
pub struct ToolCall {
    pub thread: Option<Id>,
    /// The agent's id of the call.
    pub id: String,
    /// The item of the call.
    pub item: Id,
    /// The model reply that made the call.
    pub reply: Option<Id>,
    /// The tool's name, if known.
    pub name: Option<String>,
    /// One line for people.
    pub title: Option<String>,
    pub kind: Option<CallKind>,
    /// Displayed content: content blocks, diffs, terminals.
    pub content: Option<Box<RawValue>>,
    /// The content arrived with the call itself: it describes the intention, not the result.
    announced: bool,
    /// The file positions that the call concerns.
    pub locations: Option<Box<RawValue>>,
    pub input: Option<Box<RawValue>>,
    pub output: Option<Box<RawValue>>,
    /// The displayed diffs.
    pub changes: Vec<Change>,
    /// The command line of the client terminal that runs for the call.
    pub run: Option<String>,
    /// The output of that terminal.
    pub printed: String,
    /// The exit code of its command.
    pub exit: Option<i32>,
    /// The output arrives in pieces. The item stores it, because it would grow without bound here.
    pub piecewise: bool,
    /// Permission was refused.
    pub refused: bool,
    /// The open permission request.
    pub request: Option<Id>,
}

impl ToolCall {
    /// Creates a call of which only the id is known.
    pub fn new(id: &str, item: Id, place: &SessionScope) -> Self {
        Self {
            thread: place.thread().cloned(),
            id: id.to_owned(),
            item,
            reply: None,
            name: None,
            title: None,
            kind: None,
            content: None,
            announced: false,
            locations: None,
            input: None,
            output: None,
            changes: Vec::new(),
            run: None,
            printed: String::new(),
            exit: None,
            piecewise: false,
            refused: false,
            request: None,
        }
    }

    /// Merges a record about the call. A permission request describes the call differently, so it only adds missing
    /// information.
    pub fn merge(&mut self, record: CallRecordKind, fields: &JsonObject<'_>, recorder: &RunRecorder) {
        let asks = record == CallRecordKind::Permission;
        let keep = |known: bool| asks && known;
        self.name = fields.get_non_empty("name").or(self.name.take());
        // An agent that announces a call before its input is complete describes it in the permission request.
        let described = self.input.as_deref().is_some_and(is_filled);
        let prepared = self.input.is_some() && !described;
        if !keep(self.title.is_some() && !prepared) {
            self.title = fields.get_non_empty("title").or(self.title.take());
        }
        let kind = fields.get_str("kind").map(|word| tool_names::kind(&word));
        self.kind = match (self.kind, kind) {
            (Some(known), Some(told)) => Some(stronger(known, told, asks)),
            (known, told) => told.or(known),
        };
        let locations = fields.get_raw("locations");
        self.locations = match (self.locations.take(), locations) {
            (Some(known), Some(told)) if asks => Some(joined(&known, &told)),
            (known, told) => told.or(known),
        };
        if !keep(described) {
            let input = fields.get_raw("rawInput").filter(|input| !described || is_filled(input));
            self.input = input.or(self.input.take());
        }
        if self.input.is_none() && record != CallRecordKind::Update {
            self.input = self.title.as_deref().and_then(tool_names::mcp_title).and_then(|_| announced_input(fields));
        }
        self.output = fields.get_raw("rawOutput").or(self.output.take());
        self.exit = fields.get_object("_meta").get_object("terminal_exit").get_i32("exit_code").or(self.exit);
        self.piecewise |= piece(fields).is_some();
        self.merge_content(record, fields, recorder);
    }

    fn merge_content(&mut self, record: CallRecordKind, fields: &JsonObject<'_>, recorder: &RunRecorder) {
        if let Some(content) = fields.get("content") {
            let shown = items::diffs(content, recorder);
            if !shown.is_empty() {
                let shown: Vec<_> = shown.into_iter().map(|change| items::better(&self.changes, change)).collect();
                // The decision also covers changes that were announced before.
                let is_asked = record == CallRecordKind::Permission;
                self.changes.retain(|known| is_asked && shown.iter().all(|new| new.path != known.path));
                self.changes.splice(..0, shown);
            }
            if record != CallRecordKind::Permission {
                self.content = Some(content.to_raw());
                self.announced = record == CallRecordKind::Call;
            }
        }
        if let [change] = self.changes.as_mut_slice() {
            items::own_diff(change, &fields.get_object("rawOutput"));
        }
    }

    /// Returns the content blocks of the result.
    pub fn pieces(&self) -> Vec<Content> {
        parsed(self.content.as_deref()).map(pieces).unwrap_or_default()
    }

    /// Returns the result as text.
    pub fn text(&self, recorder: &RunRecorder) -> String {
        if self.piecewise {
            return recorder.open_item(&self.item).cloned().map(|item| without_output(item).1).unwrap_or_default();
        }
        if !self.printed.is_empty() {
            return self.printed.clone();
        }
        let pieces = if self.announced { Vec::new() } else { self.pieces() };
        let text = text_of(&pieces);
        let result = || parsed(self.output.as_deref()).and_then(result_text);
        if text.is_empty() { result().unwrap_or_default() } else { text }
    }

    /// Returns whether the call shows a terminal of the client.
    pub fn shows(&self, terminal: &str) -> bool {
        let content = parsed(self.content.as_deref()).map(JsonView::as_array);
        content.unwrap_or_default().into_iter().any(|block| block.as_object().str_equals("terminalId", terminal))
    }

    /// Returns whether the result says that the call was stopped.
    pub fn stopped(&self) -> bool {
        parsed(self.output.as_deref())
            .map(JsonView::as_object)
            .unwrap_or_default()
            .get_object("metadata")
            .is_true("interrupted")
    }

    /// Returns whether part of the output was discarded.
    pub fn is_cut(&self, recorder: &RunRecorder) -> bool {
        let known = recorder.open_item(&self.item).map(|item| &item.details);
        self.piecewise && matches!(known, Some(Details::Command(command)) if command.truncated)
    }
}

/// Returns the kind of a call that was described twice: the more powerful one. The first description in an update may
/// be too vague; that of a permission request is taken as it is.
fn stronger(known: CallKind, told: CallKind, asks: bool) -> CallKind {
    let strength = |kind: CallKind| match kind {
        CallKind::Read => 0,
        CallKind::Search => 1,
        CallKind::Think => 2,
        CallKind::Edit => 3,
        CallKind::Move => 4,
        CallKind::Delete => 5,
        CallKind::Mode => 6,
        CallKind::Other => 7,
        CallKind::Fetch => 8,
        CallKind::Execute => 9,
    };
    if known == CallKind::Other && !asks || strength(told) >= strength(known) { told } else { known }
}

/// Returns whether the input has content. Agents begin a call with `{}` before the model has written the input.
fn is_filled(input: &RawValue) -> bool {
    parsed(Some(input))
        .is_some_and(|input| if input.is_object() { !input.as_object().is_empty() } else { !input.is_null() })
}

/// Joins two lists without duplicates.
fn joined(known: &RawValue, told: &RawValue) -> Box<RawValue> {
    let entries = |raw: &RawValue| -> Vec<Box<RawValue>> {
        parsed(Some(raw)).map(JsonView::as_array).unwrap_or_default().into_iter().map(JsonView::to_raw).collect()
    };
    let mut all = entries(known);
    for entry in entries(told) {
        if !all.iter().any(|known| known.get() == entry.get()) {
            all.push(entry);
        }
    }
    switchboard_event::to_raw_json(&all)
}

/// An agent without `rawInput` may show the input as text in the announcement.
fn announced_input(fields: &JsonObject<'_>) -> Option<Box<RawValue>> {
    let shown = text_of(&pieces(fields.get("content")?));
    JsonView::parse(&shown).filter(|input| input.is_object()).map(JsonView::to_raw)
}

/// Parses stored JSON.
pub fn parsed(raw: Option<&RawValue>) -> Option<JsonView<'_>> {
    raw.and_then(|raw| JsonView::parse(raw.get()))
}

/// The record that describes a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CallRecordKind {
    /// `tool_call` for a new call.
    Call,
    /// `tool_call_update`, or a `tool_call` without later updates.
    Update,
    /// A permission request.
    Permission,
}

/// Returns the content of a call other than diffs and terminals.
fn pieces(content: JsonView<'_>) -> Vec<Content> {
    let blocks =
        content.as_array().into_iter().map(JsonView::as_object).filter(|block| block.str_equals("type", "content"));
    contents(blocks.filter_map(|block| block.get("content")).collect())
}

/// Returns the result of a call as text, for calls without content.
fn result_text(result: JsonView<'_>) -> Option<String> {
    if let Some(text) = result.as_str() {
        return Some(text.into_owned());
    }
    let fields = result.as_object();
    let keys = ["output", "formatted_output", "aggregated_output", "stdout", "content", "error"];
    keys.into_iter().find_map(|key| fields.get_string(key))
}

/// Returns a piece of output. Agents that run commands themselves and display them as a terminal report the output in
/// this field.
pub fn piece(fields: &JsonObject<'_>) -> Option<String> {
    let meta = fields.get_object("_meta");
    ["terminal_output", "terminal_output_delta"].into_iter().find_map(|key| meta.get_object(key).get_non_empty("data"))
}

/// Splits an item into the item without its output, and the output.
pub fn without_output(mut item: Item) -> (Item, String) {
    let output = match &mut item.details {
        Details::Command(command) => std::mem::take(&mut command.output),
        Details::Tool(tool) => std::mem::take(&mut tool.output),
        _ => String::new(),
    };
    (item, output)
}

/// Content of the display text: the output, or a remark if there is none.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ShellDisplay {
    pub output: String,
    pub exit_code: Option<i32>,
    pub remark: Option<String>,
    /// The command continues in the background.
    pub background: bool,
    /// The user stopped the command.
    pub stopped: bool,
}

impl ShellDisplay {
    /// Parses a text if it is a remark.
    pub fn remark(display: &str) -> Option<Self> {
        let remark = || Self { remark: Some(display.to_owned()), ..Self::default() };
        if let Some(code) = display.strip_prefix("Command exited with code: ") {
            return Some(Self { exit_code: code.trim().parse().ok(), ..remark() });
        }
        if display.starts_with("Command moved to background (PID: ") {
            return Some(Self { output: display.to_owned(), background: true, ..Self::default() });
        }
        if display.starts_with("Command terminated by signal: ") || display.starts_with("Command failed: ") {
            return Some(remark());
        }
        let stopped = display.starts_with("Command cancelled by user.");
        if !stopped && !display.starts_with("Command was automatically cancelled") {
            return None;
        }
        let (remark, output) = display.split_once("\n\nOutput before cancellation:\n").unwrap_or((display, ""));
        Some(Self { output: output.to_owned(), remark: Some(remark.to_owned()), stopped, ..Self::default() })
    }

    pub fn status(&self) -> Status {
        match (self.stopped, &self.remark, self.exit_code) {
            (true, ..) => Status::Interrupted,
            (_, None, None | Some(0)) => Status::Completed,
            _ => Status::Failed,
        }
    }

    /// Applies the content to a command.
    pub fn tell(self, command: &mut Command) {
        (command.output, command.exit_code) = (self.output, self.exit_code);
        command.background |= self.background;
    }
}
