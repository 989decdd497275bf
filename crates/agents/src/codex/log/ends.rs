//! Ends of tools as events tell them, beside the items of the model's API: exit codes, durations, servers, files.
//! `item_completed` of a paginated history, `*_end` of a legacy one.

use switchboard_event::{Details, Id, Item, Notice, Status, Topic};

use super::super::{changes, items, names};
use crate::{Json, Object, Scribe};

/// What ended.
pub struct End<'a> {
    pub id: Id,
    /// Its kind, by the name that it has on the live wire.
    pub kind: String,
    pub native: Json<'a>,
}

/// The end of an item of `item_completed`, by its own words: `CommandExecution` is `commandExecution` on the live wire.
pub fn completed<'a>(native: Json<'a>) -> Option<End<'a>> {
    let fields = native.object();
    let (id, name) = (fields.filled("id")?, fields.str("type")?);
    let kind = name.char_indices().map(|(at, c)| if at == 0 { c.to_ascii_lowercase() } else { c }).collect();
    Some(End { id: id.into(), kind, native })
}

/// The end that an event of a legacy history tells.
pub fn ended<'a>(event: &str, native: Json<'a>) -> Option<End<'a>> {
    let kind = match event {
        "patch_apply_end" => "fileChange",
        "mcp_tool_call_end" => "mcpToolCall",
        "exec_command_end" => "commandExecution",
        "web_search_end" => "webSearch",
        "view_image_tool_call" => "imageView",
        "image_generation_end" => "imageGeneration",
        _ => return None,
    };
    let id = native.object().filled("call_id")?;
    Some(End { id: id.into(), kind: kind.to_owned(), native })
}

/// Takes note of an end. A call that is open goes on until the model hears of it; what nobody called ends here.
pub fn tell(end: &End<'_>, reply: Option<Id>, scribe: &mut Scribe) {
    let fields = end.native.object();
    let known = scribe.item(&end.id).cloned();
    let mut item = items::item(&end.kind, end.native, known.as_ref(), scribe);
    enrich(&mut item, known.as_ref(), &fields, scribe);
    if let Some(open) = scribe.item_mut(&end.id) {
        *open = item;
        return scribe.notice_about(Some(end.id.clone()), Notice::new(Topic::Echo).with_name("item_completed"));
    }
    item.reply = reply;
    let status = if item.status == Status::Running { Status::Completed } else { item.status };
    scribe.item_completed(&end.id, item.with_status(status));
}

fn enrich(item: &mut Item, known: Option<&Item>, fields: &Object<'_>, scribe: &Scribe) {
    if item.status == Status::Running {
        item.status = match fields.get("success").and_then(Json::bool) {
            Some(false) => Status::Failed,
            _ => Status::Completed,
        };
    }
    match (&mut item.details, known.map(|known| &known.details)) {
        // What the model asked for is said better than what Codex made of it.
        (Details::Command(now), Some(Details::Command(before))) if !before.command.is_empty() => {
            now.command.clone_from(&before.command);
        }
        (Details::FileChange(change), _) => {
            if let Some(by_path) = fields.get("changes").filter(|changes| changes.is_object()) {
                change.changes = changes::by_path(&by_path.object(), scribe);
            }
            let printed = [fields.filled("stdout"), fields.filled("stderr")];
            change.output = Some(printed.into_iter().flatten().collect::<String>()).filter(|text| !text.is_empty());
        }
        (Details::Mcp(mcp), _) => {
            let invocation = fields.object("invocation");
            mcp.server = invocation.filled("server").unwrap_or_else(|| std::mem::take(&mut mcp.server));
            mcp.tool = invocation.filled("tool").unwrap_or_else(|| std::mem::take(&mut mcp.tool));
            let result = fields.object("result");
            mcp.result = result.raw("Ok").or(mcp.result.take());
            mcp.error = names::string(&result, &["Err"]).or(mcp.error.take());
            if let Some(call) = item.call.as_mut().filter(|call| call.name.is_empty()) {
                call.name.clone_from(&mcp.tool);
                call.input = call.input.take().or_else(|| invocation.raw("arguments"));
            }
            if mcp.error.is_some() {
                (item.status, mcp.result) = (Status::Failed, None);
            }
        }
        _ => {}
    }
}
