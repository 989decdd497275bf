//! The agent's requests to the user, `session/request_permission` and `elicitation/create`, and the client's answers.

use std::collections::BTreeMap;

use switchboard_event::{
    About, Call, CallKind, Choice, Decider, Details, Id, Item, Notice, OptionKind, Outcome, Question, RequestOpened,
    RequestOption, RequestResolved, Topic,
};

use super::{
    AcpReader, AgentRequestKind, RpcId, control,
    driver::answer_message,
    tool_call::{CallRecordKind, parsed},
};
use crate::{JsonObject, JsonView, RunRecorder};

impl AcpReader {
    pub(super) fn permission(&mut self, id: Option<RpcId>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let scope = self.enter_scope(params, recorder);
        let Some(id) = id else { return recorder.write_notice(control("session/request_permission")) };
        let request = recorder.local_id(&format!("request_{}", id.trim_matches('"')));
        let fields = params.get_object("toolCall");
        let call = fields.get_non_empty("toolCallId").unwrap_or_else(|| format!("call_of_{request}"));
        // A request about a finished call starts a new one.
        let Some(item) = self.upsert(&call, CallRecordKind::Permission, true, &fields, &scope, recorder) else {
            return;
        };
        self.show_call(&item, recorder);
        let options = options(params);
        if let Some(call) = self.calls.by_item(&item) {
            call.request = Some(request.clone());
        }
        let allowing = options.iter().map(|o| (o.id.clone(), o.kind != OptionKind::Reject)).collect();
        self.theirs.asked(
            id,
            AgentRequestKind::Permission { request: request.clone(), item: item.clone(), options: allowing },
        );
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
        let reason = fields.get("result").and_then(answer_message);
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

impl AcpReader {
    pub(super) fn elicitation(&mut self, id: Option<RpcId>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let scope = self.enter_scope(params, recorder);
        let Some(id) = id else { return };
        // The completion of a page refers to its own id.
        let name = params.get_non_empty("elicitationId").unwrap_or_else(|| format!("request_{}", id.trim_matches('"')));
        let request = recorder.local_id(&name);
        let call = params.get_non_empty("toolCallId").map(|id| match scope.thread() {
            Some(thread) => Id::from(format!("{thread}.{id}")),
            None => Id::from(id),
        });
        self.theirs.asked(id, AgentRequestKind::Elicitation(request.clone()));
        recorder.request_opened(
            call,
            RequestOpened {
                request,
                about: About::Elicitation,
                title: params.get_string("message").unwrap_or_default(),
                reason: params.get_non_empty("url"),
                questions: questions(&params.get_object("requestedSchema")),
                ..RequestOpened::default()
            },
        );
        recorder.write_notice_if_no_event(control("elicitation/create"));
    }
}

/// Returns the fields of a form as questions.
fn questions(schema: &JsonObject<'_>) -> Vec<Question> {
    schema.get_object("properties").iter().map(|(id, property)| question(id, &property.as_object())).collect()
}

fn question(id: &str, property: &JsonObject<'_>) -> Question {
    let multiple = property.str_equals("type", "array");
    let source = if multiple { property.get_object("items") } else { property.get_object("") };
    let values = if multiple { &source } else { property };
    let mut choices: Vec<Choice> =
        values.get_strings("enum").into_iter().map(|label| Choice { label, description: None }).collect();
    let named = |option: JsonView<'_>| {
        let option = option.as_object();
        Choice { label: option.get_string("const").unwrap_or_default(), description: option.get_non_empty("title") }
    };
    let listed = if multiple { values.get_array("anyOf") } else { values.get_array("oneOf") };
    choices.extend(listed.into_iter().map(named));
    if property.str_equals("type", "boolean") {
        choices = ["true", "false"].map(|word| Choice { label: word.to_owned(), description: None }).into();
    }
    Question {
        id: id.to_owned(),
        question: property
            .get_non_empty("description")
            .or_else(|| property.get_non_empty("title"))
            .unwrap_or_else(|| id.to_owned()),
        header: property.get_non_empty("title"),
        free_text: choices.is_empty(),
        choices,
        multiple,
        secret: false,
    }
}

/// Reads the client's answer.
pub fn answered(request: Id, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let result = fields.get_object("result");
    let outcome = match result.get_str("action").as_deref() {
        Some("accept") => Outcome::Answered,
        Some("cancel") => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    let texts = |value: JsonView<'_>| match value.as_array() {
        list if list.is_empty() => vec![value.display_text().into_owned()],
        list => list.into_iter().map(|entry| entry.display_text().into_owned()).collect(),
    };
    let answers: BTreeMap<_, _> =
        result.get_object("content").iter().map(|(id, value)| (id.to_owned(), texts(value))).collect();
    let by = Decider::Client;
    recorder.request_resolved(RequestResolved { request, outcome, by, answers, ..RequestResolved::default() });
    recorder.write_notice_if_no_event(Notice::new(Topic::Late).with_name("elicitation/create"));
}

/// `elicitation/complete`: the page is completed.
pub fn complete(params: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let request = recorder.local_id(&params.get_str("elicitationId").unwrap_or_default());
    let (outcome, by) = (Outcome::Answered, Decider::Agent);
    recorder.request_resolved(RequestResolved { request, outcome, by, ..RequestResolved::default() });
    recorder.write_notice_if_no_event(control("elicitation/complete"));
}

pub fn withdrawn(request: Id, recorder: &mut RunRecorder) {
    let (outcome, by) = (Outcome::Withdrawn, Decider::Agent);
    recorder.request_resolved(RequestResolved { request, outcome, by, ..RequestResolved::default() });
}
