//! Reads the answers that the client sends to requests of the app-server.

use std::collections::BTreeMap;

use switchboard_event::{Decider, Notice, Outcome, RequestResolved, Topic};

use super::{AppServerReader, reader::control_notice, requests::ServerRequestKind};
use crate::{JsonObject, JsonView, RunRecorder};

impl AppServerReader {
    /// Resolves the answered request. Anything but a clear approval counts as declined.
    pub(super) fn read_answer(&mut self, id: JsonView<'_>, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(request) = self.requests.take(id.raw_text()) else {
            return recorder.write_notice(control_notice("response"));
        };
        if request.kind == ServerRequestKind::Service {
            return recorder.write_notice(control_notice("response"));
        }
        let result = fields.get_object("result");
        let mut resolved = match (fields.get("error"), request.kind) {
            (Some(error), _) => resolve_error(&error.as_object()),
            (None, ServerRequestKind::Permissions) => resolve_permissions(&result),
            (None, ServerRequestKind::Form) => resolve_form(&result),
            (None, ServerRequestKind::Questions) => resolve_questions(&result),
            (None, _) => resolve_decision(&result),
        };
        for secret in request.secrets {
            resolved.answers.entry(secret).and_modify(|answer| *answer = vec!["***".to_owned()]);
        }
        let reason = self.reason.take().filter(|_| resolved.outcome == Outcome::Declined);
        resolved.message = resolved.message.or(reason);
        let stops = resolved.outcome == Outcome::Cancelled && request.kind == ServerRequestKind::Decision;
        (resolved.request, resolved.by) = (request.id, Decider::Client);
        if !recorder.request_resolved(resolved) {
            return recorder.write_notice(Notice::new(Topic::Late).with_name("response"));
        }
        if stops {
            recorder.mark_interrupted();
        }
    }
}

fn resolve_error(error: &JsonObject<'_>) -> RequestResolved {
    RequestResolved {
        outcome: Outcome::Declined,
        message: error.get_non_empty("message"),
        ..RequestResolved::default()
    }
}

/// Reads a decision of either protocol: a word, or an object that holds a rule under that word.
fn resolve_decision(result: &JsonObject<'_>) -> RequestResolved {
    let Some(decision) = result.get("decision") else { return resolve_error(&JsonObject::default()) };
    let fields = decision.as_object();
    let kept = fields.iter().next().map(|(name, inner)| (name.to_owned(), inner.as_object()));
    let denies =
        kept.as_ref().is_some_and(|(_, rule)| rule.get_object("network_policy_amendment").str_equals("action", "deny"));
    let word =
        decision.as_str().map(std::borrow::Cow::into_owned).or_else(|| kept.map(|(name, _)| name)).unwrap_or_default();
    let outcome = match word.as_str() {
        _ if denies => Outcome::Declined,
        "accept" | "acceptForSession" | "acceptWithExecpolicyAmendment" | "applyNetworkPolicyAmendment" => {
            Outcome::Allowed
        }
        "approved" | "approved_for_session" | "approved_execpolicy_amendment" | "network_policy_amendment" => {
            Outcome::Allowed
        }
        "cancel" | "abort" => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    let option = match (word.as_str(), denies) {
        ("applyNetworkPolicyAmendment", true) => "applyNetworkPolicyAmendment:deny".to_owned(),
        ("applyNetworkPolicyAmendment", false) => "applyNetworkPolicyAmendment:allow".to_owned(),
        _ => word,
    };
    RequestResolved { outcome, option: Some(option), ..RequestResolved::default() }
}

/// Granted permissions are listed by name; an empty list declines the request.
fn resolve_permissions(result: &JsonObject<'_>) -> RequestResolved {
    let granted = result.get_object("permissions").iter().any(|(_, grant)| !grant.is_null());
    if !granted {
        let option = Some("decline".to_owned());
        return RequestResolved { outcome: Outcome::Declined, option, ..RequestResolved::default() };
    }
    let option = result.get_non_empty("scope").or_else(|| Some("turn".to_owned()));
    RequestResolved {
        outcome: Outcome::Allowed,
        option,
        input: result.get_raw("permissions"),
        ..RequestResolved::default()
    }
}

fn resolve_form(result: &JsonObject<'_>) -> RequestResolved {
    let action = result.get_string("action").unwrap_or_default();
    let content = result.get_object("content");
    let answers: BTreeMap<_, _> = content.iter().map(|(name, value)| (name.to_owned(), form_values(value))).collect();
    let outcome = match action.as_str() {
        "accept" if answers.is_empty() => Outcome::Allowed,
        "accept" => Outcome::Answered,
        "cancel" => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    let option = match result.get_object("_meta").get_str("persist").as_deref() {
        Some("session") if outcome == Outcome::Allowed => "acceptForSession".to_owned(),
        Some("always") if outcome == Outcome::Allowed => "acceptAlways".to_owned(),
        _ => action,
    };
    RequestResolved { outcome, option: Some(option), answers, ..RequestResolved::default() }
}

fn form_values(value: JsonView<'_>) -> Vec<String> {
    match value.raw_text().starts_with('[') {
        true => value.as_array().into_iter().map(|value| value.display_text().into_owned()).collect(),
        false => vec![value.display_text().into_owned()],
    }
}

/// Reads `{answers: {question: {answers: […]}}}`.
fn resolve_questions(result: &JsonObject<'_>) -> RequestResolved {
    let said = result.get_object("answers");
    let answers: BTreeMap<_, _> =
        said.iter().map(|(id, answer)| (id.to_owned(), answer.as_object().get_strings("answers"))).collect();
    let outcome = if answers.is_empty() { Outcome::Declined } else { Outcome::Answered };
    RequestResolved { outcome, answers, ..RequestResolved::default() }
}
