//! Answers to requests of the app-server.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use super::{choices, conversation::CodexDriver, requests::CodexServerRequest};
use crate::{DriverEffects, RequestAnswer, RequestDecision, UnsupportedOperation};

/// Precedes the reason for declining, so that the model can relate it to the request.
pub const DECLINE_PREFIX: &str = "The request was declined: ";

#[derive(Serialize)]
struct CodexRpcResponse<'a> {
    id: &'a RawValue,
    result: Value,
}

impl CodexDriver {
    pub(super) fn answer_request(
        &mut self,
        answer: &RequestAnswer,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        let Some(waiting) = self.requests.take(&answer.request) else {
            return Err(UnsupportedOperation::new("the request needs no answer any more"));
        };
        let result = choices::answer_result(&waiting, answer);
        if let (RequestDecision::Decline, Some(reason)) = (answer.decision, &answer.message) {
            self.send_decline_reason(&waiting, reason, effects);
        }
        effects.send_record(&CodexRpcResponse { id: &waiting.key, result });
        if answer.decision == RequestDecision::Cancel && !choices::cancels_turn(&waiting) {
            self.interrupt_turn(effects);
        }
        Ok(())
    }

    /// Sends the reason for declining. A decision cannot carry a text, so it goes into a developer message, which the
    /// model reads after the refusal. That message must precede the decision.
    fn send_decline_reason(&mut self, waiting: &CodexServerRequest, reason: &str, effects: &mut DriverEffects) {
        let text = format!("{DECLINE_PREFIX}{reason}");
        let message =
            json!({ "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": text }] });
        let thread = waiting.parse_params().get_non_empty("threadId").or_else(|| self.thread.clone());
        self.calls.send("thread/inject_items", &json!({ "threadId": thread, "items": [message] }), effects);
    }

    /// Cancels all pending requests.
    pub(super) fn cancel_requests(&mut self, effects: &mut DriverEffects) {
        for waiting in self.requests.take_all() {
            let answer = RequestAnswer { decision: RequestDecision::Cancel, ..RequestAnswer::default() };
            effects
                .send_record(&CodexRpcResponse { id: &waiting.key, result: choices::answer_result(&waiting, &answer) });
        }
    }
}
