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
    answer::ModelAnswer,
    api::{MODEL_APIS, ModelApi, ModelQuestion, ModelReply},
    body::ModelResponseBody,
    book::ModelRequestLog,
    conversation::{self, ConversationTurn},
    plan::{AnswerPlan, plan_answer},
    record::RecordedModelRequest,
    stream,
};

/// Model names that contain this are unknown to the API.
pub const UNKNOWN_MODEL: &str = "no-such-model";

/// Answers the requests to the model.
pub struct ModelService {
    pub book: Arc<ModelRequestLog>,
    /// One permit for each answer that may continue.
    pub gates: Arc<Semaphore>,
}

impl Default for ModelService {
    fn default() -> Self {
        Self { book: Arc::default(), gates: Arc::new(Semaphore::new(0)) }
    }
}

impl ModelService {
    pub async fn answer_request(
        &self,
        request: hyper::Request<Incoming>,
    ) -> Result<Response<ModelResponseBody>, Infallible> {
        let (parts, body) = request.into_parts();
        let Some(api) =
            MODEL_APIS.iter().find(|api| api.accepts_path(parts.uri.path())).filter(|_| parts.method == Method::POST)
        else {
            return Ok(answer_probe(&parts));
        };
        let Ok(body) = body.collect().await else { return Ok(json_response(StatusCode::BAD_REQUEST, &json!({}))) };
        let body: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        Ok(self.reply_to(*api, &parts, body))
    }

    fn reply_to(&self, api: &dyn ModelApi, parts: &Parts, body: Value) -> Response<ModelResponseBody> {
        let question = api.parse_request(parts.uri.path(), &body);
        let turn = conversation::current_turn(&question.said);
        let plan = self.plan_reply(api, &question, &turn);
        let place = self.book.push_request(request_record(api, parts, &question, turn, body, &plan));
        match plan {
            AnswerPlan::Answer(answer) => self.send_answer(api, &question, &answer, place),
            AnswerPlan::Fail(status) => {
                let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                json_response(code, &api.error_body(status, &format!("scripted error {status}")))
            }
        }
    }

    fn plan_reply(&self, api: &dyn ModelApi, question: &ModelQuestion, turn: &ConversationTurn) -> AnswerPlan {
        let id = || format!("{:04}", self.book.next_number());
        let plan = match &question.side {
            _ if question.model.contains(UNKNOWN_MODEL) => AnswerPlan::Fail(404),
            Some(side) => AnswerPlan::Answer(side.scripted_answer()),
            None => plan_answer(turn, self.book.count_failures(&turn.prompt, turn.step), id),
        };
        match plan {
            AnswerPlan::Answer(answer) => {
                AnswerPlan::Answer(ModelAnswer { usage: api.adjust_usage(answer.usage), ..answer })
            }
            failure @ AnswerPlan::Fail(_) => failure,
        }
    }

    fn send_answer(
        &self,
        api: &dyn ModelApi,
        question: &ModelQuestion,
        answer: &ModelAnswer,
        place: usize,
    ) -> Response<ModelResponseBody> {
        let side = question.side.as_ref();
        let reply = ModelReply { answer, model: &question.model, number: self.book.next_number(), side };
        let (kind, frames) = match (question.streams, answer.cut) {
            (false, false) => return json_response(StatusCode::OK, &api.response_body(&reply)),
            (false, true) => ("application/json", stream::split_in_half(&api.response_body(&reply).to_string())),
            (true, _) => ("text/event-stream", api.stream_frames(&reply)),
        };
        let frames = if answer.cut { stream::cut_in_half(frames) } else { frames };
        let book = Arc::clone(&self.book);
        let sent =
            stream::send_frames(frames, answer.pace, Arc::clone(&self.gates), move || book.mark_abandoned(place));
        build_response(StatusCode::OK, kind, sent)
    }
}

fn request_record(
    api: &dyn ModelApi,
    parts: &Parts,
    question: &ModelQuestion,
    turn: ConversationTurn,
    body: Value,
    plan: &AnswerPlan,
) -> RecordedModelRequest {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    RecordedModelRequest {
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
            AnswerPlan::Answer(answer) => Some(answer.clone()),
            AnswerPlan::Fail(_) => None,
        },
        abandoned: false,
    }
}

/// Answers the probes of clients: reachability and the list of models. An empty list does not restrict the models.
/// WebSocket upgrades are refused, so that clients fall back to HTTP.
fn answer_probe(parts: &Parts) -> Response<ModelResponseBody> {
    let upgrades = parts.headers.contains_key("upgrade");
    match parts.method {
        Method::HEAD => build_response(StatusCode::OK, "text/plain", ModelResponseBody::Whole(None)),
        Method::GET if upgrades => json_response(StatusCode::UPGRADE_REQUIRED, &json!({})),
        Method::GET if parts.uri.path().ends_with("/models") => {
            json_response(StatusCode::OK, &json!({ "object": "list", "data": [], "models": [] }))
        }
        _ => json_response(
            StatusCode::NOT_FOUND,
            &json!({ "error": { "message": "the scripted model has no such path" } }),
        ),
    }
}

fn json_response(status: StatusCode, body: &Value) -> Response<ModelResponseBody> {
    build_response(status, "application/json", ModelResponseBody::Whole(Some(Bytes::from(body.to_string()))))
}

fn build_response(
    status: StatusCode,
    content_type: &'static str,
    body: ModelResponseBody,
) -> Response<ModelResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
