//! Asking the user: the editor shows what the agent asks, and the agent is told what was chosen. Whatever is no clear
//! yes is a no.

use std::{collections::BTreeMap, sync::Arc};

use agent_client_protocol::UntypedMessage;
use serde_json::Value;
use switchboard_dialects::acp::{AcpRequestKind, chosen_label, form_answers, is_allow_option};
use switchboard_event::{OptionKind, RequestOpened};

use super::open::Open;
use crate::order::{ApprovalAnswer, ApprovalDecision};

/// Something to ask.
pub struct Ask {
    pub request: RequestOpened,
    pub how: AcpRequestKind,
    /// What the editor is sent: methods and their parameters. None if it cannot show it.
    pub questions: Vec<(String, Value)>,
}

impl Ask {
    /// Asks, and tells the agent what comes back.
    pub fn put(self, open: &Arc<Open>) {
        let open = open.clone();
        tokio::spawn(async move {
            let answer = self.answer(&open).await;
            // Somebody else may have answered, or the turn may be over.
            drop(open.conversation.answer(&self.request.request, &answer).await);
        });
    }

    async fn answer(&self, open: &Open) -> ApprovalAnswer {
        let cancels = open.cancels();
        let mut replies = Vec::new();
        for (method, params) in &self.questions {
            match self.reply(open, method, params.clone()).await {
                Some(reply) => replies.push(reply),
                None => break,
            }
        }
        let refused = if open.cancels() > cancels { ApprovalDecision::Cancel } else { ApprovalDecision::Decline };
        match self.how {
            AcpRequestKind::Permission => permitted(&self.request, replies.first(), refused),
            AcpRequestKind::Questions if self.questions.is_empty() => ApprovalAnswer {
                reason: Some("the user's editor cannot show this question; ask in plain text instead".to_owned()),
                ..no(refused)
            },
            AcpRequestKind::Questions => filled_in(&self.request, &replies, refused),
        }
    }

    /// What the editor says; nothing if it says no, or nothing that makes sense.
    async fn reply(&self, open: &Open, method: &str, params: Value) -> Option<Value> {
        let message = UntypedMessage::new(method, params).ok()?;
        let sent = open.line.send_request(message);
        open.asks(&self.request.request, sent.cancellation_handle());
        sent.block_task().await.ok()
    }
}

fn no(decision: ApprovalDecision) -> ApprovalAnswer {
    ApprovalAnswer { decision, option: None, reason: None, input: None, answers: BTreeMap::new() }
}

/// The option that was chosen.
fn chosen(reply: &Value) -> Option<&str> {
    let outcome = reply.get("outcome")?;
    (outcome.get("outcome")? == "selected").then(|| outcome.get("optionId")?.as_str()).flatten()
}

fn permitted(request: &RequestOpened, reply: Option<&Value>, refused: ApprovalDecision) -> ApprovalAnswer {
    let Some(option) = reply.and_then(chosen) else { return no(refused) };
    let Some(known) = request.options.iter().find(|known| known.id == option) else {
        let yes = request.options.is_empty() && is_allow_option(option);
        return no(if yes { ApprovalDecision::Accept } else { refused });
    };
    let decision = match known.kind {
        OptionKind::AllowOnce => ApprovalDecision::Accept,
        OptionKind::AllowSession | OptionKind::AllowAlways => ApprovalDecision::AcceptForSession,
        OptionKind::Reject => ApprovalDecision::Decline,
        OptionKind::Cancel => ApprovalDecision::Cancel,
    };
    ApprovalAnswer { option: Some(known.id.clone()), ..no(decision) }
}

/// Answers to questions, from a form or from one choice for each.
fn filled_in(request: &RequestOpened, replies: &[Value], refused: ApprovalDecision) -> ApprovalAnswer {
    let answers = match replies {
        [form] if form.get("action").is_some_and(|action| action == "accept") => {
            form_answers(request, form.get("content").unwrap_or(&Value::Null))
        }
        _ => {
            let picked = request.questions.iter().zip(replies).filter_map(|(question, reply)| {
                Some((question.id.clone(), vec![chosen_label(question, chosen(reply)?)?.to_owned()]))
            });
            picked.collect()
        }
    };
    if answers.is_empty() {
        return no(refused);
    }
    ApprovalAnswer { answers, ..no(ApprovalDecision::Accept) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use switchboard_event::{Choice, OptionKind, Question, RequestOpened, RequestOption};

    use super::{ApprovalDecision, filled_in, permitted};

    fn selected(option: &str) -> Value {
        json!({"outcome": {"outcome": "selected", "optionId": option}})
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        let option = |id: &str, kind| RequestOption { id: id.to_owned(), label: id.to_owned(), kind };
        let options = vec![
            option("once", OptionKind::AllowOnce),
            option("always", OptionKind::AllowAlways),
            option("no", OptionKind::Reject),
            option("stop", OptionKind::Cancel),
        ];
        let request = RequestOpened { options, ..RequestOpened::default() };
        for (reply, want) in [
            (Some(selected("once")), ApprovalDecision::Accept),
            (Some(selected("always")), ApprovalDecision::AcceptForSession),
            (Some(selected("no")), ApprovalDecision::Decline),
            (Some(selected("stop")), ApprovalDecision::Cancel),
            (Some(selected("allow")), ApprovalDecision::Decline),
            (Some(json!({"outcome": {"outcome": "cancelled"}})), ApprovalDecision::Decline),
            (Some(json!({"outcome": "once"})), ApprovalDecision::Decline),
            (Some(json!(null)), ApprovalDecision::Decline),
            (None, ApprovalDecision::Decline),
        ] {
            let answer = permitted(&request, reply.as_ref(), ApprovalDecision::Decline);
            assert_eq!(answer.decision, want, "{reply:?}");
        }
        let bare = RequestOpened::default();
        assert_eq!(
            permitted(&bare, Some(&selected("allow")), ApprovalDecision::Decline).decision,
            ApprovalDecision::Accept
        );
        assert_eq!(
            permitted(&bare, Some(&selected("x")), ApprovalDecision::Decline).decision,
            ApprovalDecision::Decline
        );
    }

    #[test]
    fn questions_are_answered_by_a_form_or_one_by_one() {
        let choices = ["red", "blue"].map(|label| Choice { label: label.to_owned(), description: None });
        let question = Question { id: "colour".to_owned(), choices: choices.into(), ..Question::default() };
        let request = RequestOpened { questions: vec![question], ..RequestOpened::default() };
        for (reply, want) in [
            (json!({"action": "accept", "content": {"colour": "blue"}}), Some("blue")),
            (json!({"action": "accept", "content": {}}), None),
            (json!({"action": "decline"}), None),
            (selected("choice_0"), Some("red")),
            (selected("reject"), None),
        ] {
            let answer = filled_in(&request, std::slice::from_ref(&reply), ApprovalDecision::Decline);
            let said = answer.answers.get("colour").map(|said| said.join(","));
            assert_eq!(said.as_deref(), want, "{reply}");
            assert_eq!(answer.decision == ApprovalDecision::Accept, want.is_some());
        }
    }
}
