//! `approval_requested` and its answer, in the format of older Codex documentation. Requests of the app-server are read
//! elsewhere.

use switchboard_event::{
    About, Decider, Details, Id, Notice, OptionKind, Outcome, RequestOpened, RequestOption, RequestResolved, Topic,
};

use super::{functions, names};
use crate::{JsonObject, RunRecorder};

/// Maximum number of remembered names; only one request is open at a time.
const MAX_PENDING_APPROVALS: usize = 64;

/// Pending approvals. A request is named by its call; an answer may name the item instead.
#[derive(Default)]
pub struct LegacyApprovals {
    waiting: Vec<(String, Id)>,
}

impl LegacyApprovals {
    /// Reads `{item: {id, call_id, name, arguments}}`.
    pub fn open_request(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let native = fields.get_object("item");
        let names = [native.get_non_empty("call_id"), native.get_non_empty("id"), fields.get_non_empty("id")];
        let Some(name) = names.iter().flatten().next() else { return };
        recorder.ensure_turn();
        let request = recorder.local_id(&format!("approval_{name}"));
        self.waiting.extend(names.iter().flatten().map(|name| (name.clone(), request.clone())));
        self.waiting.drain(..self.waiting.len().saturating_sub(MAX_PENDING_APPROVALS));
        let item = names.iter().flatten().map(Id::from).find(|id| recorder.item_is_open(id));
        recorder.request_opened(item, approval_request(request, &native));
    }

    /// Reads `{approve, item_id}`.
    pub fn resolve_request(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let name = names::first_string(fields, &["item_id", "itemId", "call_id", "id"]).unwrap_or_default();
        let known = self.waiting.iter().find(|(known, _)| *known == name).map(|(_, request)| request.clone());
        let Some(request) = known else { return };
        self.waiting.retain(|(_, waiting)| *waiting != request);
        let (outcome, option) = match fields.is_true("approve") {
            true => (Outcome::Allowed, "approve"),
            false => (Outcome::Declined, "decline"),
        };
        let (by, option) = (Decider::Client, Some(option.to_owned()));
        if !recorder.request_resolved(RequestResolved { request, outcome, by, option, ..RequestResolved::default() }) {
            recorder.write_notice(Notice::new(Topic::Late).with_name("approval.respond"));
        }
    }
}

fn approval_request(request: Id, native: &JsonObject<'_>) -> RequestOpened {
    let item = functions::parse_function_call(native);
    let call = item.call.unwrap_or_default();
    let (about, command, cwd) = match item.details {
        Details::Command(command) => (About::Command, Some(command.command), command.cwd),
        _ if call.name == "apply_patch" => (About::FileChange, None, None),
        _ => (About::Tool, None, None),
    };
    let option = |id: &str, label: &str, kind| RequestOption { id: id.to_owned(), label: label.to_owned(), kind };
    RequestOpened {
        request,
        about,
        title: command.clone().filter(|line| !line.is_empty()).unwrap_or_else(|| call.name.clone()),
        command,
        cwd,
        call: Some(call),
        options: vec![
            option("approve", "Allow", OptionKind::AllowOnce),
            option("decline", "Decline", OptionKind::Reject),
        ],
        ..RequestOpened::default()
    }
}
