//! Sends an agent's requests to the editor and passes the user's answers back. Anything but a clear approval is a
//! refusal.

use std::{collections::BTreeMap, sync::Arc};

use agent_client_protocol::UntypedMessage;
use serde_json::Value;
use switchboard_client::{ApprovalAnswer, ApprovalDecision};
use switchboard_dialects::acp::{AcpRequestKind, chosen_label, form_answers, is_allow_option};
use switchboard_event::{OptionKind, RequestOpened};

use super::open_session::OpenSession;

/// A request of the agent that the editor shows to the user.
pub struct EditorRequest {
    pub request: RequestOpened,
    pub kind: AcpRequestKind,
    /// The methods and parameters to send, empty if the editor cannot show the request.
    pub questions: Vec<(String, Value)>,
}

impl EditorRequest {
    /// Asks the user, and answers the agent in the background.
    pub fn send(self, open: &Arc<OpenSession>) {
        let open = open.clone();
        tokio::spawn(async move {
            let answer = self.answer(&open).await;
            // Another client may have answered, or the turn may be over.
            drop(open.conversation.answer(&self.request.request, &answer).await);
        });
    }

    async fn answer(&self, open: &OpenSession) -> ApprovalAnswer {
        let cancels = open.cancels();
        let mut replies = Vec::new();
        for (method, params) in &self.questions {
            match self.reply(open, method, params.clone()).await {
                Some(reply) => replies.push(reply),
                None => break,
            }
        }
        let refused = if open.cancels() > cancels { ApprovalDecision::Cancel } else { ApprovalDecision::Decline };
        match self.kind {
            AcpRequestKind::Permission => permission_answer(&self.request, replies.first(), refused),
            AcpRequestKind::Questions if self.questions.is_empty() => ApprovalAnswer {
                reason: Some("the user's editor cannot show this question; ask in plain text instead".to_owned()),
                ..refusing_answer(refused)
            },
            AcpRequestKind::Questions => questions_answer(&self.request, &replies, refused),
        }
    }

    /// Returns the editor's result, or `None` if it failed or was cancelled.
    async fn reply(&self, open: &OpenSession, method: &str, params: Value) -> Option<Value> {
        let message = UntypedMessage::new(method, params).ok()?;
        let sent = open.client.send_request(message);
        open.add_request(&self.request.request, sent.cancellation_handle());
        sent.block_task().await.ok()
    }
}

fn refusing_answer(decision: ApprovalDecision) -> ApprovalAnswer {
    ApprovalAnswer { decision, option: None, reason: None, input: None, answers: BTreeMap::new() }
}

fn selected_option(reply: &Value) -> Option<&str> {
    let outcome = reply.get("outcome")?;
    (outcome.get("outcome")? == "selected").then(|| outcome.get("optionId")?.as_str()).flatten()
}

fn permission_answer(request: &RequestOpened, reply: Option<&Value>, refused: ApprovalDecision) -> ApprovalAnswer {
    let Some(option) = reply.and_then(selected_option) else { return refusing_answer(refused) };
    let Some(known) = request.options.iter().find(|known| known.id == option) else {
        let is_approval = request.options.is_empty() && is_allow_option(option);
        return refusing_answer(if is_approval { ApprovalDecision::Accept } else { refused });
    };
    let decision = match known.kind {
        OptionKind::AllowOnce => ApprovalDecision::Accept,
        OptionKind::AllowSession | OptionKind::AllowAlways => ApprovalDecision::AcceptForSession,
        OptionKind::Reject => ApprovalDecision::Decline,
        OptionKind::Cancel => ApprovalDecision::Cancel,
    };
    ApprovalAnswer { option: Some(known.id.clone()), ..refusing_answer(decision) }
}

/// Takes the answers from a form, or from one choice per question.
fn questions_answer(request: &RequestOpened, replies: &[Value], refused: ApprovalDecision) -> ApprovalAnswer {
    let answers = match replies {
        [form] if form.get("action").is_some_and(|action| action == "accept") => {
            form_answers(request, form.get("content").unwrap_or(&Value::Null))
        }
        _ => {
            let picked = request.questions.iter().zip(replies).filter_map(|(question, reply)| {
                Some((question.id.clone(), vec![chosen_label(question, selected_option(reply)?)?.to_owned()]))
            });
            picked.collect()
        }
    };
    if answers.is_empty() {
        return refusing_answer(refused);
    }
    ApprovalAnswer { answers, ..refusing_answer(ApprovalDecision::Accept) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use switchboard_client::ApprovalDecision;
    use switchboard_event::{Choice, OptionKind, Question, RequestOpened, RequestOption};

    use super::{permission_answer, questions_answer};

    fn selected(option: &str) -> Value {
        json!({"outcome": {"outcome": "selected", "optionId": option}})
    }

    #[test]
    fn only_a_clear_approval_is_one() {
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
            let answer = permission_answer(&request, reply.as_ref(), ApprovalDecision::Decline);
            assert_eq!(answer.decision, want, "{reply:?}");
        }
        let bare = RequestOpened::default();
        assert_eq!(
            permission_answer(&bare, Some(&selected("allow")), ApprovalDecision::Decline).decision,
            ApprovalDecision::Accept
        );
        assert_eq!(
            permission_answer(&bare, Some(&selected("x")), ApprovalDecision::Decline).decision,
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
            let answer = questions_answer(&request, std::slice::from_ref(&reply), ApprovalDecision::Decline);
            let given = answer.answers.get("colour").map(|labels| labels.join(","));
            assert_eq!(given.as_deref(), want, "{reply}");
            assert_eq!(answer.decision == ApprovalDecision::Accept, want.is_some());
        }
    }
}
