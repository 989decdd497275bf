//! The interface of a model API. One file per API; add a new one to [`MODEL_APIS`].

use serde_json::{Value, json};

use super::answer::{ModelAnswer, ModelUsage};
use super::conversation::{ConversationEntry, SideRequest};
use super::{anthropic, google, openai};

pub trait ModelApi: Sync {
    /// The name of its file.
    fn name(&self) -> &'static str;
    /// Returns whether a path, without its query, belongs to the API.
    fn accepts_path(&self, path: &str) -> bool;
    fn parse_request(&self, path: &str, body: &Value) -> ModelQuestion;
    /// Returns the answer as a stream.
    fn stream_frames(&self, reply: &ModelReply<'_>) -> Vec<ReplyFrame>;
    /// Returns the answer in one piece.
    fn response_body(&self, reply: &ModelReply<'_>) -> Value;
    /// Adjusts the usage to how this API counts.
    fn adjust_usage(&self, usage: ModelUsage) -> ModelUsage {
        usage
    }
    fn error_body(&self, status: u16, message: &str) -> Value;
}

pub const MODEL_APIS: &[&dyn ModelApi] =
    &[&anthropic::AnthropicApi, &openai::ResponsesApi, &google::GenerateContentApi, &openai::ChatCompletionsApi];

/// A request, independent of the API.
#[derive(Debug, Default)]
pub struct ModelQuestion {
    pub model: String,
    pub system: String,
    pub tools: Vec<String>,
    pub images: usize,
    /// The conversation so far.
    pub said: Vec<ConversationEntry>,
    /// The purpose, if it is not the conversation.
    pub side: Option<SideRequest>,
    /// Whether the answer is streamed.
    pub streams: bool,
}

pub struct ModelReply<'a> {
    pub answer: &'a ModelAnswer,
    pub model: &'a str,
    /// Unique among all replies.
    pub number: u64,
    /// The purpose of the request, if it is not the conversation.
    pub side: Option<&'a SideRequest>,
}

/// A piece of a streamed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyFrame {
    /// Sent at once.
    Event(String),
    /// Sent at once, followed by the pause of the script.
    Chunk(String),
    /// Waits until the test releases it.
    Hold,
    /// The connection breaks.
    Cut,
}

/// Formats an event named after its type, as Anthropic and Responses send them.
pub fn named_event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", text_field(data, "type"))
}

/// Formats an event without a name, as the other two APIs send them.
pub fn unnamed_event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// Returns a text field, or an empty text.
pub fn text_field<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a list field, or an empty list.
pub fn list_field<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the texts of a message's content: a text, or a list of parts.
pub fn content_texts(content: &Value) -> Vec<&str> {
    let parts = content.as_array().into_iter().flatten().map(|part| text_field(part, "text"));
    content.as_str().into_iter().chain(parts).filter(|text| !text.is_empty()).collect()
}

/// Returns an error body in the form of both OpenAI APIs.
pub fn openai_error(status: u16, message: &str) -> Value {
    json!({ "error": { "message": message, "type": "scripted_error", "code": status.to_string() } })
}
