//! Tool ends that events report in addition to the items of the model's API: exit codes, durations, servers, files.
//! Paginated histories have `item_completed`, legacy ones `*_end`.

use switchboard_event::{Details, Id, Item, Notice, Status, Topic};

use crate::{
    JsonObject, JsonView, RunRecorder,
    codex::{changes, items, names},
};

pub struct RolloutToolEnd<'a> {
    pub id: Id,
    /// Kind, by its name in the app-server protocol.
    pub kind: String,
    pub native: JsonView<'a>,
}

/// Parses the item of `item_completed`. `CommandExecution` is `commandExecution` in the app-server protocol.
pub fn parse_completed_item<'a>(native: JsonView<'a>) -> Option<RolloutToolEnd<'a>> {
    let fields = native.as_object();
    let (id, name) = (fields.get_non_empty("id")?, fields.get_str("type")?);
    let kind = name.char_indices().map(|(at, c)| if at == 0 { c.to_ascii_lowercase() } else { c }).collect();
    Some(RolloutToolEnd { id: id.into(), kind, native })
}

/// Parses an end event of a legacy history.
pub fn parse_end_event<'a>(event: &str, native: JsonView<'a>) -> Option<RolloutToolEnd<'a>> {
    let kind = match event {
        "patch_apply_end" => "fileChange",
        "mcp_tool_call_end" => "mcpToolCall",
        "exec_command_end" => "commandExecution",
        "web_search_end" => "webSearch",
        "view_image_tool_call" => "imageView",
        "image_generation_end" => "imageGeneration",
        _ => return None,
    };
    let id = native.as_object().get_non_empty("call_id")?;
    Some(RolloutToolEnd { id: id.into(), kind: kind.to_owned(), native })
}

/// Applies a tool end. An open call stays open until the model gets its result; a tool that the model did not call ends
/// here.
pub fn apply_tool_end(end: &RolloutToolEnd<'_>, reply: Option<Id>, recorder: &mut RunRecorder) {
    let fields = end.native.as_object();
    let known = recorder.open_item(&end.id).cloned();
    let mut item = items::parse_item(&end.kind, end.native, known.as_ref(), recorder);
    enrich_item(&mut item, known.as_ref(), &fields, recorder);
    if let Some(open) = recorder.item_mut(&end.id) {
        *open = item;
        return recorder.write_notice_about(Some(end.id.clone()), Notice::new(Topic::Echo).with_name("item_completed"));
    }
    item.reply = reply;
    let status = if item.status == Status::Running { Status::Completed } else { item.status };
    recorder.item_completed(&end.id, item.with_status(status));
}

fn enrich_item(item: &mut Item, known: Option<&Item>, fields: &JsonObject<'_>, recorder: &RunRecorder) {
    if item.status == Status::Running {
        item.status = match fields.get("success").and_then(JsonView::as_bool) {
            Some(false) => Status::Failed,
            _ => Status::Completed,
        };
    }
    match (&mut item.details, known.map(|known| &known.details)) {
        // The command as the model requested it is clearer than the one that Codex ran.
        (Details::Command(now), Some(Details::Command(before))) if !before.command.is_empty() => {
            now.command.clone_from(&before.command);
        }
        (Details::FileChange(change), _) => {
            if let Some(by_path) = fields.get("changes").filter(|changes| changes.is_object()) {
                change.changes = changes::parse_changes_by_path(&by_path.as_object(), recorder);
            }
            let printed = [fields.get_non_empty("stdout"), fields.get_non_empty("stderr")];
            change.output = Some(printed.into_iter().flatten().collect::<String>()).filter(|text| !text.is_empty());
        }
        (Details::Mcp(mcp), _) => {
            let invocation = fields.get_object("invocation");
            mcp.server = invocation.get_non_empty("server").unwrap_or_else(|| std::mem::take(&mut mcp.server));
            mcp.tool = invocation.get_non_empty("tool").unwrap_or_else(|| std::mem::take(&mut mcp.tool));
            let result = fields.get_object("result");
            mcp.result = result.get_raw("Ok").or(mcp.result.take());
            mcp.error = names::first_string(&result, &["Err"]).or(mcp.error.take());
            if let Some(call) = item.call.as_mut().filter(|call| call.name.is_empty()) {
                call.name.clone_from(&mcp.tool);
                call.input = call.input.take().or_else(|| invocation.get_raw("arguments"));
            }
            if mcp.error.is_some() {
                (item.status, mcp.result) = (Status::Failed, None);
            }
        }
        _ => {}
    }
}
