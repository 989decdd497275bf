//! Tools that a message calls, and what they gave back.

use switchboard_event::{Change, ChangeKind, Details, Id, Item, Status};

use super::{Log, parts, time};
use crate::{
    Json, Object, Scribe, diff,
    gemini::{items, results},
};

impl Log {
    /// The calls of a message. The first time they may have no results yet.
    pub(super) fn tool_calls(&mut self, reply: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        for call in fields.array("toolCalls").into_iter().map(Json::object) {
            let number = self.calls.len();
            let id = call.filled("id").map_or_else(|| Id::from(format!("{reply}.call{number}")), Id::from);
            if self.calls.insert(id.clone()) {
                let name = call.str("name").unwrap_or_default();
                let brief = scribe.is_brief();
                let mut item = items::item(&name, call.get("args").filter(|_| !brief), scribe);
                item.reply = Some(Id::from(reply));
                name_subagent(&mut item, &call);
                self.answered = false;
                if brief {
                    scribe.item_started(&id, item.clone());
                    scribe.happened(time(&call, "timestamp").filter(|_| is_over(&call)));
                    scribe.item_completed(&id, item);
                    continue;
                }
                scribe.item_started(&id, item);
            }
            if scribe.item_is_open(&id) && is_over(&call) {
                scribe.happened(time(&call, "timestamp"));
                finish(&id, &call, scribe);
            }
        }
    }

    /// What a tool gave back, as the model was told. The call may never have been written down.
    pub(super) fn response(&mut self, response: &Object<'_>, scribe: &mut Scribe) {
        let Some(id) = response.filled("id").map(Id::from) else { return };
        if self.calls.insert(id.clone()) {
            let name = response.str("name").unwrap_or_default();
            scribe.ensure_turn();
            scribe.item_started(&id, items::item(&name, None, scribe));
        }
        if let Some(item) = scribe.item(&id).cloned() {
            let given = given(&response.object("response"));
            scribe.item_completed(&id, ended(item, given, None));
        }
    }
}

/// What a tool gave back, or what went wrong.
type Given = Result<String, String>;

/// The states of a call that is not over, as Gemini CLI 0.61.0 has them.
const UNDER_WAY: [&str; 4] = ["validating", "scheduled", "awaiting_approval", "executing"];

fn is_over(call: &Object<'_>) -> bool {
    call.get("result").is_some() || !call.str("status").is_none_or(|status| UNDER_WAY.contains(&&*status))
}

fn finish(id: &Id, call: &Object<'_>, scribe: &mut Scribe) {
    let Some(item) = scribe.item(id).cloned() else { return };
    let responses = parts::responses(call.get("result"));
    let told = responses.iter().find(|response| response.str("id").is_none_or(|given| given == **id));
    let told = told.or(responses.first()).map(|response| given(&response.object("response")));
    let shown = call.get("resultDisplay").map(display).filter(|text| !text.is_empty());
    // A call that has a result may still be called under way.
    let failed = !call.str("status").is_none_or(|status| status == "success" || UNDER_WAY.contains(&&*status));
    let given = match (told, failed) {
        (Some(Err(why)), _) => Err(why),
        (told, true) => Err(told.and_then(Result::ok).or_else(|| shown.clone()).unwrap_or_default()),
        (told, false) => Ok(told.and_then(Result::ok).unwrap_or_default()),
    };
    let mut item = ended(item, given, shown.clone());
    if let Some(call) = &mut item.call {
        call.display = shown;
    }
    if call.str("status").is_some_and(|status| results::is_cancelled(&status)) && item.status == Status::Failed {
        item.status = Status::Interrupted;
    }
    changed(&mut item, &call.object("resultDisplay"), scribe);
    scribe.item_completed(id, item);
}

/// What is shown to people, as text: of a change of a file, its diff.
fn display(shown: Json<'_>) -> String {
    let text = parts::text(shown);
    if text.is_empty() { shown.object().string("fileDiff").unwrap_or_default() } else { text }
}

fn given(response: &Object<'_>) -> Given {
    match response.get("error") {
        Some(error) => Err(error.display().into_owned()),
        None => Ok(response.get("output").map(|output| output.display().into_owned()).unwrap_or_default()),
    }
}

/// The item of a call that is over: what is shown to people is its output, and what the model was told where nothing is.
fn ended(mut item: Item, given: Given, shown: Option<String>) -> Item {
    let (told, why) = match given {
        Ok(told) => (told, None),
        Err(why) => (String::new(), Some(why)),
    };
    item.status = match &why {
        Some(why) if is_declined(why) => Status::Declined,
        Some(_) => Status::Failed,
        None => Status::Completed,
    };
    let exit_code = results::exit_code(&told).or_else(|| why.as_deref().and_then(results::exit_code));
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
            mcp.result = Some(switchboard_event::raw_string(&told));
        }
        Details::WebSearch(search) => search.results = Some(switchboard_event::raw_string(&told)),
        Details::Plan(plan) => plan.output = Some(told),
        _ => {}
    }
    let is_command = matches!(item.details, Details::Command(_));
    if let Some(call) = &mut item.call {
        (call.error, call.exit_code) = (why, exit_code.filter(|_| !is_command));
    }
    item
}

/// A person did not want it (Gemini CLI 0.61.0: `was canceled by the user`; before: `did not allow tool call`).
fn is_declined(why: &str) -> bool {
    why.contains("canceled by the user") || why.contains("did not allow")
}

/// What the tool did to a file, as it shows it: the only place where the file is whole.
fn changed(item: &mut Item, display: &Object<'_>, scribe: &Scribe) {
    let Details::FileChange(change) = &mut item.details else { return };
    let Some(path) = display.filled("filePath").or_else(|| display.filled("fileName")) else { return };
    let path = scribe.absolute(&path);
    let before = display.string("originalContent").filter(|_| !display.is_true("isNewFile"));
    let made = match display.string("newContent") {
        Some(after) => diff::change(path, before, Some(after)),
        None => Change {
            path,
            kind: if display.is_true("isNewFile") { ChangeKind::Add } else { ChangeKind::Modify },
            diff: display.string("fileDiff").unwrap_or_default(),
            ..Change::default()
        },
    };
    change.changes = vec![made];
}

/// The session of a subagent has a log of its own, beside its parent's.
fn name_subagent(item: &mut Item, call: &Object<'_>) {
    if let (Details::Subagent(subagent), Some(agent)) = (&mut item.details, call.filled("agentId")) {
        subagent.thread = Some(Id::from(agent));
    }
}
