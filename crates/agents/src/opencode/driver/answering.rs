//! Answers to what OpenCode asks.

use serde_json::json;
use switchboard_event::{Body, Event, Id, RequestOpened};

use super::Server;
use crate::{Answer, Decision, Effects, Unsupported};

/// More requests than are ever open at once.
const LIMIT: usize = 256;

/// What the model is told of a refusal that comes without a reason. One without words would end the turn in versions
/// that do not know how to go on.
const NO: &str = "The user does not allow this. Go on without it.";

/// The requests that are open.
#[derive(Default)]
pub struct Desk(Vec<Asked>);

struct Asked {
    request: Id,
    /// The session that asks: a subagent's has its own.
    thread: Option<Id>,
    /// The questions, in their order; nothing if it is a permission.
    questions: Option<Vec<String>>,
    /// The refusal, which waits.
    refusal: Option<String>,
}

impl Desk {
    /// Learns what was asked, and what needs no answer any more.
    pub fn told(&mut self, events: &[Event]) {
        for event in events {
            match &event.body {
                Body::RequestOpened(request) => self.opened(request, event.thread.clone()),
                Body::RequestResolved(resolved) => self.0.retain(|asked| asked.request != resolved.request),
                _ => {}
            }
        }
    }

    fn opened(&mut self, request: &RequestOpened, thread: Option<Id>) {
        if self.0.len() >= LIMIT {
            self.0.remove(0);
        }
        let ids = || request.questions.iter().map(|question| question.id.clone()).collect();
        let questions = (!request.questions.is_empty()).then(ids);
        self.0.push(Asked { request: request.request.clone(), thread, questions, refusal: None });
    }

    /// Nothing that waits is sent.
    pub fn forget(&mut self) {
        self.0.iter_mut().for_each(|asked| asked.refusal = None);
    }

    fn find(&mut self, request: &Id) -> Result<&mut Asked, Unsupported> {
        let found = self.0.iter_mut().find(|asked| asked.request == *request);
        found.ok_or_else(|| Unsupported::new(format!("OpenCode does not ask `{request}`")))
    }

    /// The refusals that may be sent. One refusal refuses all that is open in its session, so it waits until nothing
    /// else there wants an answer.
    fn refusals(&mut self) -> Vec<(Id, String)> {
        let undecided = |asked: &Asked| asked.questions.is_none() && asked.refusal.is_none();
        let waited_for: Vec<_> =
            self.0.iter().filter(|asked| undecided(asked)).map(|asked| asked.thread.clone()).collect();
        let ready = self.0.iter_mut().filter(|asked| !waited_for.contains(&asked.thread));
        ready.filter_map(|asked| Some((asked.request.clone(), asked.refusal.take()?))).collect()
    }
}

impl Server {
    pub(super) fn answer(&mut self, answer: Answer, effects: &mut Effects) -> Result<(), Unsupported> {
        let asked = self.desk.find(&answer.request)?;
        let request = &answer.request;
        match (answer.decision, asked.questions.clone()) {
            (Decision::Allow | Decision::AllowSession, Some(questions)) => {
                let given = |question| answer.answers.get(question).cloned().unwrap_or_default();
                let answers: Vec<_> = questions.iter().map(given).collect();
                self.post(format!("/question/{request}/reply"), &json!({ "answers": answers }), effects);
            }
            (Decision::Allow, None) if answer.option.as_deref() != Some("always") => {
                self.permit(request, "once", effects)
            }
            (Decision::Allow | Decision::AllowSession, None) => self.permit(request, "always", effects),
            (Decision::Decline, Some(_)) => self.dismiss(request, effects),
            (Decision::Decline, None) => {
                asked.refusal =
                    Some(answer.message.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| NO.to_owned()));
            }
            (Decision::Cancel, questions) => {
                self.interrupt(effects);
                match questions {
                    Some(_) => self.dismiss(request, effects),
                    None => self.permit(request, "reject", effects),
                }
            }
        }
        self.send_refusals(effects);
        Ok(())
    }

    fn permit(&mut self, request: &Id, reply: &str, effects: &mut Effects) {
        self.post(format!("/permission/{request}/reply"), &json!({ "reply": reply }), effects);
    }

    fn dismiss(&mut self, request: &Id, effects: &mut Effects) {
        self.post(format!("/question/{request}/reject"), &json!({}), effects);
    }

    pub(super) fn send_refusals(&mut self, effects: &mut Effects) {
        for (request, message) in self.desk.refusals() {
            let body = json!({ "reply": "reject", "message": message });
            self.post(format!("/permission/{request}/reply"), &body, effects);
        }
    }
}
