//! One tool call: what is known about it, put together from all that is said about its id. Fields that are not
//! repeated stay; lists are replaced.

use serde_json::value::RawValue;
use switchboard_event::{CallKind, Change, Content, Details, Id, Item};

use super::{
    changes,
    content::{contents, text_of},
    names,
    session::Place,
};
use crate::{Json, Object, Scribe};

/// What is known about a tool call.
pub struct ToolCall {
    /// The thread that it belongs to.
    pub thread: Option<Id>,
    /// Its id in the agent's words.
    pub id: String,
    /// The item that stands for it.
    pub item: Id,
    /// The reply of the model that called it.
    pub reply: Option<Id>,
    /// The tool, as far as it has a name.
    pub name: Option<String>,
    /// One line for people.
    pub title: Option<String>,
    /// What sort of tool it is.
    pub kind: Option<CallKind>,
    /// What it shows: blocks of content, diffs, terminals.
    pub content: Option<Box<RawValue>>,
    /// The content came with the call itself: it says what will be done, not what came of it.
    announced: bool,
    /// The places in files that it is about.
    pub locations: Option<Box<RawValue>>,
    /// What it was given.
    pub input: Option<Box<RawValue>>,
    /// What it gave back.
    pub output: Option<Box<RawValue>>,
    /// The diffs that it showed.
    pub changes: Vec<Change>,
    /// What a terminal of the client runs for it.
    pub run: Option<String>,
    /// What that terminal printed.
    pub printed: String,
    /// What its command ended with.
    pub exit: Option<i32>,
    /// Its output comes piece by piece. The item has it: here it would grow without end.
    pub piecewise: bool,
    /// Somebody said no.
    pub refused: bool,
    /// The request for permission that is open.
    pub request: Option<Id>,
}

impl ToolCall {
    /// A call of which only the id is known.
    pub fn new(id: &str, item: Id, place: &Place) -> Self {
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

    /// What a record says about the call. A request for permission describes the call in words of its own, so it only
    /// adds what is not known yet.
    pub fn merge(&mut self, record: Source, fields: &Object<'_>, scribe: &Scribe) {
        let asks = record == Source::Permission;
        let keep = |known: bool| asks && known;
        self.name = fields.filled("name").or(self.name.take());
        // An agent that announces a call before it is complete describes it when it asks.
        let described = self.input.as_deref().is_some_and(is_filled);
        let prepared = self.input.is_some() && !described;
        if !keep(self.title.is_some() && !prepared) {
            self.title = fields.filled("title").or(self.title.take());
        }
        let kind = fields.str("kind").map(|word| names::kind(&word));
        self.kind = match (self.kind, kind) {
            (Some(known), Some(told)) => Some(stronger(known, told, asks)),
            (known, told) => told.or(known),
        };
        let locations = fields.raw("locations");
        self.locations = match (self.locations.take(), locations) {
            (Some(known), Some(told)) if asks => Some(joined(&known, &told)),
            (known, told) => told.or(known),
        };
        if !keep(described) {
            let input = fields.raw("rawInput").filter(|input| !described || is_filled(input));
            self.input = input.or(self.input.take());
        }
        if self.input.is_none() && record != Source::Update {
            self.input = self.title.as_deref().and_then(names::mcp_title).and_then(|_| announced_input(fields));
        }
        self.output = fields.raw("rawOutput").or(self.output.take());
        self.exit = fields.object("_meta").object("terminal_exit").i32("exit_code").or(self.exit);
        self.piecewise |= piece(fields).is_some();
        self.merge_content(record, fields, scribe);
    }

    fn merge_content(&mut self, record: Source, fields: &Object<'_>, scribe: &Scribe) {
        if let Some(content) = fields.get("content") {
            let shown = changes::diffs(content, scribe);
            if !shown.is_empty() {
                let shown: Vec<_> = shown.into_iter().map(|change| changes::better(&self.changes, change)).collect();
                // Who is asked decides about what was announced, too.
                let is_asked = record == Source::Permission;
                self.changes.retain(|known| is_asked && shown.iter().all(|new| new.path != known.path));
                self.changes.splice(..0, shown);
            }
            if record != Source::Permission {
                self.content = Some(content.to_raw());
                self.announced = record == Source::Call;
            }
        }
        if let [change] = self.changes.as_mut_slice() {
            changes::own_diff(change, &fields.object("rawOutput"));
        }
    }

    /// The content blocks that came of the call.
    pub fn pieces(&self) -> Vec<Content> {
        parsed(self.content.as_deref()).map(pieces).unwrap_or_default()
    }

    /// What came of the call, as text.
    pub fn text(&self, scribe: &Scribe) -> String {
        if self.piecewise {
            return scribe.item(&self.item).cloned().map(|item| without_output(item).1).unwrap_or_default();
        }
        if !self.printed.is_empty() {
            return self.printed.clone();
        }
        let pieces = if self.announced { Vec::new() } else { self.pieces() };
        let text = text_of(&pieces);
        let result = || parsed(self.output.as_deref()).and_then(result_text);
        if text.is_empty() { result().unwrap_or_default() } else { text }
    }

    /// The call shows this terminal of the client.
    pub fn shows(&self, terminal: &str) -> bool {
        let content = parsed(self.content.as_deref()).map(Json::array);
        content.unwrap_or_default().into_iter().any(|block| block.object().is("terminalId", terminal))
    }

    /// The result says that the call was stopped.
    pub fn stopped(&self) -> bool {
        parsed(self.output.as_deref()).map(Json::object).unwrap_or_default().object("metadata").is_true("interrupted")
    }

    /// Not all that it printed is kept.
    pub fn is_cut(&self, scribe: &Scribe) -> bool {
        let known = scribe.item(&self.item).map(|item| &item.details);
        self.piecewise && matches!(known, Some(Details::Command(command)) if command.truncated)
    }
}

/// What a call is that is described twice: the kind that can do more. The first description of an update may be too
/// vague; that of a request for permission counts as it is.
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

/// The input says something: agents begin a call with `{}` before the model has written what it is given.
fn is_filled(input: &RawValue) -> bool {
    parsed(Some(input))
        .is_some_and(|input| if input.is_object() { !input.object().is_empty() } else { !input.is_null() })
}

/// Two lists as one, without what is in both.
fn joined(known: &RawValue, told: &RawValue) -> Box<RawValue> {
    let entries = |raw: &RawValue| -> Vec<Box<RawValue>> {
        parsed(Some(raw)).map(Json::array).unwrap_or_default().into_iter().map(Json::to_raw).collect()
    };
    let mut all = entries(known);
    for entry in entries(told) {
        if !all.iter().any(|known| known.get() == entry.get()) {
            all.push(entry);
        }
    }
    switchboard_event::raw(&all)
}

/// An agent that has no `rawInput` may show the input as text, where it says what will be done.
fn announced_input(fields: &Object<'_>) -> Option<Box<RawValue>> {
    let shown = text_of(&pieces(fields.get("content")?));
    Json::parse(&shown).filter(|input| input.is_object()).map(Json::to_raw)
}

/// JSON that was kept as it was written.
pub fn parsed(raw: Option<&RawValue>) -> Option<Json<'_>> {
    raw.and_then(|raw| Json::parse(raw.get()))
}

/// Which record says something about a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `tool_call`: it is new.
    Call,
    /// `tool_call_update`, or a `tool_call` that is all there is.
    Update,
    /// A request for permission.
    Permission,
}

/// What is in the content of a call beside diffs and terminals.
fn pieces(content: Json<'_>) -> Vec<Content> {
    let blocks = content.array().into_iter().map(Json::object).filter(|block| block.is("type", "content"));
    contents(blocks.filter_map(|block| block.get("content")).collect())
}

/// What a call gave back, as text, where its content says nothing.
fn result_text(result: Json<'_>) -> Option<String> {
    if let Some(text) = result.str() {
        return Some(text.into_owned());
    }
    let fields = result.object();
    let keys = ["output", "formatted_output", "aggregated_output", "stdout", "content", "error"];
    keys.into_iter().find_map(|key| fields.string(key))
}

/// Agents that run commands themselves and show them as a terminal put its output here, piece by piece.
pub fn piece(fields: &Object<'_>) -> Option<String> {
    let meta = fields.object("_meta");
    ["terminal_output", "terminal_output_delta"].into_iter().find_map(|key| meta.object(key).filled("data"))
}

/// An item without what it printed, and what it printed.
pub fn without_output(mut item: Item) -> (Item, String) {
    let output = match &mut item.details {
        Details::Command(command) => std::mem::take(&mut command.output),
        Details::Tool(tool) => std::mem::take(&mut tool.output),
        _ => String::new(),
    };
    (item, output)
}
