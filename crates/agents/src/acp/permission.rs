//! `session/request_permission`: may a tool run? And what the client answered.

use switchboard_event::{
    About, Call, CallKind, Decider, Details, Id, Item, Notice, OptionKind, Outcome, RequestOpened, RequestOption,
    RequestResolved, Topic,
};

use super::{
    call::{Source, parsed},
    driver::reason,
    live::{Live, Theirs, control},
    rpc::Key,
};
use crate::{Json, Object, Scribe};

impl Live {
    pub(super) fn permission(&mut self, id: Option<Key>, params: &Object<'_>, scribe: &mut Scribe) {
        let place = self.place(params, scribe);
        let Some(id) = id else { return scribe.notice(control("session/request_permission")) };
        let request = scribe.local_id(&format!("request_{}", id.trim_matches('"')));
        let fields = params.object("toolCall");
        let call = fields.filled("toolCallId").unwrap_or_else(|| format!("call_of_{request}"));
        // A call that is over may be asked about again: then it is a new one.
        let Some(item) = self.upsert(&call, Source::Permission, true, &fields, &place, scribe) else { return };
        self.show_call(&item, scribe);
        let options = options(params);
        if let Some(call) = self.calls.by_item(&item) {
            call.request = Some(request.clone());
        }
        let allowing = options.iter().map(|o| (o.id.clone(), o.kind != OptionKind::Reject)).collect();
        self.theirs.asked(id, Theirs::Permission { request: request.clone(), item: item.clone(), options: allowing });
        if let Some(asked) = scribe.item(&item) {
            let title = fields.filled("title");
            let opened = opened(request, title, asked, options);
            scribe.request_opened(Some(item), opened);
        }
        scribe.otherwise(control("session/request_permission"));
    }

    /// The client decided. An answer that is not understood is a no.
    pub(super) fn decided(
        &mut self,
        request: Id,
        item: &Id,
        options: &[(String, bool)],
        fields: &Object<'_>,
        scribe: &mut Scribe,
    ) {
        let outcome = fields.object("result").object("outcome");
        let option = outcome.filled("optionId");
        let allows = options.iter().any(|(id, allows)| *allows && Some(id) == option.as_ref());
        let decided = match outcome.str("outcome").as_deref() {
            Some("selected") if allows => Outcome::Allowed,
            Some("cancelled") => Outcome::Cancelled,
            _ => Outcome::Declined,
        };
        let open = scribe.request_is_open(&request);
        if let Some(call) = self.calls.by_item(item).filter(|_| open) {
            call.refused = decided != Outcome::Allowed;
            call.request = None;
        }
        let reason = fields.get("result").and_then(reason);
        let message = reason.clone().or_else(|| fields.object("error").filled("message"));
        let by = Decider::Client;
        scribe.request_resolved(RequestResolved {
            request,
            outcome: decided,
            by,
            option,
            message,
            ..Default::default()
        });
        scribe.otherwise(Notice::new(Topic::Late).with_name("session/request_permission"));
        if reason.is_some() {
            let unheard = "the agent was not told why: ACP has no word for it";
            scribe.notice(Notice::new(Topic::Warning).with_name("session/request_permission").with_text(unheard));
        }
    }
}

fn options(params: &Object<'_>) -> Vec<RequestOption> {
    let option = |option: Json<'_>| {
        let option = option.object();
        let id = option.string("optionId").unwrap_or_default();
        let kind = match option.str("kind").as_deref() {
            Some("allow_once") => OptionKind::AllowOnce,
            Some("allow_always") if names_session(&option) => OptionKind::AllowSession,
            Some("allow_always") => OptionKind::AllowAlways,
            _ => OptionKind::Reject,
        };
        RequestOption { label: option.filled("name").unwrap_or_else(|| id.clone()), id, kind }
    };
    params.array("options").into_iter().map(option).collect()
}

/// The protocol does not tell "for this session" from "from now on"; the words on the option do.
fn names_session(option: &Object<'_>) -> bool {
    let name = option.string("name").unwrap_or_default().to_lowercase();
    name.contains("session") && !name.contains("sessions")
}

fn opened(request: Id, title: Option<String>, item: &Item, options: Vec<RequestOption>) -> RequestOpened {
    let call = item.call.as_deref();
    let title = title.or_else(|| call?.title.clone()).or_else(|| Some(call?.name.clone()));
    let mut opened = RequestOpened {
        request,
        about: About::Tool,
        title: title.unwrap_or_default(),
        call: item.call.clone(),
        options,
        ..RequestOpened::default()
    };
    match &item.details {
        Details::Command(command) => {
            opened.about = About::Command;
            (opened.command, opened.cwd) = (Some(command.command.clone()), command.cwd.clone());
        }
        Details::FileChange(change) => (opened.about, opened.changes) = (About::FileChange, change.changes.clone()),
        _ if call.is_some_and(leaves_planning) => opened.about = About::Plan,
        _ => {}
    }
    opened
}

/// To change the mode is to agree to a plan, if there is one to read.
fn leaves_planning(call: &Call) -> bool {
    let input = parsed(call.input.as_deref()).map(Json::object);
    call.kind == CallKind::Mode && input.is_some_and(|input| input.has("plan"))
}
