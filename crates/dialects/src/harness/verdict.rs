//! Interprets a client's response to a request of the agent.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::wire::{ApprovalResponse, Decision, RequestResponse, ResponseOutcome};

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HarnessRequestKind {
    /// Approval of a command or of file changes.
    Approval,
    /// Any other request.
    Other,
}

/// The decision of a client.
#[derive(Clone, Debug)]
pub struct RequestVerdict {
    /// Whether the request is accepted.
    pub decision: Decision,
    /// The chosen option among those the agent offered.
    pub option: Option<String>,
    /// The answers by question.
    pub answers: BTreeMap<String, Vec<String>>,
    /// The input to use instead of the requested one.
    pub input: Option<Box<RawValue>>,
    /// The message for the agent.
    pub message: Option<String>,
}

impl RequestVerdict {
    /// Reads a response. An error response declines the request, and its message is passed to the agent.
    ///
    /// # Errors
    /// Returns a description of the expected form if the response is invalid.
    pub fn read_response(asked: HarnessRequestKind, response: Result<&RawValue, &str>) -> Result<Self, String> {
        match (asked, response) {
            (_, Err(message)) => {
                let message = Some(message.to_owned()).filter(|message| !message.is_empty());
                Ok(Self { message, ..Self::from_decision(Decision::Decline) })
            }
            (HarnessRequestKind::Approval, Ok(result)) => {
                let ApprovalResponse { decision } = read_response(result)?;
                Ok(Self::from_decision(decision))
            }
            (HarnessRequestKind::Other, Ok(result)) => read_response::<RequestResponse>(result).map(Self::from),
        }
    }

    fn from_decision(decision: Decision) -> Self {
        Self { decision, option: None, answers: BTreeMap::new(), input: None, message: None }
    }
}

impl From<RequestResponse> for RequestVerdict {
    fn from(response: RequestResponse) -> Self {
        let RequestResponse { outcome, option, answers, input, message } = response;
        let decision = match outcome {
            ResponseOutcome::Allowed | ResponseOutcome::Answered => Decision::Accept,
            ResponseOutcome::Declined => Decision::Decline,
            ResponseOutcome::Cancelled => Decision::Cancel,
        };
        Self { decision, option, answers, input, message }
    }
}

fn read_response<T: DeserializeOwned>(result: &RawValue) -> Result<T, String> {
    if !result.get().starts_with('{') {
        return Err("the result of a response is an object".to_owned());
    }
    serde_json::from_str(result.get()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::to_raw_value};

    use super::*;

    fn read_response(asked: HarnessRequestKind, result: &Value) -> Result<RequestVerdict, String> {
        RequestVerdict::read_response(asked, Ok(&to_raw_value(result).unwrap()))
    }

    #[test]
    fn decisions_are_read() {
        for (word, decision) in [
            ("accept", Decision::Accept),
            ("acceptForSession", Decision::AcceptForSession),
            ("decline", Decision::Decline),
            ("cancel", Decision::Cancel),
        ] {
            assert_eq!(
                read_response(HarnessRequestKind::Approval, &json!({"decision": word})).unwrap().decision,
                decision
            );
        }
        for wrong in
            [json!({}), json!({"decision": "yes"}), json!({"decision": true}), json!("accept"), json!(["accept"])]
        {
            assert!(read_response(HarnessRequestKind::Approval, &wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_answers_are_read() {
        let answered = json!({"outcome": "answered", "answers": {"q": ["a"]}, "message": "m"});
        let verdict = read_response(HarnessRequestKind::Other, &answered).unwrap();
        assert_eq!((verdict.decision, verdict.message.as_deref()), (Decision::Accept, Some("m")));
        assert_eq!(verdict.answers["q"], ["a"]);
        assert_eq!(
            read_response(HarnessRequestKind::Other, &json!({"outcome": "cancelled"})).unwrap().decision,
            Decision::Cancel
        );
        assert!(read_response(HarnessRequestKind::Other, &json!({"outcome": "expired"})).is_err());
    }

    #[test]
    fn an_error_is_a_no() {
        let verdict = RequestVerdict::read_response(HarnessRequestKind::Approval, Err("not now")).unwrap();
        assert_eq!((verdict.decision, verdict.message.as_deref()), (Decision::Decline, Some("not now")));
    }
}
