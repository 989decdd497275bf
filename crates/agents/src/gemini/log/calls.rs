//! Tool calls of a message, and their results.

use switchboard_event::{Change, ChangeKind, Details, Id, Item, Status};

use super::{GeminiLogReader, messages, parse_time};
use crate::{JsonObject, JsonView, RunRecorder, diff, gemini::items};

impl GeminiLogReader {
    /// Reads the calls of a message, which may have no results at first.
    pub(super) fn read_tool_calls(&mut self, reply: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        for call in fields.get_array("toolCalls").into_iter().map(JsonView::as_object) {
            let number = self.calls.len();
            let id = call.get_non_empty("id").map_or_else(|| Id::from(format!("{reply}.call{number}")), Id::from);
            if self.calls.insert(id.clone()) {
                let name = call.get_str("name").unwrap_or_default();
                let brief = recorder.is_brief();
                let mut item = items::parse_tool_item(&name, call.get("args").filter(|_| !brief), recorder);
                item.reply = Some(Id::from(reply));
                name_subagent(&mut item, &call);
                self.answered = false;
                if brief {
                    recorder.item_started(&id, item.clone());
                    recorder.set_record_time(parse_time(&call, "timestamp").filter(|_| is_call_over(&call)));
                    recorder.item_completed(&id, item);
                    continue;
                }
                recorder.item_started(&id, item);
            }
            if recorder.item_is_open(&id) && is_call_over(&call) {
                recorder.set_record_time(parse_time(&call, "timestamp"));
                complete_call(&id, &call, recorder);
            }
        }
    }

    /// Reads a tool result as the model received it. The call itself may be missing in the log.
    pub(super) fn read_function_response(&mut self, response: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(id) = response.get_non_empty("id").map(Id::from) else { return };
        if self.calls.insert(id.clone()) {
            let name = response.get_str("name").unwrap_or_default();
            recorder.ensure_turn();
            recorder.item_started(&id, items::parse_tool_item(&name, None, recorder));
        }
        if let Some(item) = recorder.open_item(&id).cloned() {
            let given = parse_response(&response.get_object("response"));
            recorder.item_completed(&id, complete_item(item, given, None));
        }
    }
}

/// The output of a tool, or its error.
type GeminiToolResponse = Result<String, String>;

/// Statuses of an unfinished call in Gemini CLI 0.61.0.
const RUNNING_STATUSES: [&str; 4] = ["validating", "scheduled", "awaiting_approval", "executing"];

/// How Gemini CLI says that a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallOutcome {
    Succeeded,
    Failed,
    /// The status is not known.
    Unclear,
}

/// Returns the outcome of a call that is over. A call that has a result may still have the status of an unfinished one.
fn call_outcome(call: &JsonObject<'_>) -> CallOutcome {
    match call.get_str("status").as_deref() {
        None | Some("success") => CallOutcome::Succeeded,
        Some(status) if RUNNING_STATUSES.contains(&status) => CallOutcome::Succeeded,
        Some(status) if status == "error" || items::is_cancelled_status(status) => CallOutcome::Failed,
        Some(_) => CallOutcome::Unclear,
    }
}

fn is_call_over(call: &JsonObject<'_>) -> bool {
    call.get("result").is_some() || !call.get_str("status").is_none_or(|status| RUNNING_STATUSES.contains(&&*status))
}

fn complete_call(id: &Id, call: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let Some(item) = recorder.open_item(id).cloned() else { return };
    let responses = messages::function_responses(call.get("result"));
    let told = responses.iter().find(|response| response.get_str("id").is_none_or(|given| given == **id));
    let told = told.or(responses.first()).map(|response| parse_response(&response.get_object("response")));
    let shown = call.get("resultDisplay").map(display_text).filter(|text| !text.is_empty());
    let outcome = call_outcome(call);
    let given = match (told, outcome) {
        (Some(Err(why)), _) => Err(why),
        (told, CallOutcome::Failed) => Err(told.and_then(Result::ok).or_else(|| shown.clone()).unwrap_or_default()),
        (told, _) => Ok(told.and_then(Result::ok).unwrap_or_default()),
    };
    let mut item = complete_item(item, given, shown.clone());
    if let Some(call) = &mut item.call {
        call.display = shown;
    }
    if call.get_str("status").is_some_and(|status| items::is_cancelled_status(&status)) && item.status == Status::Failed
    {
        item.status = Status::Interrupted;
    }
    if outcome == CallOutcome::Unclear && item.status == Status::Completed {
        item.status = Status::Interrupted;
    }
    apply_file_change(&mut item, &call.get_object("resultDisplay"), recorder);
    recorder.item_completed(id, item);
}

/// Returns the text that is displayed to the user; for a file change, its diff.
fn display_text(shown: JsonView<'_>) -> String {
    let text = messages::content_text(shown);
    if text.is_empty() { shown.as_object().get_string("fileDiff").unwrap_or_default() } else { text }
}

fn parse_response(response: &JsonObject<'_>) -> GeminiToolResponse {
    match response.get("error") {
        Some(error) => Err(error.display_text().into_owned()),
        None => Ok(response.get("output").map(|output| output.display_text().into_owned()).unwrap_or_default()),
    }
}

/// Completes the item of a call. Its output is the displayed text, else the text that the model received.
fn complete_item(mut item: Item, given: GeminiToolResponse, shown: Option<String>) -> Item {
    let (told, why) = match given {
        Ok(told) => (told, None),
        Err(why) => (String::new(), Some(why)),
    };
    item.status = match &why {
        Some(why) if is_declined(why) => Status::Declined,
        Some(_) => Status::Failed,
        None => Status::Completed,
    };
    let exit_code = items::parse_exit_code(&told).or_else(|| why.as_deref().and_then(items::parse_exit_code));
    let output = shown.filter(|_| why.is_none()).unwrap_or_else(|| told.clone());
    match &mut item.details {
        Details::Command(command) => {
            let succeeded = (why.is_none() && !told.is_empty()).then_some(0);
            command.exit_code = exit_code.or(succeeded);
            if item.status == Status::Completed && command.exit_code.is_some_and(|code| code != 0) {
                item.status = Status::Failed;
            }
            command.output = output;
        }
        Details::Tool(tool) => tool.output = output,
        Details::FileChange(change) => change.output = Some(told).filter(|told| !told.is_empty()),
        Details::Subagent(subagent) => subagent.result = Some(told),
        Details::Mcp(mcp) => {
            mcp.error.clone_from(&why);
            mcp.result = Some(switchboard_event::to_raw_string(&told));
        }
        Details::WebSearch(search) => search.results = Some(switchboard_event::to_raw_string(&told)),
        Details::Plan(plan) => plan.output = Some(told),
        _ => {}
    }
    let is_command = matches!(item.details, Details::Command(_));
    if let Some(call) = &mut item.call {
        (call.error, call.exit_code) = (why, exit_code.filter(|_| !is_command));
    }
    item
}

/// Returns whether a person declined the call (Gemini CLI 0.61.0: `was canceled by the user`; before:
/// `did not allow tool call`).
fn is_declined(why: &str) -> bool {
    why.contains("canceled by the user") || why.contains("did not allow")
}

/// Applies the file change of the display, the only record of the whole file.
fn apply_file_change(item: &mut Item, display: &JsonObject<'_>, recorder: &RunRecorder) {
    let Details::FileChange(change) = &mut item.details else { return };
    let Some(path) = display.get_non_empty("filePath").or_else(|| display.get_non_empty("fileName")) else { return };
    let path = recorder.absolute_path(&path);
    let before = display.get_string("originalContent").filter(|_| !display.is_true("isNewFile"));
    let made = match display.get_string("newContent") {
        Some(after) => diff::change_from_sides(path, before, Some(after)),
        None => Change {
            path,
            kind: if display.is_true("isNewFile") { ChangeKind::Add } else { ChangeKind::Modify },
            diff: display.get_string("fileDiff").unwrap_or_default(),
            ..Change::default()
        },
    };
    change.changes = vec![made];
}

/// A subagent's session has its own log, next to its parent's.
fn name_subagent(item: &mut Item, call: &JsonObject<'_>) {
    if let (Details::Subagent(subagent), Some(agent)) = (&mut item.details, call.get_non_empty("agentId")) {
        subagent.thread = Some(Id::from(agent));
    }
}
