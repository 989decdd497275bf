//! Items by type: commands, plans and file changes are rendered here.

use switchboard_event::{Change, ChangeKind, Command, Details, FileChange, Item, Plan, PlanEntry, PlanStatus};

use super::messages::ImageUrlFn;
use super::tool_calls::returned;
use super::{BodyBuilder, EntryBody, messages, tool_calls};
use crate::html::{
    DiffSource, DiffStat, HtmlFragment, SafeHtml, code, code_title, diff, element, line, markdown, terminal, words,
};

#[must_use]
pub fn item(item: &Item, address: &ImageUrlFn<'_>) -> EntryBody {
    match &item.details {
        Details::UserMessage(details) => messages::user(details, address),
        Details::AgentMessage(details) => messages::agent(item, details, address),
        Details::Reasoning(details) => messages::reasoning(details),
        Details::Command(details) => command(item, details, address),
        Details::FileChange(details) => file_change(item, details, address),
        Details::Mcp(details) => tool_calls::mcp(item, details, address),
        Details::WebSearch(details) => tool_calls::search(item, details, address),
        Details::Plan(details) => plan(details),
        Details::Subagent(details) => tool_calls::subagent(item, details, address),
        Details::Tool(details) => tool_calls::tool(item, details, address),
        Details::Unknown(details) => tool_calls::unknown(item, details, address),
    }
}

/// Returns the whole text of an item verbatim, for bodies that were cut.
#[must_use]
pub fn whole(item: &Item) -> String {
    let mut parts: Vec<String> = Vec::new();
    match &item.details {
        Details::UserMessage(details) => parts.push(details.joined_text()),
        Details::AgentMessage(details) => parts.push(details.text.clone()),
        Details::Reasoning(details) => parts.extend([&details.summary, &details.text].into_iter().flatten().cloned()),
        Details::Command(details) => parts.extend([format!("$ {}", details.command), details.output.clone()]),
        Details::FileChange(details) => parts.extend(changed(details)),
        Details::Mcp(details) => parts.extend(details.result.iter().map(|result| result.get().to_owned())),
        Details::WebSearch(details) => {
            parts.extend(details.queries.iter().cloned());
            parts.extend(details.results.iter().map(|results| results.get().to_owned()));
        }
        Details::Plan(details) => {
            parts.extend(details.text.clone());
            parts.extend(details.entries.iter().map(|entry| entry.step.clone()));
        }
        Details::Subagent(details) => parts.extend([&details.prompt, &details.result].into_iter().flatten().cloned()),
        Details::Tool(details) => {
            parts.push(details.output.clone());
            parts.extend(details.result.iter().map(|result| result.get().to_owned()));
        }
        Details::Unknown(details) => parts.extend(details.raw.iter().map(|raw| raw.get().to_owned())),
    }
    if let Some(call) = &item.call {
        let given = call.input.as_ref().map(|input| format!("{} {}", call.name, input.get()));
        parts.splice(0..0, given);
        parts.extend(call.error.clone());
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// Returns the diffs of all files, with their paths.
fn changed(change: &FileChange) -> Vec<String> {
    let files = change.changes.iter().map(|change| {
        let text = if change.diff.is_empty() { change.after.as_deref().unwrap_or_default() } else { &change.diff };
        format!("{}\n{text}", change.path)
    });
    files.chain(change.output.clone()).collect()
}

/// Longer output is initially folded.
const MAX_UNFOLDED_OUTPUT_LINES: u32 = 60;
/// Longer commands are repeated below the title.
const MAX_TITLE_COMMAND_BYTES: usize = 160;

fn command(item: &Item, command: &Command, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    if command.command.len() > MAX_TITLE_COMMAND_BYTES || command.command.trim().contains('\n') {
        builder.add(code(&command.command, "bash"));
    }
    if !command.output.is_empty() {
        builder.add(terminal(&command.output));
    }
    if command.truncated {
        builder.cut("There was more output than was kept.");
    }
    returned(&mut builder, item, address);
    let mut body = builder.body("command", code_title(&command.command));
    body.fold = body.size > MAX_UNFOLDED_OUTPUT_LINES;
    body.label = command_label(command);
    body
}

fn command_label(command: &Command) -> Option<String> {
    let code = command.exit_code.map(|code| format!("exit {code}"));
    let background = command.background.then(|| "in the background".to_owned());
    let words: Vec<String> = code.into_iter().chain(background).collect();
    (!words.is_empty()).then(|| words.join(" · "))
}

/// The maximum number of steps to show.
const MAX_STEPS: usize = 300;

fn plan(plan: &Plan) -> EntryBody {
    let mut builder = BodyBuilder::default();
    builder.note(plan.explanation.as_deref());
    if !plan.entries.is_empty() {
        builder.add(steps(&plan.entries));
    }
    if let Some(text) = plan.text.as_deref().filter(|text| !text.trim().is_empty()) {
        builder.add(markdown(text));
    }
    let mut body = builder.body("plan", line("Plan"));
    let done = plan.entries.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
    body.label = (!plan.entries.is_empty()).then(|| format!("{done} of {} done", plan.entries.len()));
    body
}

fn steps(entries: &[PlanEntry]) -> HtmlFragment {
    let mut rows: Vec<SafeHtml> = entries.iter().take(MAX_STEPS).map(step).collect();
    let cut = entries.len() > MAX_STEPS;
    if cut {
        rows.push(element("li", "cut", &[line(&format!("… {} more …", entries.len() - MAX_STEPS))]));
    }
    HtmlFragment { lines: u32::try_from(rows.len()).unwrap_or(u32::MAX), html: element("ul", "plan", &rows), cut }
}

fn step(entry: &PlanEntry) -> SafeHtml {
    let class = match entry.status {
        PlanStatus::Pending => "step-pending",
        PlanStatus::InProgress => "step-running",
        PlanStatus::Completed => "step-completed",
        PlanStatus::Failed => "step-failed",
    };
    element("li", class, &[line(&entry.step)])
}

/// The maximum number of files to list.
const MAX_FILES: usize = 100;
/// After this many lines, files are listed without their diffs.
const MAX_DIFF_LINES: u32 = 1_200;
/// Longer changes are initially folded.
const MAX_UNFOLDED_DIFF_LINES: u32 = 200;

fn file_change(item: &Item, change: &FileChange, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    let tally = add_changes(&mut builder, &change.changes);
    if let Some(output) = change.output.as_deref().filter(|output| !output.trim().is_empty()) {
        builder.folded("Output", terminal(output));
    }
    returned(&mut builder, item, address);
    let mut body = builder.body("change", change_title(item, &change.changes));
    body.fold = body.size > MAX_UNFOLDED_DIFF_LINES;
    body.label = (tally != DiffStat::default()).then(|| diff_label(tally));
    body
}

/// Adds file changes and returns their total.
pub(super) fn add_changes(builder: &mut BodyBuilder, changes: &[Change]) -> DiffStat {
    let mut sum = DiffStat::default();
    for change in changes.iter().take(MAX_FILES) {
        let tally = add_change(builder, change);
        sum = DiffStat { added: sum.added + tally.added, removed: sum.removed + tally.removed };
    }
    if changes.len() > MAX_FILES {
        builder.cut(&format!("… {} more files …", changes.len() - MAX_FILES));
    }
    sum
}

fn change_title(item: &Item, changes: &[Change]) -> SafeHtml {
    match changes {
        [] => tool_calls::title(item, "change"),
        [change] => describe_change(change),
        _ => line(&format!("{} files", changes.len())),
    }
}

fn add_change(builder: &mut BodyBuilder, change: &Change) -> DiffStat {
    let Some(edit) = diff_source(change) else {
        builder.line(element("div", "diff-file", &[describe_change(change)]));
        return DiffStat::default();
    };
    let (shown, tally) = diff(edit, change.to.as_deref().unwrap_or(&change.path));
    let count = |class, sign: char, count: usize| element("span", class, &[line(&format!("{sign}{count}"))]);
    let heading = words(&[describe_change(change), count("add", '+', tally.added), count("del", '−', tally.removed)]);
    builder.line(element("div", "diff-file", &[heading]));
    if builder.lines() < MAX_DIFF_LINES {
        builder.add(shown)
    } else {
        builder.cut("… not shown here …")
    }
    tally
}

fn diff_source(change: &Change) -> Option<DiffSource<'_>> {
    match (&change.before, &change.after) {
        _ if !change.diff.is_empty() => Some(DiffSource::Unified(&change.diff)),
        (None, None) => None,
        (before, after) => {
            Some(DiffSource::Sides(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default()))
        }
    }
}

fn describe_change(change: &Change) -> SafeHtml {
    let verb = match change.kind {
        ChangeKind::Add => "Add",
        ChangeKind::Modify => "Edit",
        ChangeKind::Delete => "Delete",
        ChangeKind::Move => "Move",
    };
    let to = change.to.as_deref().map(|to| [line("→"), code_title(to)]);
    let pieces = [line(verb), code_title(&change.path)].into_iter().chain(to.into_iter().flatten());
    words(&pieces.collect::<Vec<_>>())
}

fn diff_label(tally: DiffStat) -> String {
    format!("+{} −{}", tally.added, tally.removed)
}
