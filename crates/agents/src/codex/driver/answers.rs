//! Answers to what the app-server asks.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use super::{choices, conversation::Conversation, requests::Waiting};
use crate::{Answer, Decision, Effects, Unsupported};

/// What stands before a reason, so that the model knows what it is for.
pub const DECLINED: &str = "The request was declined: ";

#[derive(Serialize)]
struct Reply<'a> {
    id: &'a RawValue,
    result: Value,
}

impl Conversation {
    pub(super) fn answer(&mut self, answer: &Answer, effects: &mut Effects) -> Result<(), Unsupported> {
        let Some(waiting) = self.requests.take(&answer.request) else {
            return Err(Unsupported::new("the request needs no answer any more"));
        };
        let result = choices::result(&waiting, answer);
        if let (Decision::Decline, Some(reason)) = (answer.decision, &answer.message) {
            self.explain(&waiting, reason, effects);
        }
        effects.send(&Reply { id: &waiting.key, result });
        if answer.decision == Decision::Cancel && !choices::stops(&waiting) {
            self.interrupt(effects);
        }
        Ok(())
    }

    /// A decision has no words. A message of the host, which the model reads after the refusal, has: it must be there
    /// before the decision is.
    fn explain(&mut self, waiting: &Waiting, reason: &str, effects: &mut Effects) {
        let text = format!("{DECLINED}{reason}");
        let message =
            json!({ "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": text }] });
        let thread = waiting.params().filled("threadId").or_else(|| self.thread.clone());
        self.calls.send("thread/inject_items", &json!({ "threadId": thread, "items": [message] }), effects);
    }

    /// Nobody will answer what waits.
    pub(super) fn cancel_requests(&mut self, effects: &mut Effects) {
        for waiting in self.requests.take_all() {
            let answer = Answer { decision: Decision::Cancel, ..Answer::default() };
            effects.send(&Reply { id: &waiting.key, result: choices::result(&waiting, &answer) });
        }
    }
}
