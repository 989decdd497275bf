//! Tool calls: commands, calls of tools, searches, subagents. What it is stands on one line when it begins; how it went follows
//! when it has ended. A call that ends after something else was shown gets its line again.

use std::borrow::Cow;

use anstyle::Style;
use serde_json::{Value, value::RawValue};
use switchboard_event::{Call, CallKind, Command, Details, Event, Id, Item, Mcp, Status, Subagent, WebSearch};

use super::{
    DetailLevel, TranscriptView,
    figures::{format_duration, pluralize},
    fold::{MAX_LINE_COLUMNS, UNLIMITED, truncate_bytes},
    items::{OpenItem, subagent_label},
    renderer::BlockKind,
    sanitize::{sanitize_line, sanitize_printed_line},
    style::{BOLD, CYAN, DIM, PLAIN, RED, YELLOW},
};

/// Shorter durations are not shown.
const LONG_MS: u64 = 1_000;

/// Lines shown at the beginning and at the end of a tool's output in a stored transcript.
const TOOL_OUTPUT: (usize, usize) = (3, 1);

/// Maximum bytes kept of a command's last line of output.
const LAST_LINE: usize = 400;

/// Lines shown at the beginning and at the end of a command's output.
const OUTPUT_LINES: (usize, usize) = (5, 5);

/// Lines shown at the beginning and at the end of a command, and rows of each.
const COMMAND_LINES: (usize, usize, usize) = (6, 2, 4);

/// The most informative arguments of a call, best first.
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

/// The heading of a tool call: a kind, a name and the main argument.
struct CallHeading {
    /// Empty if the name alone is clear.
    pub kind: &'static str,
    pub name: String,
    pub about: String,
}

impl CallHeading {
    fn new(kind: &'static str, name: impl Into<String>, about: impl Into<String>) -> Self {
        Self { kind, name: name.into(), about: about.into() }
    }

    fn text(&self) -> String {
        [self.kind, &self.name, &self.about].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the heading of a call, as far as it is known.
fn call_heading(item: &Item, cwd: Option<&str>) -> Option<CallHeading> {
    let about = item.call.as_deref().map(|call| main_argument(call, cwd)).unwrap_or_default();
    // Some agents repeat the tool's name in every field.
    let about = if item.call.as_ref().is_some_and(|call| call.name == about) { String::new() } else { about };
    Some(match &item.details {
        Details::Mcp(Mcp { server, tool, .. }) => CallHeading::new("mcp", format!("{server}.{tool}"), about),
        Details::WebSearch(WebSearch { queries, .. }) if queries.is_empty() => return None,
        Details::WebSearch(WebSearch { queries, .. }) => CallHeading::new("web", "search", queries.join(" · ")),
        Details::Subagent(subagent) => subagent_heading(subagent),
        Details::Tool(_) => CallHeading::new("", item.call.as_ref().map_or("tool", |call| &call.name), about),
        Details::Unknown(unknown) => {
            CallHeading::new("", item.call.as_ref().map_or(&unknown.name, |call| &call.name), about)
        }
        _ => return None,
    })
}

fn subagent_heading(subagent: &Subagent) -> CallHeading {
    let label = subagent_label(subagent);
    let prompt = subagent.prompt.as_deref().unwrap_or_default();
    let prompt = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let prompt = if prompt.starts_with(label.trim()) || label.starts_with(prompt) { "" } else { prompt };
    let kind = if subagent.background { "background agent" } else { "agent" };
    CallHeading::new(kind, label, prompt)
}

/// Returns the main argument of a call: the file it is about, otherwise the most informative argument, otherwise its
/// title.
fn main_argument(call: &Call, cwd: Option<&str>) -> String {
    if let [place] = call.locations.as_slice()
        && call.kind != CallKind::Search
    {
        return relative_path(&place.path, cwd).into_owned();
    }
    let input = call.input.as_deref().map_or("", |input| short_input(input.get()));
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
        Some((_, text)) => relative_path(text, cwd).into_owned(),
        None if fields.is_empty() => title.unwrap_or_default().to_owned(),
        None => title.map_or_else(|| Value::Object(fields).to_string(), str::to_owned),
    }
}

/// Skips an input that is too long to parse for a heading.
fn short_input(input: &str) -> &str {
    if input.len() > 1 << 20 { "" } else { input }
}

/// Returns a path relative to the session's directory if it is inside.
pub fn relative_path<'a>(path: &'a str, cwd: Option<&str>) -> Cow<'a, str> {
    let inside = cwd.filter(|cwd| !cwd.is_empty()).and_then(|cwd| path.strip_prefix(cwd.trim_end_matches('/')));
    match inside.and_then(|path| path.strip_prefix('/')) {
        Some(path) if !path.is_empty() => path.into(),
        _ => path.into(),
    }
}

/// Returns the name of a call's tool and what it works on.
pub fn describe_call(item: &Item, cwd: Option<&str>) -> (String, String) {
    let named = |name: &str| item.call.as_ref().map_or(name, |call| &call.name).to_owned();
    let (name, about) = match &item.details {
        Details::Command(Command { command, .. }) => (named("shell"), unwrap_shell(command).to_owned()),
        Details::FileChange(change) => (
            named("edit"),
            change.changes.first().map(|it| relative_path(&it.path, cwd).into_owned()).unwrap_or_default(),
        ),
        _ => match call_heading(item, cwd) {
            Some(CallHeading { kind: "", name, about }) => (name, about),
            Some(CallHeading { kind, name, about }) => (format!("{kind} {name}"), about),
            None => (named("tool"), String::new()),
        },
    };
    (sanitize_line(&name), sanitize_line(truncate_bytes(&about, LAST_LINE)))
}

/// Describes an item for the status line.
pub fn describe_work(item: &Item, cwd: Option<&str>) -> String {
    let text = match &item.details {
        Details::Command(Command { command, .. }) => truncate_bytes(unwrap_shell(command), LAST_LINE).to_owned(),
        Details::FileChange(change) => match change.changes.first() {
            Some(first) => format!("editing {}", relative_path(&first.path, cwd)),
            None => "editing".to_owned(),
        },
        _ => call_heading(item, cwd).map(|heading| heading.text()).unwrap_or_default(),
    };
    sanitize_line(truncate_bytes(&text, LAST_LINE))
}

pub fn keep_last_line(kept: &mut String, text: &str) {
    let lines = text.trim_end_matches(['\n', '\r', ' ']);
    if let Some(line) = lines.rsplit('\n').next().filter(|line| !line.trim().is_empty()) {
        *kept = sanitize_printed_line(truncate_bytes(line, LAST_LINE));
    }
}

impl TranscriptView {
    pub(super) fn work_started(&mut self, event: &Event, item: &Item) {
        match &item.details {
            Details::FileChange(_) | Details::UserMessage(_) => {}
            Details::Subagent(_) => self.show_heading(event, item),
            // Of parallel calls, the others are shown with their result when they end.
            _ if self.is_busy(event) => {}
            _ => self.show_heading(event, item),
        }
    }

    /// Returns whether another call is in progress whose result is still to be shown.
    fn is_busy(&self, event: &Event) -> bool {
        let others = self.open.iter().filter(|(id, _)| Some(*id) != event.item.as_ref());
        others.map(|(_, open)| open).any(|open| open.heading.is_some() && open.thread == event.thread)
    }

    fn show_heading(&mut self, event: &Event, item: &Item) {
        let Some(text) = self.heading_text(item) else { return };
        self.begin(event, BlockKind::Work);
        if let Details::Command(command) = &item.details {
            self.show_command(command);
        } else if let Some(heading) = call_heading(item, self.cwd.as_deref()) {
            let space = |text: &str| if text.is_empty() { "" } else { " " };
            let spans = [
                (CYAN, "→ "),
                (DIM, heading.kind),
                (DIM, space(heading.kind)),
                (BOLD, &heading.name),
                (PLAIN, space(&heading.about)),
                (PLAIN, &heading.about),
            ];
            self.renderer.line(0, &spans);
        }
        self.renderer.set_owner(event.item.as_ref());
        if let (Details::Subagent(_), Some(id)) = (&item.details, &event.item) {
            self.subagents.show(Some(id.clone()));
        }
        if let Some(open) = event.item.as_ref().and_then(|id| self.open.get_mut(id)) {
            open.heading = Some(text);
        }
    }

    /// Returns the text of the heading, to detect changes.
    fn heading_text(&self, item: &Item) -> Option<String> {
        match &item.details {
            Details::Command(command) => Some(command.command.clone()),
            _ => call_heading(item, self.cwd.as_deref()).map(|heading| heading.text()),
        }
    }

    pub(super) fn work_completed(&mut self, event: &Event, item: &Item, open: &OpenItem) {
        let Some(id) = &event.item else { return };
        let was_reported =
            self.requests.was_reported(id) && matches!(item.status, Status::Declined | Status::Interrupted);
        let as_shown = open.heading.is_some() && open.heading == self.heading_text(item);
        if was_reported || as_shown && !self.has_outcome(event, item) {
            return;
        }
        if !(as_shown && (self.renderer.is_owned(id) || self.subagents.is_shown(id))) {
            self.show_heading(event, item);
        }
        match &item.details {
            Details::Command(command) => self.show_output(command, item),
            Details::Subagent(subagent) => self.show_result(id, subagent),
            _ => self.show_exchange(item),
        }
        self.show_failure(item);
        self.renderer.set_owner(None);
        if self.subagents.is_shown(id) {
            self.subagents.show(None);
        }
    }

    /// Returns whether there is more to show than that the call succeeded.
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
                _ => self.renderer.options.detail != DetailLevel::Live && !tool_output(item).is_empty(),
            }
    }

    /// Shows the output of a tool in a stored transcript, and its input in full detail.
    fn show_exchange(&mut self, item: &Item) {
        let detail = self.renderer.options.detail;
        if detail == DetailLevel::Live {
            return;
        }
        let input = item.call.as_ref().and_then(|call| call.input.as_deref()).filter(|_| detail == DetailLevel::Full);
        if let Some(input) = input.map(RawValue::get).filter(|input| *input != "{}") {
            self.renderer.rows(2, 1, &[(DIM, input)]);
        }
        let output = tool_output(item).into_owned();
        let folded = self.fold(&output, TOOL_OUTPUT.0, TOOL_OUTPUT.1);
        folded.head.iter().for_each(|line| self.show_printed(line));
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.show_printed(line));
    }

    /// Shows the result of a subagent, unless it was its last message.
    fn show_result(&mut self, id: &Id, subagent: &Subagent) {
        let Some(result) = subagent.result.as_deref().filter(|result| !self.subagents.has_said(id, result)) else {
            return;
        };
        let folded = self.fold(result.trim(), 6, 2);
        self.renderer.depth += 1;
        folded.head.iter().for_each(|line| self.renderer.rows(0, 4, &[(PLAIN, line)]));
        self.show_more(0, folded.more);
        folded.tail.iter().for_each(|line| self.renderer.rows(0, 4, &[(PLAIN, line)]));
        self.renderer.depth -= 1;
    }

    /// Shows the status of a call that did not succeed.
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
        // The exit code and the output already show it.
        if matches!(&item.details, Details::Command(command) if item.status == Status::Failed && is_failure_visible(command, said))
        {
            return;
        }
        let folded = self.fold(said.unwrap_or_default().trim(), 4, 0);
        let first = folded.head.first().copied().unwrap_or_default();
        let colon = if first.is_empty() { "" } else { ": " };
        self.renderer.rows(2, 3, &[(style, "✗ "), (style, word), (style, colon), (PLAIN, first)]);
        folded.head.iter().skip(1).for_each(|line| self.renderer.line(4, &[(PLAIN, line)]));
        self.show_more(4, folded.more);
    }

    /// Shows how many lines are left out.
    pub(super) fn show_more(&mut self, indent: usize, lines: usize) {
        if lines > 0 {
            self.renderer.line(indent, &[(DIM, &format!("… {} …", pluralize(lines, "more line")))]);
        }
    }

    /// Returns how long a call took, if it was long.
    pub(super) fn took(item: &Item) -> Option<String> {
        item.duration_ms.filter(|millis| *millis >= LONG_MS).map(format_duration)
    }
}

fn tool_output(item: &Item) -> Cow<'_, str> {
    match &item.details {
        Details::Tool(tool) => tool.output.trim_end().into(),
        Details::Mcp(mcp) => mcp.result.as_deref().map_or("", RawValue::get).into(),
        _ => "".into(),
    }
}

fn is_failure_visible(command: &Command, error: Option<&str>) -> bool {
    let exit_code = command.exit_code.is_some_and(|code| code != 0);
    let error = error.unwrap_or_default().trim();
    exit_code && (error.is_empty() || command.output.contains(error) || error.contains("exit"))
}

/// Removes the shell that some agents wrap every command in: `/bin/bash -lc '…'`.
pub fn unwrap_shell(command: &str) -> &str {
    let inner = || {
        let (shell, rest) = command.split_once(" -lc ").or_else(|| command.split_once(" -c "))?;
        let is_shell = matches!(shell.rsplit('/').next(), Some("bash" | "zsh" | "sh"));
        let quoted = rest.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let bare = Some(rest).filter(|rest| rest.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c)));
        quoted.filter(|inner| !inner.contains('\'')).or(bare).filter(|_| is_shell)
    };
    inner().unwrap_or(command)
}

impl TranscriptView {
    fn show_command(&mut self, command: &Command) {
        let folded = self.fold(unwrap_shell(&command.command), COMMAND_LINES.0, COMMAND_LINES.1);
        for (number, line) in folded.head.iter().enumerate() {
            self.renderer.rows(0, COMMAND_LINES.2, &[(DIM, if number == 0 { "$ " } else { "  " }), (BOLD, line)]);
        }
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.renderer.rows(2, COMMAND_LINES.2, &[(BOLD, line)]));
        if let Some(cwd) = command.cwd.as_deref().filter(|cwd| self.cwd.as_deref().is_some_and(|own| own != *cwd)) {
            let cwd = relative_path(cwd, self.cwd.as_deref()).into_owned();
            self.renderer.line(2, &[(DIM, "in "), (DIM, &cwd)]);
        }
    }

    fn show_output(&mut self, command: &Command, item: &Item) {
        if command.background {
            return self.renderer.line(2, &[(DIM, "goes on in the background")]);
        }
        let folded = self.fold(&command.output, OUTPUT_LINES.0, OUTPUT_LINES.1);
        folded.head.iter().for_each(|line| self.show_printed(line));
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.show_printed(line));
        if command.truncated {
            self.renderer.line(2, &[(DIM, "(the agent kept only part of it)")]);
        }
        self.show_exit(command.exit_code, item);
    }

    fn show_printed(&mut self, line: &str) {
        let longest = if self.renderer.options.detail == DetailLevel::Full { UNLIMITED } else { 8 * MAX_LINE_COLUMNS };
        self.renderer.line(2, &[(PLAIN, &sanitize_printed_line(truncate_bytes(line, longest)))]);
    }

    fn show_exit(&mut self, code: Option<i32>, item: &Item) {
        let code = code.filter(|code| *code != 0).map(|code| format!("exit {code}"));
        let took = Self::took(item);
        let between = if code.is_some() && took.is_some() { " · " } else { "" };
        if code.is_some() || took.is_some() {
            let (code, took) = (code.unwrap_or_default(), took.unwrap_or_default());
            self.renderer.line(2, &[(RED, &code), (DIM, between), (DIM, &took)]);
        }
    }
}

#[cfg(test)]
mod tests {

    use super::unwrap_shell;

    #[test]
    fn a_shell_around_a_command_is_not_shown() {
        for (given, shown) in [
            ("/bin/bash -lc 'ls -l'", "ls -l"),
            ("bash -lc ls", "ls"),
            ("/bin/zsh -c 'a\nb'", "a\nb"),
            ("bash -lc 'a' 'b'", "bash -lc 'a' 'b'"),
            ("bash -lc 'it'\"'\"'s'", "bash -lc 'it'\"'\"'s'"),
            ("bash -lc ls; rm x", "bash -lc ls; rm x"),
            ("python -c 'x'", "python -c 'x'"),
        ] {
            assert_eq!(unwrap_shell(given), shown);
        }
    }
}
