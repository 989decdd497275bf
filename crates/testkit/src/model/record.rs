//! Requests to the model, recorded for tests.

use serde_json::Value;

use super::{answer::ModelAnswer, side::SideRequest};

#[derive(Clone, Debug)]
pub struct RecordedModelRequest {
    /// The API, by the name of its file.
    pub api: &'static str,
    /// The path with its query.
    pub path: String,
    /// Headers with lower-case names.
    pub headers: Vec<(String, String)>,
    pub model: String,
    /// The agent's instructions.
    pub system: String,
    pub tools: Vec<String>,
    pub images: usize,
    /// The user's latest text.
    pub prompt: String,
    /// Number of tool rounds since then.
    pub step: usize,
    /// The last tool results, shortened.
    pub results: Vec<String>,
    /// The purpose, if it is not the conversation.
    pub side: Option<SideRequest>,
    pub body: Value,
    /// The answer, or `None` if it was an error.
    pub answer: Option<ModelAnswer>,
    /// The client disconnected before the end of the answer.
    pub abandoned: bool,
}

impl RecordedModelRequest {
    #[must_use]
    pub fn is_conversation(&self) -> bool {
        self.side.is_none()
    }

    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
