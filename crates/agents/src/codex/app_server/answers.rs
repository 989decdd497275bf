//! Our answers to what the app-server asks.

use std::collections::BTreeMap;

use switchboard_event::{Decider, Notice, Outcome, RequestResolved, Topic};

use super::{AppServer, reader::control, requests::Kind};
use crate::{Json, Object, Scribe};

impl AppServer {
    /// An answer to a request of theirs. What is no clear yes is a no.
    pub(super) fn answer(&mut self, id: Json<'_>, fields: &Object<'_>, scribe: &mut Scribe) {
        let Some(request) = self.requests.take(id.text()) else {
            return scribe.notice(control("response"));
        };
        if request.kind == Kind::Service {
            return scribe.notice(control("response"));
        }
        let result = fields.object("result");
        let mut resolved = match (fields.get("error"), request.kind) {
            (Some(error), _) => refusal(&error.object()),
            (None, Kind::Permissions) => permissions(&result),
            (None, Kind::Form) => form(&result),
            (None, Kind::Questions) => questions(&result),
            (None, _) => decision(&result),
        };
        for secret in request.secrets {
            resolved.answers.entry(secret).and_modify(|answer| *answer = vec!["***".to_owned()]);
        }
        let reason = self.reason.take().filter(|_| resolved.outcome == Outcome::Declined);
        resolved.message = resolved.message.or(reason);
        let stops = resolved.outcome == Outcome::Cancelled && request.kind == Kind::Decision;
        (resolved.request, resolved.by) = (request.id, Decider::Client);
        if !scribe.request_resolved(resolved) {
            return scribe.notice(Notice::new(Topic::Late).with_name("response"));
        }
        if stops {
            scribe.interrupted();
        }
    }
}

fn refusal(error: &Object<'_>) -> RequestResolved {
    RequestResolved { outcome: Outcome::Declined, message: error.filled("message"), ..RequestResolved::default() }
}

/// A word, or an object with a rule under the word; in both protocols.
fn decision(result: &Object<'_>) -> RequestResolved {
    let Some(decision) = result.get("decision") else { return refusal(&Object::default()) };
    let fields = decision.object();
    let kept = fields.iter().next().map(|(name, inner)| (name.to_owned(), inner.object()));
    let denies = kept.as_ref().is_some_and(|(_, rule)| rule.object("network_policy_amendment").is("action", "deny"));
    let word =
        decision.str().map(std::borrow::Cow::into_owned).or_else(|| kept.map(|(name, _)| name)).unwrap_or_default();
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

/// What is granted is named; naming nothing is a no.
fn permissions(result: &Object<'_>) -> RequestResolved {
    let granted = result.object("permissions").iter().any(|(_, grant)| !grant.is_null());
    if !granted {
        let option = Some("decline".to_owned());
        return RequestResolved { outcome: Outcome::Declined, option, ..RequestResolved::default() };
    }
    let option = result.filled("scope").or_else(|| Some("turn".to_owned()));
    RequestResolved {
        outcome: Outcome::Allowed,
        option,
        input: result.raw("permissions"),
        ..RequestResolved::default()
    }
}

fn form(result: &Object<'_>) -> RequestResolved {
    let action = result.string("action").unwrap_or_default();
    let content = result.object("content");
    let answers: BTreeMap<_, _> = content.iter().map(|(name, value)| (name.to_owned(), values(value))).collect();
    let outcome = match action.as_str() {
        "accept" if answers.is_empty() => Outcome::Allowed,
        "accept" => Outcome::Answered,
        "cancel" => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    let option = match result.object("_meta").str("persist").as_deref() {
        Some("session") if outcome == Outcome::Allowed => "acceptForSession".to_owned(),
        Some("always") if outcome == Outcome::Allowed => "acceptAlways".to_owned(),
        _ => action,
    };
    RequestResolved { outcome, option: Some(option), answers, ..RequestResolved::default() }
}

fn values(value: Json<'_>) -> Vec<String> {
    match value.text().starts_with('[') {
        true => value.array().into_iter().map(|value| value.display().into_owned()).collect(),
        false => vec![value.display().into_owned()],
    }
}

/// `{answers: {question: {answers: […]}}}`
fn questions(result: &Object<'_>) -> RequestResolved {
    let said = result.object("answers");
    let answers: BTreeMap<_, _> =
        said.iter().map(|(id, answer)| (id.to_owned(), answer.object().strings("answers"))).collect();
    let outcome = if answers.is_empty() { Outcome::Declined } else { Outcome::Answered };
    RequestResolved { outcome, answers, ..RequestResolved::default() }
}
