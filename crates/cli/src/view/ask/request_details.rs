//! What a request is about: exactly what would run or change. Whatever is not shown is reported as such.

use anstyle::Style;
use serde_json::Value;
use switchboard_event::{About, Change, ChangeKind, RequestOpened};

use crate::view::{
    ViewOptions,
    figures::pluralize,
    file_changes::{change_verb, count_changed_lines, diff_body, diff_line_style},
    fold::truncate_bytes,
    sanitize::reveal_hidden,
    style::{BOLD, CYAN, DIM, PLAIN, YELLOW, paint},
};

/// Maximum lines and bytes shown of one text; the rest is reported as not shown.
const MAX_LINES: usize = 400;

const MAX_BYTES: usize = 64 << 10;

/// Returns everything that the user needs to know before an answer.
pub fn request_details(request: &RequestOpened, options: &ViewOptions) -> String {
    let mut details = DetailsWriter { text: String::new(), color: options.color };
    details.title(request);
    if let Some(reason) = request.reason.as_deref().filter(|reason| !reason.trim().is_empty()) {
        details.put(DIM, "  why: ", PLAIN, reason);
    }
    if let Some(command) = &request.command {
        details.put(DIM, "  $ ", BOLD, command);
    }
    if let Some(cwd) = &request.cwd {
        details.put(DIM, "  in ", PLAIN, cwd);
    }
    request.changes.iter().for_each(|change| details.change(change));
    details.input(request);
    details.text
}

struct DetailsWriter {
    text: String,
    color: bool,
}

impl DetailsWriter {
    fn title(&mut self, request: &RequestOpened) {
        let (mark, what) = match request.about {
            About::Question | About::Elicitation => ("? ", "asks"),
            About::Auth => ("? ", "wants to log in"),
            About::Plan => ("? ", "has a plan"),
            About::Permissions => ("? ", "wants more rights"),
            About::Command => ("? ", "wants to run a command"),
            About::FileChange => ("? ", "wants to change files"),
            About::Tool | About::Hook | About::Other => ("? ", "wants to use a tool"),
        };
        let head = format!("the agent {what}");
        let is_said = request.title.is_empty()
            || request.command.as_ref() == Some(&request.title)
            || request.questions.iter().any(|question| question.question == request.title);
        let title =
            if is_said { String::new() } else { format!(": {}", reveal_hidden(&request.title).replace('\n', " ")) };
        let line = paint(self.color, YELLOW, mark) + &paint(self.color, BOLD, &head) + &title;
        self.text += &format!("{line}\n");
    }

    /// Writes a text after a label; its other lines are indented like the first.
    fn put(&mut self, style: Style, before: &str, own: Style, text: &str) {
        let (shown, rest) = truncate_text(text);
        let mut indent = paint(self.color, style, before);
        for line in shown.split('\n') {
            self.text += &format!("{indent}{}\n", paint(self.color, own, line));
            indent = " ".repeat(before.chars().count());
        }
        self.rest(rest);
    }

    fn change(&mut self, change: &Change) {
        let (added, removed) = count_changed_lines(&change.diff);
        let [added, removed] = [(" +", added), (" -", removed)]
            .map(|(mark, lines)| if lines == 0 { String::new() } else { format!("{mark}{lines}") });
        let to = change.to.as_deref().map(|to| format!(" → {}", reveal_hidden(to))).unwrap_or_default();
        let path = paint(self.color, BOLD, &format!("{}{to}", reveal_hidden(&change.path)));
        self.text += &format!("  {} {path}{added}{removed}\n", change_verb(change));
        let whole = change.after.as_deref().filter(|_| change.diff.is_empty());
        let (text, rest) = truncate_text(whole.unwrap_or(diff_body(&change.diff)));
        for line in text.lines() {
            let style = if whole.is_some() { PLAIN } else { diff_line_style(line) };
            self.text += &format!("    {}\n", paint(self.color, style, line));
        }
        self.rest(rest);
    }

    /// Writes the input of a tool, unless a command or a change shows it.
    fn input(&mut self, request: &RequestOpened) {
        let Some(call) = request.call.as_deref() else { return };
        let was_reported = |change: &Change| {
            let is_whole = matches!(change.kind, ChangeKind::Delete | ChangeKind::Move);
            is_whole || !change.diff.is_empty() || change.after.is_some()
        };
        let are_shown = !request.changes.is_empty() && request.changes.iter().all(was_reported);
        if !request.questions.is_empty() || are_shown {
            return;
        }
        let fields = call.input.as_ref().and_then(|input| serde_json::from_str::<Value>(input.get()).ok());
        if request.command.is_none() {
            let name = paint(self.color, BOLD, &reveal_hidden(&call.name).replace('\n', " "));
            self.text += &format!("  {}{name}\n", paint(self.color, CYAN, "→ "));
        }
        match fields {
            Some(Value::Object(fields)) => fields.iter().for_each(|(name, value)| {
                let is_said = value.as_str().is_some_and(|text| request.command.as_deref() == Some(text));
                let name = format!("    {}: ", reveal_hidden(name).replace('\n', " "));
                match value {
                    _ if is_said => {}
                    Value::String(text) => self.put(DIM, &name, PLAIN, text),
                    other => self.put(DIM, &name, PLAIN, &other.to_string()),
                }
            }),
            Some(Value::Null) | None => {}
            Some(other) => self.put(PLAIN, "    ", PLAIN, &other.to_string()),
        }
    }

    /// Reports how much is not shown, in a visible color: the user is about to approve it.
    fn rest(&mut self, rest: Option<String>) {
        if let Some(rest) = rest {
            self.text += &paint(self.color, YELLOW, &format!("    … {rest} not shown …"));
            self.text.push('\n');
        }
    }
}

/// Returns the beginning of a text, and how much is left out.
fn truncate_text(text: &str) -> (String, Option<String>) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let bytes = truncate_bytes(text, MAX_BYTES);
    let end = bytes.match_indices('\n').nth(MAX_LINES - 1).map_or(bytes.len(), |(at, _)| at);
    let part = truncate_bytes(bytes, end);
    let rest = text.get(part.len()..).unwrap_or_default();
    let lines = rest.bytes().filter(|byte| *byte == b'\n').count();
    let left = match (rest.is_empty(), lines) {
        (true, _) => None,
        (false, 0) => Some(pluralize(rest.chars().count(), "character")),
        (false, lines) => Some(pluralize(lines, "line")),
    };
    (reveal_hidden(part), left)
}
