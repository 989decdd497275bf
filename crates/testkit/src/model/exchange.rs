use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http_body_util::BodyExt as _;
use hyper::{
    Method, Response, StatusCode,
    body::{Body, Bytes, Frame, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    http::request::Parts,
};
use serde_json::{Value, json};
use tokio::{
    sync::{
        Semaphore,
        mpsc::{self, Receiver, Sender},
    },
    time::sleep,
};

use super::answer::{AnswerPlan, ModelAnswer, plan_answer};
use super::api::{MODEL_APIS, ModelApi, ModelQuestion, ModelReply, ReplyFrame};
use super::conversation::ConversationTurn;
use super::{ModelRequestLog, RecordedModelRequest, conversation};

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
            (false, true) => ("application/json", split_in_half(&api.response_body(&reply).to_string())),
            (true, _) => ("text/event-stream", api.stream_frames(&reply)),
        };
        let frames = if answer.cut { cut_in_half(frames) } else { frames };
        let book = Arc::clone(&self.book);
        let sent = send_frames(frames, answer.pace, Arc::clone(&self.gates), move || book.mark_abandoned(place));
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

/// Makes the server drop the connection.
#[derive(Debug)]
pub struct ScriptedDisconnect;

impl std::fmt::Display for ScriptedDisconnect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken off by the script")
    }
}

impl std::error::Error for ScriptedDisconnect {}

pub enum ModelResponseBody {
    Whole(Option<Bytes>),
    Pieces(Receiver<Result<Bytes, ScriptedDisconnect>>),
}

impl Body for ModelResponseBody {
    type Data = Bytes;
    type Error = ScriptedDisconnect;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ScriptedDisconnect>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pieces(pieces) => pieces.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data))),
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(Some(bytes)) => hyper::body::SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(0)),
            Self::Whole(None) => hyper::body::SizeHint::with_exact(0),
            Self::Pieces(_) => hyper::body::SizeHint::default(),
        }
    }
}

/// Bytes before a scripted disconnect must be on the wire, because the server drops its buffers.
const FLUSH_DELAY: Duration = Duration::from_millis(50);

/// Sends frames in the background; calls `gone` if the client disconnects before the end.
fn send_frames(
    frames: Vec<ReplyFrame>,
    pace: Duration,
    gates: Arc<Semaphore>,
    gone: impl FnOnce() + Send + 'static,
) -> ModelResponseBody {
    let (sender, receiver): (_, Receiver<_>) = mpsc::channel(1);
    tokio::spawn(async move {
        for frame in frames {
            if send_frame(&sender, frame, pace, &gates).await.is_none() {
                return gone();
            }
        }
    });
    ModelResponseBody::Pieces(receiver)
}

fn split_in_half(text: &str) -> Vec<ReplyFrame> {
    let middle = text.chars().count() / 2;
    let (first, second): (String, String) = (text.chars().take(middle).collect(), text.chars().skip(middle).collect());
    vec![ReplyFrame::Event(first), ReplyFrame::Event(second)]
}

fn cut_in_half(mut frames: Vec<ReplyFrame>) -> Vec<ReplyFrame> {
    frames.truncate(frames.len().div_ceil(2));
    frames.push(ReplyFrame::Cut);
    frames
}

/// Sends one frame; `None` if the client has disconnected.
async fn send_frame(
    to: &Sender<Result<Bytes, ScriptedDisconnect>>,
    frame: ReplyFrame,
    pace: Duration,
    gates: &Semaphore,
) -> Option<()> {
    match frame {
        ReplyFrame::Event(text) => to.send(Ok(Bytes::from(text))).await.ok(),
        ReplyFrame::Chunk(text) => {
            to.send(Ok(Bytes::from(text))).await.ok()?;
            wait_unless_closed(to, sleep(pace)).await
        }
        ReplyFrame::Hold => {
            wait_unless_closed(to, async { gates.acquire().await.map(|gate| gate.forget()).unwrap_or_default() }).await
        }
        ReplyFrame::Cut => {
            wait_unless_closed(to, sleep(FLUSH_DELAY)).await?;
            to.send(Err(ScriptedDisconnect)).await.ok()
        }
    }
}

/// Waits, but not longer than the client stays connected.
async fn wait_unless_closed(
    to: &Sender<Result<Bytes, ScriptedDisconnect>>,
    wait: impl Future<Output = ()>,
) -> Option<()> {
    tokio::select! {
        () = wait => Some(()),
        () = to.closed() => None,
    }
}
