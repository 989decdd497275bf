//! What a client's response to a request of the agent means.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::wire::{ApprovalResponse, Decision, RequestResponse, ResponseOutcome};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// For approval of a command or of changes of files.
    Approval,
    /// Anything else.
    Other,
}

/// What was decided.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Yes or no.
    pub decision: Decision,
    /// One of the options that the agent offered.
    pub option: Option<String>,
    /// The answers, by question.
    pub answers: BTreeMap<String, Vec<String>>,
    /// The input that is allowed instead.
    pub input: Option<Box<RawValue>>,
    /// What the agent is told.
    pub message: Option<String>,
}

impl Verdict {
    /// Reads a response. An error is a no, and its message is what the agent is told.
    ///
    /// # Errors
    /// If it makes no sense, with what would.
    pub fn read(asked: Asked, response: Result<&RawValue, &str>) -> Result<Self, String> {
        match (asked, response) {
            (_, Err(message)) => {
                let message = Some(message.to_owned()).filter(|message| !message.is_empty());
                Ok(Self { message, ..Self::plain(Decision::Decline) })
            }
            (Asked::Approval, Ok(result)) => {
                let ApprovalResponse { decision } = read(result)?;
                Ok(Self::plain(decision))
            }
            (Asked::Other, Ok(result)) => read::<RequestResponse>(result).map(Self::from),
        }
    }

    fn plain(decision: Decision) -> Self {
        Self { decision, option: None, answers: BTreeMap::new(), input: None, message: None }
    }
}

impl From<RequestResponse> for Verdict {
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

fn read<T: DeserializeOwned>(result: &RawValue) -> Result<T, String> {
    if !result.get().starts_with('{') {
        return Err("the result of a response is an object".to_owned());
    }
    serde_json::from_str(result.get()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::to_raw_value};

    use super::*;

    fn read(asked: Asked, result: &Value) -> Result<Verdict, String> {
        Verdict::read(asked, Ok(&to_raw_value(result).unwrap()))
    }

    #[test]
    fn decisions_are_read() {
        for (word, decision) in [
            ("accept", Decision::Accept),
            ("acceptForSession", Decision::AcceptForSession),
            ("decline", Decision::Decline),
            ("cancel", Decision::Cancel),
        ] {
            assert_eq!(read(Asked::Approval, &json!({"decision": word})).unwrap().decision, decision);
        }
        for wrong in
            [json!({}), json!({"decision": "yes"}), json!({"decision": true}), json!("accept"), json!(["accept"])]
        {
            assert!(read(Asked::Approval, &wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_answers_are_read() {
        let answered = json!({"outcome": "answered", "answers": {"q": ["a"]}, "message": "m"});
        let verdict = read(Asked::Other, &answered).unwrap();
        assert_eq!((verdict.decision, verdict.message.as_deref()), (Decision::Accept, Some("m")));
        assert_eq!(verdict.answers["q"], ["a"]);
        assert_eq!(read(Asked::Other, &json!({"outcome": "cancelled"})).unwrap().decision, Decision::Cancel);
        assert!(read(Asked::Other, &json!({"outcome": "expired"})).is_err());
    }

    #[test]
    fn an_error_is_a_no() {
        let verdict = Verdict::read(Asked::Approval, Err("not now")).unwrap();
        assert_eq!((verdict.decision, verdict.message.as_deref()), (Decision::Decline, Some("not now")));
    }
}
