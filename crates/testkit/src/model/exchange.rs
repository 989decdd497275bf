//! One request and its answer.

use std::{convert::Infallible, sync::Arc};

use http_body_util::BodyExt as _;
use hyper::{
    Method, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    http::request::Parts,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{
    answer::Answer,
    api::{APIS, Api, Question, Reply},
    body::Sent,
    book::Book,
    conversation::{self, Turn},
    plan::{Plan, plan},
    record::Request,
    stream,
};

/// A model with this in its name is one that the API does not know.
pub const NO_MODEL: &str = "no-such-model";

/// Where requests are answered.
pub struct Desk {
    /// Every request.
    pub book: Arc<Book>,
    /// One permit for each answer that may go on.
    pub gates: Arc<Semaphore>,
}

impl Default for Desk {
    fn default() -> Self {
        Self { book: Arc::default(), gates: Arc::new(Semaphore::new(0)) }
    }
}

impl Desk {
    /// Answers a request.
    pub async fn answer(&self, request: hyper::Request<Incoming>) -> Result<Response<Sent>, Infallible> {
        let (parts, body) = request.into_parts();
        let Some(api) = APIS.iter().find(|api| api.takes(parts.uri.path())).filter(|_| parts.method == Method::POST)
        else {
            return Ok(aside(&parts));
        };
        let Ok(body) = body.collect().await else { return Ok(whole(StatusCode::BAD_REQUEST, &json!({}))) };
        let body: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        Ok(self.reply(*api, &parts, body))
    }

    fn reply(&self, api: &dyn Api, parts: &Parts, body: Value) -> Response<Sent> {
        let question = api.read(parts.uri.path(), &body);
        let turn = conversation::turn(&question.said);
        let plan = self.plan(api, &question, &turn);
        let place = self.book.write(entry(api, parts, &question, turn, body, &plan));
        match plan {
            Plan::Answer(answer) => self.say(api, &question, &answer, place),
            Plan::Fail(status) => {
                let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                whole(code, &api.error(status, &format!("scripted error {status}")))
            }
        }
    }

    fn plan(&self, api: &dyn Api, question: &Question, turn: &Turn) -> Plan {
        let id = || format!("{:04}", self.book.number());
        let plan = match &question.side {
            _ if question.model.contains(NO_MODEL) => Plan::Fail(404),
            Some(side) => Plan::Answer(side.answer()),
            None => plan(turn, self.book.failures(&turn.prompt, turn.step), id),
        };
        match plan {
            Plan::Answer(answer) => Plan::Answer(Answer { usage: api.counted(answer.usage), ..answer }),
            failure @ Plan::Fail(_) => failure,
        }
    }

    fn say(&self, api: &dyn Api, question: &Question, answer: &Answer, place: usize) -> Response<Sent> {
        let side = question.side.as_ref();
        let reply = Reply { answer, model: &question.model, number: self.book.number(), side };
        let (kind, frames) = match (question.streams, answer.cut) {
            (false, false) => return whole(StatusCode::OK, &api.whole(&reply)),
            (false, true) => ("application/json", stream::halves(&api.whole(&reply).to_string())),
            (true, _) => ("text/event-stream", api.stream(&reply)),
        };
        let frames = if answer.cut { stream::cut(frames) } else { frames };
        let book = Arc::clone(&self.book);
        let sent = stream::send(frames, answer.pace, Arc::clone(&self.gates), move || book.abandon(place));
        response(StatusCode::OK, kind, sent)
    }
}

fn entry(api: &dyn Api, parts: &Parts, question: &Question, turn: Turn, body: Value, plan: &Plan) -> Request {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Request {
        api: api.name(),
        path: parts.uri.to_string(),
        headers: parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
        model: question.model.clone(),
        system: question.system.clone(),
        tools: question.tools.clone(),
        images: question.images,
        prompt: turn.prompt,
        step: turn.step,
        results: turn.results,
        side: question.side.clone(),
        body,
        answer: match plan {
            Plan::Answer(answer) => Some(answer.clone()),
            Plan::Fail(_) => None,
        },
        abandoned: false,
    }
}

/// What clients ask before they begin: whether somebody is there, and for the list of models. A list that is empty says
/// nothing about the models that can be asked for. Nobody is given a WebSocket, so that they go on without.
fn aside(parts: &Parts) -> Response<Sent> {
    let upgrades = parts.headers.contains_key("upgrade");
    match parts.method {
        Method::HEAD => response(StatusCode::OK, "text/plain", Sent::Whole(None)),
        Method::GET if upgrades => whole(StatusCode::UPGRADE_REQUIRED, &json!({})),
        Method::GET if parts.uri.path().ends_with("/models") => {
            whole(StatusCode::OK, &json!({ "object": "list", "data": [], "models": [] }))
        }
        _ => whole(StatusCode::NOT_FOUND, &json!({ "error": { "message": "the scripted model has no such path" } })),
    }
}

fn whole(status: StatusCode, body: &Value) -> Response<Sent> {
    response(status, "application/json", Sent::Whole(Some(Bytes::from(body.to_string()))))
}

fn response(status: StatusCode, content_type: &'static str, body: Sent) -> Response<Sent> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
