//! What a request is about: exactly what would run or change, nothing hidden and nothing left out silently.

use anstyle::Style;
use serde_json::Value;
use switchboard_event::{About, Change, ChangeKind, RequestOpened};

use crate::view::{
    Options, clean,
    diff::{self, counts, verb},
    figures::count,
    paper::paint,
    style::{BOLD, CYAN, DIM, PLAIN, YELLOW},
};

/// More than this of one thing is not shown, and it is said how much that is.
const LINES: usize = 400;
const BYTES: usize = 64 << 10;

/// All that is to be known before an answer.
pub fn text(request: &RequestOpened, options: &Options) -> String {
    let mut matter = Matter { text: String::new(), colour: options.colour };
    matter.title(request);
    if let Some(reason) = request.reason.as_deref().filter(|reason| !reason.trim().is_empty()) {
        matter.put(DIM, "  why: ", PLAIN, reason);
    }
    if let Some(command) = &request.command {
        matter.put(DIM, "  $ ", BOLD, command);
    }
    if let Some(cwd) = &request.cwd {
        matter.put(DIM, "  in ", PLAIN, cwd);
    }
    request.changes.iter().for_each(|change| matter.change(change));
    matter.input(request);
    matter.text
}

struct Matter {
    text: String,
    colour: bool,
}

impl Matter {
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
            if is_said { String::new() } else { format!(": {}", clean::exact(&request.title).replace('\n', " ")) };
        let line = paint(self.colour, YELLOW, mark) + &paint(self.colour, BOLD, &head) + &title;
        self.text += &format!("{line}\n");
    }

    /// A text of any number of lines behind a word; what follows the first line is indented like it.
    fn put(&mut self, style: Style, before: &str, own: Style, text: &str) {
        let (shown, rest) = shown(text);
        let mut indent = paint(self.colour, style, before);
        for line in shown.split('\n') {
            self.text += &format!("{indent}{}\n", paint(self.colour, own, line));
            indent = " ".repeat(before.chars().count());
        }
        self.rest(rest);
    }

    fn change(&mut self, change: &Change) {
        let (added, removed) = counts(&change.diff);
        let [added, removed] = [(" +", added), (" -", removed)]
            .map(|(mark, lines)| if lines == 0 { String::new() } else { format!("{mark}{lines}") });
        let to = change.to.as_deref().map(|to| format!(" → {}", clean::exact(to))).unwrap_or_default();
        let path = paint(self.colour, BOLD, &format!("{}{to}", clean::exact(&change.path)));
        self.text += &format!("  {} {path}{added}{removed}\n", verb(change));
        let whole = change.after.as_deref().filter(|_| change.diff.is_empty());
        let (text, rest) = shown(whole.unwrap_or(diff::body(&change.diff)));
        for line in text.lines() {
            let style = if whole.is_some() { PLAIN } else { diff::style(line) };
            self.text += &format!("    {}\n", paint(self.colour, style, line));
        }
        self.rest(rest);
    }

    /// What a tool would be given, where neither a command nor a change says it.
    fn input(&mut self, request: &RequestOpened) {
        let Some(call) = request.call.as_deref() else { return };
        let is_told = |change: &Change| {
            let is_whole = matches!(change.kind, ChangeKind::Delete | ChangeKind::Move);
            is_whole || !change.diff.is_empty() || change.after.is_some()
        };
        let are_told = !request.changes.is_empty() && request.changes.iter().all(is_told);
        if !request.questions.is_empty() || are_told {
            return;
        }
        let fields = call.input.as_ref().and_then(|input| serde_json::from_str::<Value>(input.get()).ok());
        if request.command.is_none() {
            let name = paint(self.colour, BOLD, &clean::exact(&call.name).replace('\n', " "));
            self.text += &format!("  {}{name}\n", paint(self.colour, CYAN, "→ "));
        }
        match fields {
            Some(Value::Object(fields)) => fields.iter().for_each(|(name, value)| {
                let is_said = value.as_str().is_some_and(|text| request.command.as_deref() == Some(text));
                let name = format!("    {}: ", clean::exact(name).replace('\n', " "));
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

    /// Says how much is not shown, in a visible color: the user is about to agree to it.
    fn rest(&mut self, rest: Option<String>) {
        if let Some(rest) = rest {
            self.text += &paint(self.colour, YELLOW, &format!("    … {rest} not shown …"));
            self.text.push('\n');
        }
    }
}

/// What is shown of a text, and how much is not.
fn shown(text: &str) -> (String, Option<String>) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let bytes = crate::view::fold::beginning(text, BYTES);
    let end = bytes.match_indices('\n').nth(LINES - 1).map_or(bytes.len(), |(at, _)| at);
    let part = crate::view::fold::beginning(bytes, end);
    let rest = text.get(part.len()..).unwrap_or_default();
    let lines = rest.bytes().filter(|byte| *byte == b'\n').count();
    let left = match (rest.is_empty(), lines) {
        (true, _) => None,
        (false, 0) => Some(count(rest.chars().count(), "character")),
        (false, lines) => Some(count(lines, "line")),
    };
    (clean::exact(part), left)
}
