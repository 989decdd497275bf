//! What Claude's tools gave back, put into the items of their calls.

use switchboard_event::{Change, ChangeKind, Command, Content, Details, Item, Status};

use super::{assistant::piece, errors};
use crate::{Json, Object, Scribe, diff};

/// A `tool_result` block and the structured result of the same record. Subagents' results have none. `refused` is what fields say
/// about that; where they say nothing, the words tell.
pub fn of_tool(
    mut item: Item,
    block: &Object<'_>,
    structured: Option<Json<'_>>,
    refused: Option<bool>,
    scribe: &Scribe,
) -> Item {
    let content = contents(block.get("content"));
    let text = text_of(&content);
    let failed = block.is_true("is_error");
    let refused = refused.unwrap_or_else(|| errors::is_denial(&text));
    item.status = status(failed, refused, scribe.is_interrupted());
    match &mut item.details {
        // What was not allowed did not run and printed nothing; the call says why.
        Details::Command(_) if matches!(item.status, Status::Declined | Status::Interrupted) => {}
        // Neither did what Claude Code did not take.
        Details::Command(_) if failed && text.starts_with(NOT_TAKEN) => {}
        Details::Command(command) => finish_command(command, &text, failed, structured),
        Details::FileChange(change) => {
            change.output = Some(text.clone());
            if let Some(done) = structured.and_then(|s| changed(&s.object(), scribe)).filter(|_| !failed) {
                change.changes = vec![done];
            }
        }
        Details::Mcp(mcp) if failed => mcp.error = Some(text.clone()),
        Details::Mcp(mcp) => mcp.result = structured.or(block.get("content")).map(Json::to_raw),
        Details::WebSearch(search) => search.results = structured.or(block.get("content")).map(Json::to_raw),
        Details::Subagent(subagent) => {
            let fields = structured.map(Json::object).unwrap_or_default();
            subagent.background |= fields.is("status", "async_launched") || fields.is_true("isAsync");
            let answer = text_of(&contents(fields.get("content")));
            subagent.result = Some(if answer.is_empty() { text.clone() } else { answer });
        }
        Details::Tool(tool) => tool.output.clone_from(&text),
        Details::Plan(plan) => plan.output = Some(text.clone()),
        _ => {}
    }
    let is_command = matches!(item.details, Details::Command(_));
    if let Some(call) = &mut item.call {
        call.exit_code = exit_code(&text, failed, structured).filter(|_| !is_command);
        call.error = failed.then(|| plain(&text).to_owned());
        call.content = content.into_iter().filter(|c| c.text.is_none()).collect();
    }
    if structured.is_some_and(|structured| structured.object().is_true("interrupted")) {
        // It printed what it printed, and did not come to its end.
        item.status = Status::Interrupted;
    }
    item
}

/// The result of a tool that the provider runs itself.
pub fn of_server(mut item: Item, content: Option<Json<'_>>) -> Item {
    match &mut item.details {
        Details::WebSearch(search) => search.results = content.map(Json::to_raw),
        Details::Tool(tool) => tool.result = content.map(Json::to_raw),
        Details::Mcp(mcp) => mcp.result = content.map(Json::to_raw),
        _ => {}
    }
    item.with_status(Status::Completed)
}

fn status(failed: bool, refused: bool, interrupted: bool) -> Status {
    match (failed, refused) {
        (true, true) if interrupted => Status::Interrupted,
        (true, true) => Status::Declined,
        (true, false) => Status::Failed,
        _ => Status::Completed,
    }
}

fn contents(content: Option<Json<'_>>) -> Vec<Content> {
    if let Some(text) = content.and_then(Json::str) {
        return vec![Content::text(text)];
    }
    let blocks = content.map(Json::array).unwrap_or_default();
    blocks.into_iter().filter_map(|block| piece(&block.object())).collect()
}

fn text_of(content: &[Content]) -> String {
    content.iter().filter_map(|c| c.text.as_deref()).collect::<Vec<_>>().join("\n")
}

/// How Claude Code begins to say that a tool is unknown, not enabled here, or given something that makes no sense.
const NOT_TAKEN: &str = "<tool_use_error>";

/// Without the tags that Claude puts around its own messages to the model.
fn plain(text: &str) -> &str {
    text.strip_prefix(NOT_TAKEN).and_then(|t| t.strip_suffix("</tool_use_error>")).unwrap_or(text)
}

/// The exit code that a tool other than a shell reports: of a background task that it waited for, say.
fn exit_code(text: &str, failed: bool, structured: Option<Json<'_>>) -> Option<i32> {
    let fields = structured.map(Json::object).unwrap_or_default();
    let reported = [&fields, &fields.object("task")].into_iter().find_map(|fields| fields.i32("exitCode"));
    let tagged = || text.split_once("<exit_code>").and_then(|(_, rest)| rest.split_once("</exit_code>"));
    let failure = || text.strip_prefix("Exit code ").filter(|_| failed).and_then(|rest| rest.lines().next());
    reported.or_else(|| tagged().map(|(code, _)| code).or_else(failure)?.trim().parse().ok())
}

/// Claude Code 2.1.197 has no field for an exit code: a failure is a text that begins with `Exit code 3`.
fn finish_command(command: &mut Command, text: &str, failed: bool, structured: Option<Json<'_>>) {
    let fields = structured.map(Json::object).unwrap_or_default();
    let (code, rest) = match text.strip_prefix("Exit code ").filter(|_| failed) {
        Some(after) => {
            let (code, rest) = after.split_once('\n').unwrap_or((after, ""));
            (code.trim().parse().ok(), rest)
        }
        None => (None, text),
    };
    command.background |= fields.has("backgroundTaskId");
    command.exit_code = code.or((!failed && !command.background && !fields.is_true("interrupted")).then_some(0));
    command.truncated = rest.starts_with("<persisted-output>");
    command.output = match (fields.str("stdout"), fields.str("stderr")) {
        // What there is to know of a command in the background is where its output goes.
        _ if command.background => rest.to_owned(),
        (Some(out), Some(err)) if !err.is_empty() && !out.is_empty() => format!("{out}\n{err}"),
        (Some(out), err) if out.is_empty() => err.unwrap_or_default().into_owned(),
        (Some(out), _) => out.into_owned(),
        (None, _) if rest == "(Bash completed with no output)" => String::new(),
        (None, _) => rest.to_owned(),
    };
}

/// The structured result of `Write` and `Edit`: the file before, and the patch.
fn changed(fields: &Object<'_>, scribe: &Scribe) -> Option<Change> {
    let path = scribe.absolute(&fields.str("filePath")?);
    let before = fields.string("originalFile");
    let after = match fields.string("content") {
        Some(content) => Some(content),
        None => before.as_deref().map(|before| edited(before, fields)),
    };
    let patch: String = fields.array("structuredPatch").into_iter().map(hunk).collect();
    let mut change = diff::change(path, before, after);
    if !patch.is_empty() {
        change.diff = patch;
    }
    Some(change)
}

/// `bashEditDiff` of 2.1.326: the files that a command changed.
pub fn changed_by_command(structured: Option<Json<'_>>, scribe: &Scribe) -> Vec<Change> {
    let diff = structured.map(Json::object).unwrap_or_default().object("bashEditDiff");
    let files: Vec<_> = diff.array("files").into_iter().map(Json::object).collect();
    let change = |file: &Object<'_>| {
        let kind = match (file.is_true("created"), file.is_true("deleted")) {
            (true, _) => ChangeKind::Add,
            (_, true) => ChangeKind::Delete,
            _ => ChangeKind::Modify,
        };
        let diff = file.array("hunks").into_iter().map(hunk).collect();
        Some(Change { path: scribe.absolute(&file.filled("filePath")?), kind, diff, ..Change::default() })
    };
    let mut changes: Vec<_> = files.iter().filter_map(change).collect();
    // There may be more of them than are shown.
    for path in diff.strings("changedFiles").iter().map(|path| scribe.absolute(path)) {
        if !changes.iter().any(|known| known.path == path) {
            changes.push(Change { path, ..Change::default() });
        }
    }
    changes
}

fn edited(before: &str, fields: &Object<'_>) -> String {
    let (old, new) = (fields.str("oldString").unwrap_or_default(), fields.str("newString").unwrap_or_default());
    if old.is_empty() {
        return new.into_owned();
    }
    match fields.is_true("replaceAll") {
        true => before.replace(&*old, &new),
        false => before.replacen(&*old, &new, 1),
    }
}

fn hunk(hunk: Json<'_>) -> String {
    let hunk = hunk.object();
    let range = |start: &str, lines: &str| format!("{},{}", hunk.count(start), hunk.count(lines));
    let (old, new) = (range("oldStart", "oldLines"), range("newStart", "newLines"));
    let lines: String = hunk.strings("lines").into_iter().map(|line| line + "\n").collect();
    format!("@@ -{old} +{new} @@\n{lines}")
}

#[cfg(test)]
mod tests {
    use switchboard_event::Command;

    use super::finish_command;

    #[track_caller]
    fn check(text: &str, failed: bool, exit_code: Option<i32>, output: &str) {
        let mut command = Command::default();
        finish_command(&mut command, text, failed, None);
        assert_eq!((command.exit_code, command.output.as_str()), (exit_code, output));
    }

    #[test]
    fn exit_codes_are_in_the_text() {
        check("made", false, Some(0), "made");
        check("Exit code 3\nno such file", true, Some(3), "no such file");
        check("Exit code 143\nCommand timed out after 1s", true, Some(143), "Command timed out after 1s");
        check("the user said no", true, None, "the user said no");
        check("(Bash completed with no output)", false, Some(0), "");
    }
}
