//! What an API must say about itself, so that the server can speak it. One file each; a new one is a line here.

use serde_json::{Value, json};

use super::{
    answer::{Answer, Usage},
    anthropic, chat,
    conversation::Said,
    google, responses,
    side::Side,
};

/// An API for models.
pub trait Api: Sync {
    /// Its name: that of its file.
    fn name(&self) -> &'static str;
    /// Requests for this path (without the query) are for it.
    fn takes(&self, path: &str) -> bool;
    /// What a request says.
    fn read(&self, path: &str, body: &Value) -> Question;
    /// The answer, piece by piece.
    fn stream(&self, reply: &Reply<'_>) -> Vec<Frame>;
    /// The answer in one piece.
    fn whole(&self, reply: &Reply<'_>) -> Value;
    /// What an answer costs, as this API counts.
    fn counted(&self, usage: Usage) -> Usage {
        usage
    }
    /// What an HTTP error says.
    fn error(&self, status: u16, message: &str) -> Value;
}

/// All of them.
pub const APIS: &[&dyn Api] = &[&anthropic::Anthropic, &responses::Responses, &google::Google, &chat::Chat];

/// What a request says, whatever the API.
#[derive(Debug, Default)]
pub struct Question {
    /// The model that is asked for.
    pub model: String,
    /// The instructions.
    pub system: String,
    /// The tools that are offered.
    pub tools: Vec<String>,
    /// How many images there are.
    pub images: usize,
    /// What was said so far.
    pub said: Vec<Said>,
    /// What it is for, if it is not the conversation.
    pub side: Option<Side>,
    /// The answer is wanted piece by piece.
    pub streams: bool,
}

/// An answer on its way.
pub struct Reply<'a> {
    /// What is said.
    pub answer: &'a Answer,
    /// The model that it comes from.
    pub model: &'a str,
    /// A number that no other reply has.
    pub number: u64,
    /// What the question was for, if it was not the conversation.
    pub side: Option<&'a Side>,
}

/// A piece of an answer on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Sent at once.
    Event(String),
    /// Sent at once; then the answer may pause.
    Chunk(String),
    /// Nothing, until the test says so.
    Hold,
    /// The connection breaks off.
    Cut,
}

/// An event with its type as its name, as two of the APIs have it.
pub fn named(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", text(data, "type"))
}

/// An event without a name, as the other two have it.
pub fn unnamed(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A text of a field, or nothing.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The list in a field, or nothing.
pub fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a message's content: a text, or a list of parts.
pub fn texts(content: &Value) -> Vec<&str> {
    let parts = content.as_array().into_iter().flatten().map(|part| text(part, "text"));
    content.as_str().into_iter().chain(parts).filter(|text| !text.is_empty()).collect()
}

/// An error as both APIs of one family have it.
pub fn plain_error(status: u16, message: &str) -> Value {
    json!({ "error": { "message": message, "type": "scripted_error", "code": status.to_string() } })
}
