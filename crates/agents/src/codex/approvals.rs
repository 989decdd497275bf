//! `approval_requested` and its answer, as older descriptions of Codex have them. The app-server's own requests are
//! read in its folder.

use switchboard_event::{
    About, Decider, Details, Id, Notice, OptionKind, Outcome, RequestOpened, RequestOption, RequestResolved, Topic,
};

use super::{functions, names};
use crate::{Object, Scribe};

/// How many requests are remembered; there is one at a time.
const LIMIT: usize = 64;

/// The requests that wait. A request is named by its call, an answer may name the item.
#[derive(Default)]
pub struct Approvals {
    waiting: Vec<(String, Id)>,
}

impl Approvals {
    /// `{item: {id, call_id, name, arguments}}`
    pub fn requested(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let native = fields.object("item");
        let names = [native.filled("call_id"), native.filled("id"), fields.filled("id")];
        let Some(name) = names.iter().flatten().next() else { return };
        scribe.ensure_turn();
        let request = scribe.local_id(&format!("approval_{name}"));
        self.waiting.extend(names.iter().flatten().map(|name| (name.clone(), request.clone())));
        self.waiting.drain(..self.waiting.len().saturating_sub(LIMIT));
        let item = names.iter().flatten().map(Id::from).find(|id| scribe.item_is_open(id));
        scribe.request_opened(item, opened(request, &native));
    }

    /// `{approve, item_id}`
    pub fn answered(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let name = names::string(fields, &["item_id", "itemId", "call_id", "id"]).unwrap_or_default();
        let known = self.waiting.iter().find(|(known, _)| *known == name).map(|(_, request)| request.clone());
        let Some(request) = known else { return };
        self.waiting.retain(|(_, waiting)| *waiting != request);
        let (outcome, option) = match fields.is_true("approve") {
            true => (Outcome::Allowed, "approve"),
            false => (Outcome::Declined, "decline"),
        };
        let (by, option) = (Decider::Client, Some(option.to_owned()));
        if !scribe.request_resolved(RequestResolved { request, outcome, by, option, ..RequestResolved::default() }) {
            scribe.notice(Notice::new(Topic::Late).with_name("approval.respond"));
        }
    }
}

fn opened(request: Id, native: &Object<'_>) -> RequestOpened {
    let item = functions::item(native);
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
