//! Applies the results of Claude Code's tools to the items of their calls.

use switchboard_event::{Change, ChangeKind, Command, Content, Details, Item, Status};

use super::{assistant::parse_content_block, errors};
use crate::{JsonObject, JsonView, RunRecorder, diff};

/// Applies a `tool_result` block and the structured result of the same record, which subagents' results do not have.
/// `refused` comes from the record's fields; if they do not tell, the text decides.
pub fn apply_tool_result(
    mut item: Item,
    block: &JsonObject<'_>,
    structured: Option<JsonView<'_>>,
    refused: Option<bool>,
    recorder: &RunRecorder,
) -> Item {
    let content = result_contents(block.get("content"));
    let text = contents_text(&content);
    let failed = block.is_true("is_error");
    let refused = refused.unwrap_or_else(|| errors::is_denial(&text));
    item.status = result_status(failed, refused, recorder.is_interrupted());
    match &mut item.details {
        // A denied command did not run and printed nothing; the call has the reason.
        Details::Command(_) if matches!(item.status, Status::Declined | Status::Interrupted) => {}
        // A command that Claude Code rejected did not run either.
        Details::Command(_) if failed && text.starts_with(TOOL_USE_ERROR_TAG) => {}
        Details::Command(command) => finish_command(command, &text, failed, structured),
        Details::FileChange(change) => {
            change.output = Some(text.clone());
            if let Some(done) = structured.and_then(|s| structured_change(&s.as_object(), recorder)).filter(|_| !failed)
            {
                change.changes = vec![done];
            }
        }
        Details::Mcp(mcp) if failed => mcp.error = Some(text.clone()),
        Details::Mcp(mcp) => mcp.result = structured.or(block.get("content")).map(JsonView::to_raw),
        Details::WebSearch(search) => search.results = structured.or(block.get("content")).map(JsonView::to_raw),
        Details::Subagent(subagent) => {
            let fields = structured.map(JsonView::as_object).unwrap_or_default();
            subagent.background |= fields.str_equals("status", "async_launched") || fields.is_true("isAsync");
            let answer = contents_text(&result_contents(fields.get("content")));
            subagent.result = Some(if answer.is_empty() { text.clone() } else { answer });
        }
        Details::Tool(tool) => tool.output.clone_from(&text),
        Details::Plan(plan) => plan.output = Some(text.clone()),
        _ => {}
    }
    let is_command = matches!(item.details, Details::Command(_));
    if let Some(call) = &mut item.call {
        call.exit_code = exit_code(&text, failed, structured).filter(|_| !is_command);
        call.error = failed.then(|| strip_error_tags(&text).to_owned());
        call.content = content.into_iter().filter(|c| c.text.is_none()).collect();
    }
    if structured.is_some_and(|structured| structured.as_object().is_true("interrupted")) {
        // The command printed this output but did not finish.
        item.status = Status::Interrupted;
    }
    item
}

/// Applies the result of a tool that the provider runs itself.
pub fn apply_server_result(mut item: Item, content: Option<JsonView<'_>>) -> Item {
    match &mut item.details {
        Details::WebSearch(search) => search.results = content.map(JsonView::to_raw),
        Details::Tool(tool) => tool.result = content.map(JsonView::to_raw),
        Details::Mcp(mcp) => mcp.result = content.map(JsonView::to_raw),
        _ => {}
    }
    item.with_status(Status::Completed)
}

fn result_status(failed: bool, refused: bool, interrupted: bool) -> Status {
    match (failed, refused) {
        (true, true) if interrupted => Status::Interrupted,
        (true, true) => Status::Declined,
        (true, false) => Status::Failed,
        _ => Status::Completed,
    }
}

fn result_contents(content: Option<JsonView<'_>>) -> Vec<Content> {
    if let Some(text) = content.and_then(JsonView::as_str) {
        return vec![Content::text(text)];
    }
    let blocks = content.map(JsonView::as_array).unwrap_or_default();
    blocks.into_iter().filter_map(|block| parse_content_block(&block.as_object())).collect()
}

fn contents_text(content: &[Content]) -> String {
    content.iter().filter_map(|c| c.text.as_deref()).collect::<Vec<_>>().join("\n")
}

/// The beginning of Claude Code's message for a tool that is unknown, disabled, or called with invalid input.
const TOOL_USE_ERROR_TAG: &str = "<tool_use_error>";

/// Removes the tags that Claude Code puts around its own messages to the model.
fn strip_error_tags(text: &str) -> &str {
    text.strip_prefix(TOOL_USE_ERROR_TAG).and_then(|t| t.strip_suffix("</tool_use_error>")).unwrap_or(text)
}

/// The exit code that a tool other than a shell reports, for example of a background task that it waited for.
fn exit_code(text: &str, failed: bool, structured: Option<JsonView<'_>>) -> Option<i32> {
    let fields = structured.map(JsonView::as_object).unwrap_or_default();
    let reported = [&fields, &fields.get_object("task")].into_iter().find_map(|fields| fields.get_i32("exitCode"));
    let tagged = || text.split_once("<exit_code>").and_then(|(_, rest)| rest.split_once("</exit_code>"));
    let failure = || text.strip_prefix("Exit code ").filter(|_| failed).and_then(|rest| rest.lines().next());
    reported.or_else(|| tagged().map(|(code, _)| code).or_else(failure)?.trim().parse().ok())
}

/// Claude Code 2.1.197 has no field for an exit code: the text of a failure begins with `Exit code 3`.
fn finish_command(command: &mut Command, text: &str, failed: bool, structured: Option<JsonView<'_>>) {
    let fields = structured.map(JsonView::as_object).unwrap_or_default();
    let (code, rest) = match text.strip_prefix("Exit code ").filter(|_| failed) {
        Some(after) => {
            let (code, rest) = after.split_once('\n').unwrap_or((after, ""));
            (code.trim().parse().ok(), rest)
        }
        None => (None, text),
    };
    command.background |= fields.contains_key("backgroundTaskId");
    command.exit_code = code.or((!failed && !command.background && !fields.is_true("interrupted")).then_some(0));
    command.truncated = rest.starts_with("<persisted-output>");
    command.output = match (fields.get_str("stdout"), fields.get_str("stderr")) {
        // The text tells where the output of a background command goes.
        _ if command.background => rest.to_owned(),
        (Some(out), Some(err)) if !err.is_empty() && !out.is_empty() => format!("{out}\n{err}"),
        (Some(out), err) if out.is_empty() => err.unwrap_or_default().into_owned(),
        (Some(out), _) => out.into_owned(),
        (None, _) if rest == "(Bash completed with no output)" => String::new(),
        (None, _) => rest.to_owned(),
    };
}

/// Parses the structured result of `Write` and `Edit`: the original file and the patch.
fn structured_change(fields: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Change> {
    let path = recorder.absolute_path(&fields.get_str("filePath")?);
    let before = fields.get_string("originalFile");
    let after = match fields.get_string("content") {
        Some(content) => Some(content),
        None => before.as_deref().map(|before| apply_edit(before, fields)),
    };
    let patch: String = fields.get_array("structuredPatch").into_iter().map(format_hunk).collect();
    let mut change = diff::change_from_sides(path, before, after);
    if !patch.is_empty() {
        change.diff = patch;
    }
    Some(change)
}

/// Parses `bashEditDiff` of 2.1.326: the files that a command changed.
pub fn changes_by_command(structured: Option<JsonView<'_>>, recorder: &RunRecorder) -> Vec<Change> {
    let diff = structured.map(JsonView::as_object).unwrap_or_default().get_object("bashEditDiff");
    let files: Vec<_> = diff.get_array("files").into_iter().map(JsonView::as_object).collect();
    let change = |file: &JsonObject<'_>| {
        let kind = match (file.is_true("created"), file.is_true("deleted")) {
            (true, _) => ChangeKind::Add,
            (_, true) => ChangeKind::Delete,
            _ => ChangeKind::Modify,
        };
        let diff = file.get_array("hunks").into_iter().map(format_hunk).collect();
        Some(Change { path: recorder.absolute_path(&file.get_non_empty("filePath")?), kind, diff, ..Change::default() })
    };
    let mut changes: Vec<_> = files.iter().filter_map(change).collect();
    // There may be more changed files than shown ones.
    for path in diff.get_strings("changedFiles").iter().map(|path| recorder.absolute_path(path)) {
        if !changes.iter().any(|known| known.path == path) {
            changes.push(Change { path, ..Change::default() });
        }
    }
    changes
}

fn apply_edit(before: &str, fields: &JsonObject<'_>) -> String {
    let (old, new) = (fields.get_str("oldString").unwrap_or_default(), fields.get_str("newString").unwrap_or_default());
    if old.is_empty() {
        return new.into_owned();
    }
    match fields.is_true("replaceAll") {
        true => before.replace(&*old, &new),
        false => before.replacen(&*old, &new, 1),
    }
}

fn format_hunk(hunk: JsonView<'_>) -> String {
    let hunk = hunk.as_object();
    let range = |start: &str, lines: &str| format!("{},{}", hunk.get_count(start), hunk.get_count(lines));
    let (old, new) = (range("oldStart", "oldLines"), range("newStart", "newLines"));
    let lines: String = hunk.get_strings("lines").into_iter().map(|line| line + "\n").collect();
    format!("@@ -{old} +{new} @@\n{lines}")
}

#[cfg(test)]
mod tests {

    use switchboard_event::Command;

    use super::finish_command;

    #[track_caller]
    fn check_finished(text: &str, failed: bool, exit_code: Option<i32>, output: &str) {
        let mut command = Command::default();
        finish_command(&mut command, text, failed, None);
        assert_eq!((command.exit_code, command.output.as_str()), (exit_code, output));
    }

    #[test]
    fn exit_codes_are_in_the_text() {
        check_finished("made", false, Some(0), "made");
        check_finished("Exit code 3\nno such file", true, Some(3), "no such file");
        check_finished("Exit code 143\nCommand timed out after 1s", true, Some(143), "Command timed out after 1s");
        check_finished("the user said no", true, None, "the user said no");
        check_finished("(Bash completed with no output)", false, Some(0), "");
    }
}
