//! What the model was asked, kept for the tests.

use serde_json::Value;

use super::{answer::Answer, side::Side};

/// A request that the model got.
#[derive(Clone, Debug)]
pub struct Request {
    /// The API that it was made with: the name of its file.
    pub api: &'static str,
    /// The path, with the query.
    pub path: String,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The model that was asked for.
    pub model: String,
    /// The instructions of the agent.
    pub system: String,
    /// The names of the tools that were offered.
    pub tools: Vec<String>,
    /// How many images the conversation has.
    pub images: usize,
    /// The user's newest words.
    pub prompt: String,
    /// How often tools have run since then.
    pub step: usize,
    /// What they gave the last time, in short.
    pub results: Vec<String>,
    /// What it is for, if it is not the conversation.
    pub side: Option<Side>,
    /// The whole question.
    pub body: Value,
    /// What was answered; nothing if that was an error.
    pub answer: Option<Answer>,
    /// The client went away before the end of the answer.
    pub abandoned: bool,
}

impl Request {
    /// It is part of the conversation.
    #[must_use]
    pub fn is_conversation(&self) -> bool {
        self.side.is_none()
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
