//! Work: commands, calls of tools, searches, subagents. What it is stands on one line when it begins; how it went
//! follows when it ended. What ends later than something else was shown gets its line again.

use std::borrow::Cow;

use anstyle::Style;
use serde_json::{Value, value::RawValue};
use switchboard_event::{Call, CallKind, Command, Details, Event, Id, Item, Mcp, Status, Subagent, WebSearch};

use super::{
    clean,
    command::unwrapped,
    figures::{count, duration},
    fold::beginning,
    items::Open,
    options::Detail,
    paper::Block,
    style::{BOLD, CYAN, DIM, PLAIN, RED, YELLOW},
    subagents::label,
    viewer::View,
};

/// What took less long is not worth a word.
const LONG_MS: u64 = 1_000;

/// Lines of what a tool gave back that are shown to who reads it later: the first, and the last.
const TOOL_OUTPUT: (usize, usize) = (3, 1);

/// What is kept of the last line that a command printed.
const LAST_LINE: usize = 400;

/// The arguments that say most about a call, the best first.
const MAIN_ARGUMENTS: &[&str] = &[
    "command",
    "pattern",
    "query",
    "file_path",
    "filePath",
    "filepath",
    "path",
    "notebook_path",
    "url",
    "question",
    "description",
    "prompt",
    "name",
    "title",
    "skill",
    "task_id",
];

/// What a piece of work is: a kind, a name, and its main argument.
pub struct Heading {
    /// What kind it is, where the name alone does not say.
    pub kind: &'static str,
    /// What it is called.
    pub name: String,
    /// What it is about.
    pub about: String,
}

impl Heading {
    fn new(kind: &'static str, name: impl Into<String>, about: impl Into<String>) -> Self {
        Self { kind, name: name.into(), about: about.into() }
    }

    /// All of it as one text.
    fn text(&self) -> String {
        [self.kind, &self.name, &self.about].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// What a piece of work is, as far as it is known.
fn heading(item: &Item, cwd: Option<&str>) -> Option<Heading> {
    let about = item.call.as_deref().map(|call| argument(call, cwd)).unwrap_or_default();
    // Some agents call a tool by its name in every field.
    let about = if item.call.as_ref().is_some_and(|call| call.name == about) { String::new() } else { about };
    Some(match &item.details {
        Details::Mcp(Mcp { server, tool, .. }) => Heading::new("mcp", format!("{server}.{tool}"), about),
        Details::WebSearch(WebSearch { queries, .. }) if queries.is_empty() => return None,
        Details::WebSearch(WebSearch { queries, .. }) => Heading::new("web", "search", queries.join(" · ")),
        Details::Subagent(subagent) => subagent_heading(subagent),
        Details::Tool(_) => Heading::new("", item.call.as_ref().map_or("tool", |call| &call.name), about),
        Details::Unknown(unknown) => {
            Heading::new("", item.call.as_ref().map_or(&unknown.name, |call| &call.name), about)
        }
        _ => return None,
    })
}

fn subagent_heading(subagent: &Subagent) -> Heading {
    let label = label(subagent);
    let prompt = subagent.prompt.as_deref().unwrap_or_default();
    let prompt = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let prompt = if prompt.starts_with(label.trim()) || label.starts_with(prompt) { "" } else { prompt };
    let kind = if subagent.background { "background agent" } else { "agent" };
    Heading::new(kind, label, prompt)
}

/// The main argument of a call: the file it is about, else the best of what it was given, else its title.
pub fn argument(call: &Call, cwd: Option<&str>) -> String {
    if let [place] = call.locations.as_slice()
        && call.kind != CallKind::Search
    {
        return short_path(&place.path, cwd).into_owned();
    }
    let input = call.input.as_deref().map_or("", |input| beginning_of_json(input.get()));
    let fields = match serde_json::from_str::<Value>(input) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::String(text)) => return text,
        Ok(Value::Null) | Err(_) => return call.title.clone().unwrap_or_default(),
        Ok(other) => return other.to_string(),
    };
    let texts = || fields.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    let best = MAIN_ARGUMENTS.iter().find_map(|name| texts().find(|(key, _)| key == name));
    let title = call.title.as_deref().filter(|title| *title != call.name);
    match best.or_else(|| texts().find(|(_, text)| text.len() < 200)) {
        Some((_, text)) => short_path(text, cwd).into_owned(),
        None if fields.is_empty() => title.unwrap_or_default().to_owned(),
        None => title.map_or_else(|| Value::Object(fields).to_string(), str::to_owned),
    }
}

/// An input too long to be worth reading is not read.
fn beginning_of_json(input: &str) -> &str {
    if input.len() > 1 << 20 { "" } else { input }
}

/// A path within the folder of the session is shown from there.
pub fn short_path<'a>(path: &'a str, cwd: Option<&str>) -> Cow<'a, str> {
    let inside = cwd.filter(|cwd| !cwd.is_empty()).and_then(|cwd| path.strip_prefix(cwd.trim_end_matches('/')));
    match inside.and_then(|path| path.strip_prefix('/')) {
        Some(path) if !path.is_empty() => path.into(),
        _ => path.into(),
    }
}

/// A piece of work as its tool's name and what it works on.
pub fn work(item: &Item, cwd: Option<&str>) -> (String, String) {
    let named = |name: &str| item.call.as_ref().map_or(name, |call| &call.name).to_owned();
    let (name, about) = match &item.details {
        Details::Command(Command { command, .. }) => (named("shell"), unwrapped(command).to_owned()),
        Details::FileChange(change) => {
            (named("edit"), change.changes.first().map(|it| short_path(&it.path, cwd).into_owned()).unwrap_or_default())
        }
        _ => match heading(item, cwd) {
            Some(Heading { kind: "", name, about }) => (name, about),
            Some(Heading { kind, name, about }) => (format!("{kind} {name}"), about),
            None => (named("tool"), String::new()),
        },
    };
    (clean::line(&name), clean::line(beginning(&about, LAST_LINE)))
}

/// What an item does, in a few words, for the status line.
pub fn doing(item: &Item, cwd: Option<&str>) -> String {
    let text = match &item.details {
        Details::Command(Command { command, .. }) => beginning(unwrapped(command), LAST_LINE).to_owned(),
        Details::FileChange(change) => match change.changes.first() {
            Some(first) => format!("editing {}", short_path(&first.path, cwd)),
            None => "editing".to_owned(),
        },
        _ => heading(item, cwd).map(|heading| heading.text()).unwrap_or_default(),
    };
    clean::line(beginning(&text, LAST_LINE))
}

/// Keeps the last line of what is printed.
pub fn keep_last_line(kept: &mut String, text: &str) {
    let lines = text.trim_end_matches(['\n', '\r', ' ']);
    if let Some(line) = lines.rsplit('\n').next().filter(|line| !line.trim().is_empty()) {
        *kept = clean::printed(beginning(line, LAST_LINE));
    }
}

impl View {
    pub(super) fn work_started(&mut self, event: &Event, item: &Item) {
        match &item.details {
            Details::FileChange(_) | Details::UserMessage(_) => {}
            Details::Subagent(_) => self.show_heading(event, item),
            // Of several at once, the others are shown when they end, each with what came of it.
            _ if self.is_busy(event) => {}
            _ => self.show_heading(event, item),
        }
    }

    /// Something else is being done whose end is still to be shown.
    fn is_busy(&self, event: &Event) -> bool {
        let others = self.open.iter().filter(|(id, _)| Some(*id) != event.item.as_ref());
        others.map(|(_, open)| open).any(|open| open.heading.is_some() && open.thread == event.thread)
    }

    /// The line that says what a piece of work is.
    fn show_heading(&mut self, event: &Event, item: &Item) {
        let Some(text) = self.heading_text(item) else { return };
        self.begin(event, Block::Work);
        if let Details::Command(command) = &item.details {
            self.show_command(command);
        } else if let Some(heading) = heading(item, self.cwd.as_deref()) {
            let space = |text: &str| if text.is_empty() { "" } else { " " };
            let spans = [
                (CYAN, "→ "),
                (DIM, heading.kind),
                (DIM, space(heading.kind)),
                (BOLD, &heading.name),
                (PLAIN, space(&heading.about)),
                (PLAIN, &heading.about),
            ];
            self.paper.line(0, &spans);
        }
        self.paper.own(event.item.as_ref());
        if let (Details::Subagent(_), Some(id)) = (&item.details, &event.item) {
            self.subagents.show(Some(id.clone()));
        }
        if let Some(open) = event.item.as_ref().and_then(|id| self.open.get_mut(id)) {
            open.heading = Some(text);
        }
    }

    /// What the heading says, to see whether it changed.
    fn heading_text(&self, item: &Item) -> Option<String> {
        match &item.details {
            Details::Command(command) => Some(command.command.clone()),
            _ => heading(item, self.cwd.as_deref()).map(|heading| heading.text()),
        }
    }

    pub(super) fn work_completed(&mut self, event: &Event, item: &Item, open: &Open) {
        let Some(id) = &event.item else { return };
        let is_told = self.requests.is_told(id) && matches!(item.status, Status::Declined | Status::Interrupted);
        let as_shown = open.heading.is_some() && open.heading == self.heading_text(item);
        if is_told || as_shown && !self.has_outcome(event, item) {
            return;
        }
        if !(as_shown && (self.paper.is_owned(id) || self.subagents.is_shown(id))) {
            self.show_heading(event, item);
        }
        match &item.details {
            Details::Command(command) => self.show_output(command, item),
            Details::Subagent(subagent) => self.show_result(id, subagent),
            _ => self.show_exchange(item),
        }
        self.show_failure(item);
        self.paper.own(None);
        if self.subagents.is_shown(id) {
            self.subagents.show(None);
        }
    }

    /// There is more to say than that it was done.
    fn has_outcome(&self, event: &Event, item: &Item) -> bool {
        item.status != Status::Completed
            || match &item.details {
                Details::Command(command) => {
                    !command.output.trim().is_empty()
                        || command.background
                        || command.exit_code.is_some_and(|code| code != 0)
                        || item.duration_ms.is_some_and(|millis| millis >= LONG_MS)
                }
                Details::Subagent(subagent) => {
                    let result = subagent.result.as_deref().unwrap_or_default();
                    let is_said = event.item.as_ref().is_some_and(|id| self.subagents.has_said(id, result));
                    !result.trim().is_empty() && !is_said
                }
                _ => self.paper.options.detail != Detail::Live && !given_back(item).is_empty(),
            }
    }

    /// What a tool was given, where all is wanted, and what it gave back, for who reads it later.
    fn show_exchange(&mut self, item: &Item) {
        let detail = self.paper.options.detail;
        if detail == Detail::Live {
            return;
        }
        let input = item.call.as_ref().and_then(|call| call.input.as_deref()).filter(|_| detail == Detail::Full);
        if let Some(input) = input.map(RawValue::get).filter(|input| *input != "{}") {
            self.paper.rows(2, 1, &[(DIM, input)]);
        }
        let output = given_back(item).into_owned();
        let folded = self.fold(&output, TOOL_OUTPUT.0, TOOL_OUTPUT.1);
        folded.head.iter().for_each(|line| self.show_printed(line));
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.show_printed(line));
    }

    /// What a subagent answered, unless it was the last thing that it said.
    fn show_result(&mut self, id: &Id, subagent: &Subagent) {
        let Some(result) = subagent.result.as_deref().filter(|result| !self.subagents.has_said(id, result)) else {
            return;
        };
        let folded = self.fold(result.trim(), 6, 2);
        self.paper.depth += 1;
        folded.head.iter().for_each(|line| self.paper.rows(0, 4, &[(PLAIN, line)]));
        self.show_more(0, folded.more);
        folded.tail.iter().for_each(|line| self.paper.rows(0, 4, &[(PLAIN, line)]));
        self.paper.depth -= 1;
    }

    /// How it ended, if not well.
    pub(super) fn show_failure(&mut self, item: &Item) {
        let said = item.call.as_ref().and_then(|call| call.error.as_deref());
        let said = said.or(match &item.details {
            Details::Mcp(mcp) => mcp.error.as_deref(),
            _ => None,
        });
        let (style, word): (Style, &str) = match item.status {
            Status::Failed => (RED, "failed"),
            Status::Declined => (YELLOW, "declined"),
            Status::Interrupted => (YELLOW, "interrupted"),
            Status::Running | Status::Completed | Status::Superseded => return,
        };
        // An exit code and the output say it already.
        if matches!(&item.details, Details::Command(command) if item.status == Status::Failed && says_enough(command, said))
        {
            return;
        }
        let folded = self.fold(said.unwrap_or_default().trim(), 4, 0);
        let first = folded.head.first().copied().unwrap_or_default();
        let colon = if first.is_empty() { "" } else { ": " };
        self.paper.rows(2, 3, &[(style, "✗ "), (style, word), (style, colon), (PLAIN, first)]);
        folded.head.iter().skip(1).for_each(|line| self.paper.line(4, &[(PLAIN, line)]));
        self.show_more(4, folded.more);
    }

    /// How many lines are not shown.
    pub(super) fn show_more(&mut self, indent: usize, lines: usize) {
        if lines > 0 {
            self.paper.line(indent, &[(DIM, &format!("… {} …", count(lines, "more line")))]);
        }
    }

    /// How long something took, if it was long.
    pub(super) fn took(item: &Item) -> Option<String> {
        item.duration_ms.filter(|millis| *millis >= LONG_MS).map(duration)
    }
}

/// What a tool gave back.
fn given_back(item: &Item) -> Cow<'_, str> {
    match &item.details {
        Details::Tool(tool) => tool.output.trim_end().into(),
        Details::Mcp(mcp) => mcp.result.as_deref().map_or("", RawValue::get).into(),
        _ => "".into(),
    }
}

fn says_enough(command: &Command, error: Option<&str>) -> bool {
    let exit_code = command.exit_code.is_some_and(|code| code != 0);
    let error = error.unwrap_or_default().trim();
    exit_code && (error.is_empty() || command.output.contains(error) || error.contains("exit"))
}
