//! What we ask of a server, and what it answers: outgoing records `{"id","method","path","body"?}`, incoming ones
//! `{"id","method","path","status","body"?}` or with an `error`. The session events know no turns and no requests; this
//! does.

use serde::de::DeserializeOwned;
use switchboard_event::{
    About, Decider, ErrorCode, Fault, Id, Item, Level, Notice, Outcome, RequestOpened, RequestResolved, Stop, Topic,
    TurnCompleted, TurnStarted, TurnStatus, UserMessage,
};

use super::{live::Live, routes::Route};
use crate::{Json, Object, Scribe};

/// The record is something that we ask, or its answer.
pub fn is_exchange(fields: &Object<'_>) -> bool {
    fields.has("method") && fields.has("path")
}

/// What went wrong with a request, if something did.
pub fn failure(answer: &Object<'_>) -> Option<Fault> {
    if let Some(error) = answer.string("error") {
        return Some(Fault::new(ErrorCode::ConnectionFailed, error));
    }
    let status = answer.status("status").filter(|status| *status >= 400)?;
    let body = answer.object("body");
    let said = ["detail", "title", "message", "error"].into_iter().find_map(|key| body.filled(key));
    let nested = || body.object("error").filled("message");
    let said = said.or_else(nested).unwrap_or_else(|| format!("the server answered with status {status}"));
    let hint = match (body.filled("hint"), status) {
        // What the server says of it is for those who speak to it themselves.
        (_, 401) => "\nhint: the variable SWITCHBOARD_BOARD_TOKEN has the token for it".to_owned(),
        (Some(hint), _) => format!("\nhint: {hint}"),
        (None, _) => String::new(),
    };
    let fault = Fault::new(code(status), format!("{said}{hint}")).with_status(Some(status));
    Some(Fault { info: body.filled("code"), ..fault })
}

fn code(status: u16) -> ErrorCode {
    match status {
        401 => ErrorCode::ProviderAuth,
        403 => ErrorCode::PermissionDenied,
        404 => ErrorCode::SessionNotFound,
        408 | 504 => ErrorCode::Timeout,
        429 => ErrorCode::RateLimit,
        502 | 503 => ErrorCode::ConnectionFailed,
        _ => ErrorCode::ApiError,
    }
}

impl Live {
    /// Something is asked of the server.
    pub(super) fn sent(&mut self, request: &Object<'_>, scribe: &mut Scribe) {
        let (method, path) = (request.str("method").unwrap_or_default(), request.str("path").unwrap_or_default());
        let body = request.object("body");
        match Route::of(&path) {
            Route::Sessions => {
                know_agent(&body, scribe);
                self.prompted(&body, scribe);
            }
            Route::Prompt => self.prompted(&body, scribe),
            Route::Cancel => {
                scribe.interrupted();
                scribe.notice(Notice::new(Topic::Interrupt));
            }
            Route::Approval(id) => resolved(&id, &body, scribe),
            _ => {}
        }
        scribe.otherwise(debug(&method, &path));
    }

    fn prompted(&mut self, body: &Object<'_>, scribe: &mut Scribe) {
        self.begin_turn();
        let prompt = body.string("prompt");
        let id = self.made_up("prompt", scribe);
        scribe.turn_started(TurnStarted { prompt: prompt.clone(), ..TurnStarted::default() });
        scribe.item_completed(&id, Item::new(UserMessage::text(prompt.unwrap_or_default())));
    }

    /// The server answered.
    pub(super) fn heard_back(&mut self, answer: &Object<'_>, scribe: &mut Scribe) {
        let (method, path) = (answer.str("method").unwrap_or_default(), answer.str("path").unwrap_or_default());
        let (route, body) = (Route::of(&path), answer.object("body"));
        match (failure(answer), &route) {
            (Some(fault), Route::Sessions | Route::Prompt | Route::State) => {
                if scribe.in_turn() {
                    scribe.turn_completed(failed(fault.clone()));
                }
                let notice = debug(&method, &path).with_text(fault.message.clone());
                return scribe.otherwise(Notice { error: Some(fault), ..notice });
            }
            (Some(fault), _) => {
                let notice = debug(&method, &path).with_level(Level::Warning).with_text(fault.message.clone());
                return scribe.notice(Notice { error: Some(fault), ..notice });
            }
            (None, Route::Sessions) => {
                know_agent(&body, scribe);
                scribe.identify(&body.str("id").unwrap_or_default());
            }
            (None, Route::State) => {
                know_agent(&body, scribe);
                scribe.identify(&body.str("id").unwrap_or_default());
                ended(&body, scribe);
            }
            (None, Route::Approvals) => asked(&body, scribe),
            (None, _) => {}
        }
        scribe.otherwise(debug(&method, &path));
    }
}

/// The agent on the other side, in a request for a session or in what the server says about one.
fn know_agent(session: &Object<'_>, scribe: &mut Scribe) {
    if let Some(agent) = session.filled("agentType").or_else(|| session.filled("agentId")) {
        scribe.config(|config| config.agent_type = Some(agent));
    }
}

fn debug(method: &str, path: &str) -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug).with_name(format!("{method} {path}"))
}

fn failed(fault: Fault) -> TurnCompleted {
    TurnCompleted { status: TurnStatus::Failed, stop: Stop::Error, error: Some(fault), ..TurnCompleted::default() }
}

/// The stream is over, and this is how: the server says it in the session's state.
fn ended(session: &Object<'_>, scribe: &mut Scribe) {
    if !scribe.in_turn() {
        return;
    }
    let error = session.filled("error").or_else(|| session.object("error").filled("message"));
    match session.str("state").as_deref() {
        Some("done") => scribe.turn_completed(TurnCompleted::default()),
        Some("failed") => {
            let message = error.unwrap_or_else(|| "the session failed without a message".to_owned());
            scribe.turn_completed(failed(super::errors::from_message(message)));
        }
        Some("cancelled") => {
            let (status, stop) = (TurnStatus::Interrupted, Stop::Cancelled);
            scribe.turn_completed(TurnCompleted { status, stop, ..TurnCompleted::default() });
        }
        _ => {}
    }
}

/// What the agent on the other side waits for. What was asked before is nothing new.
fn asked(body: &Object<'_>, scribe: &mut Scribe) {
    for approval in body.array("approvals").into_iter().map(Json::object) {
        let Some(id) = approval.filled("id") else { continue };
        let request = RequestOpened {
            request: Id::from(id),
            about: read(&approval, "about").unwrap_or(About::Other),
            title: approval.string("title").unwrap_or_default(),
            reason: approval.string("reason"),
            call: read(&approval, "call"),
            command: approval.string("command"),
            cwd: approval.string("cwd"),
            changes: read(&approval, "changes").unwrap_or_default(),
            questions: read(&approval, "questions").unwrap_or_default(),
            options: read(&approval, "options").unwrap_or_default(),
            expires_at: read(&approval, "expiresAt"),
            ..RequestOpened::default()
        };
        let is_for_a_person = approval.is_true("requiresPerson");
        scribe.request_opened(None, if is_for_a_person { request.for_a_person() } else { request });
    }
}

/// A part that is in the words of our own model: such servers are our like.
fn read<T: DeserializeOwned>(of: &Object<'_>, key: &str) -> Option<T> {
    serde_json::from_str(of.get(key)?.text()).ok()
}

fn resolved(request: &str, answer: &Object<'_>, scribe: &mut Scribe) {
    let answers: std::collections::BTreeMap<String, Vec<String>> = read(answer, "answers").unwrap_or_default();
    let outcome = match answer.str("decision").as_deref() {
        Some("accept" | "acceptForSession") if !answers.is_empty() => Outcome::Answered,
        Some("accept" | "acceptForSession") => Outcome::Allowed,
        Some("cancel") => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    scribe.request_resolved(RequestResolved {
        request: Id::from(request),
        outcome,
        by: Decider::Client,
        option: answer.string("option"),
        input: answer.raw("input"),
        answers,
        message: answer.string("reason"),
    });
}
