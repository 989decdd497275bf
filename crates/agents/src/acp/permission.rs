//! `session/request_permission` and the client's answers.

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
use crate::{JsonObject, JsonView, RunRecorder};

impl Live {
    pub(super) fn permission(&mut self, id: Option<Key>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let place = self.place(params, recorder);
        let Some(id) = id else { return recorder.write_notice(control("session/request_permission")) };
        let request = recorder.local_id(&format!("request_{}", id.trim_matches('"')));
        let fields = params.get_object("toolCall");
        let call = fields.get_non_empty("toolCallId").unwrap_or_else(|| format!("call_of_{request}"));
        // A request about a finished call starts a new one.
        let Some(item) = self.upsert(&call, Source::Permission, true, &fields, &place, recorder) else { return };
        self.show_call(&item, recorder);
        let options = options(params);
        if let Some(call) = self.calls.by_item(&item) {
            call.request = Some(request.clone());
        }
        let allowing = options.iter().map(|o| (o.id.clone(), o.kind != OptionKind::Reject)).collect();
        self.theirs.asked(id, Theirs::Permission { request: request.clone(), item: item.clone(), options: allowing });
        if let Some(asked) = recorder.open_item(&item) {
            let title = fields.get_non_empty("title");
            let opened = opened(request, title, asked, options);
            recorder.request_opened(Some(item), opened);
        }
        recorder.write_notice_if_no_event(control("session/request_permission"));
    }

    /// Reads the client's decision. An unknown answer is a refusal.
    pub(super) fn decided(
        &mut self,
        request: Id,
        item: &Id,
        options: &[(String, bool)],
        fields: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let outcome = fields.get_object("result").get_object("outcome");
        let option = outcome.get_non_empty("optionId");
        let allows = options.iter().any(|(id, allows)| *allows && Some(id) == option.as_ref());
        let decided = match outcome.get_str("outcome").as_deref() {
            Some("selected") if allows => Outcome::Allowed,
            Some("cancelled") => Outcome::Cancelled,
            _ => Outcome::Declined,
        };
        let open = recorder.request_is_open(&request);
        if let Some(call) = self.calls.by_item(item).filter(|_| open) {
            call.refused = decided != Outcome::Allowed;
            call.request = None;
        }
        let reason = fields.get("result").and_then(reason);
        let message = reason.clone().or_else(|| fields.get_object("error").get_non_empty("message"));
        let by = Decider::Client;
        recorder.request_resolved(RequestResolved {
            request,
            outcome: decided,
            by,
            option,
            message,
            ..Default::default()
        });
        recorder.write_notice_if_no_event(Notice::new(Topic::Late).with_name("session/request_permission"));
        if reason.is_some() {
            let unheard = "the agent was not told why: ACP has no word for it";
            recorder
                .write_notice(Notice::new(Topic::Warning).with_name("session/request_permission").with_text(unheard));
        }
    }
}

fn options(params: &JsonObject<'_>) -> Vec<RequestOption> {
    let option = |option: JsonView<'_>| {
        let option = option.as_object();
        let id = option.get_string("optionId").unwrap_or_default();
        let kind = match option.get_str("kind").as_deref() {
            Some("allow_once") => OptionKind::AllowOnce,
            Some("allow_always") if names_session(&option) => OptionKind::AllowSession,
            Some("allow_always") => OptionKind::AllowAlways,
            _ => OptionKind::Reject,
        };
        RequestOption { label: option.get_non_empty("name").unwrap_or_else(|| id.clone()), id, kind }
    };
    params.get_array("options").into_iter().map(option).collect()
}

/// The protocol does not distinguish "for this session" from "from now on"; the option's name does.
fn names_session(option: &JsonObject<'_>) -> bool {
    let name = option.get_string("name").unwrap_or_default().to_lowercase();
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

/// Changing the mode approves a plan, if there is one.
fn leaves_planning(call: &Call) -> bool {
    let input = parsed(call.input.as_deref()).map(JsonView::as_object);
    call.kind == CallKind::Mode && input.is_some_and(|input| input.contains_key("plan"))
}
