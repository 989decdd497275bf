//! Answers to OpenCode's permission requests and questions.

use serde_json::json;
use switchboard_event::{Event, EventBody, Id, RequestOpened};

use super::Server;
use crate::{DriverEffects, RequestAnswer, RequestDecision, UnsupportedOperation};

/// Maximum number of open requests, more than ever occur at once.
const LIMIT: usize = 256;

/// Message to the model for a refusal without a reason. A refusal without a message ends the turn in versions that
/// cannot continue after one.
const NO: &str = "The user does not allow this. Go on without it.";

#[derive(Default)]
pub struct Desk(Vec<Asked>);

struct Asked {
    request: Id,
    /// The session that made the request. Subagents have their own.
    thread: Option<Id>,
    /// The questions in their order; `None` for a permission.
    questions: Option<Vec<String>>,
    /// A refusal that was not sent yet.
    refusal: Option<String>,
}

impl Desk {
    /// Adds opened requests and removes resolved ones.
    pub fn told(&mut self, events: &[Event]) {
        for event in events {
            match &event.body {
                EventBody::RequestOpened(request) => self.opened(request, event.thread.clone()),
                EventBody::RequestResolved(resolved) => self.0.retain(|asked| asked.request != resolved.request),
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

    /// Discards refusals that were not sent yet.
    pub fn forget(&mut self) {
        self.0.iter_mut().for_each(|asked| asked.refusal = None);
    }

    fn find(&mut self, request: &Id) -> Result<&mut Asked, UnsupportedOperation> {
        let found = self.0.iter_mut().find(|asked| asked.request == *request);
        found.ok_or_else(|| UnsupportedOperation::new(format!("OpenCode does not ask `{request}`")))
    }

    /// Takes the refusals that can be sent. One refusal refuses all open requests of its session, so it waits until no
    /// other request there is undecided.
    fn refusals(&mut self) -> Vec<(Id, String)> {
        let undecided = |asked: &Asked| asked.questions.is_none() && asked.refusal.is_none();
        let waited_for: Vec<_> =
            self.0.iter().filter(|asked| undecided(asked)).map(|asked| asked.thread.clone()).collect();
        let ready = self.0.iter_mut().filter(|asked| !waited_for.contains(&asked.thread));
        ready.filter_map(|asked| Some((asked.request.clone(), asked.refusal.take()?))).collect()
    }
}

impl Server {
    pub(super) fn answer(
        &mut self,
        answer: RequestAnswer,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        let asked = self.desk.find(&answer.request)?;
        let request = &answer.request;
        match (answer.decision, asked.questions.clone()) {
            (RequestDecision::Allow | RequestDecision::AllowSession, Some(questions)) => {
                let given = |question| answer.answers.get(question).cloned().unwrap_or_default();
                let answers: Vec<_> = questions.iter().map(given).collect();
                self.post(format!("/question/{request}/reply"), &json!({ "answers": answers }), effects);
            }
            (RequestDecision::Allow, None) if answer.option.as_deref() != Some("always") => {
                self.permit(request, "once", effects)
            }
            (RequestDecision::Allow | RequestDecision::AllowSession, None) => self.permit(request, "always", effects),
            (RequestDecision::Decline, Some(_)) => self.dismiss(request, effects),
            (RequestDecision::Decline, None) => {
                asked.refusal =
                    Some(answer.message.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| NO.to_owned()));
            }
            (RequestDecision::Cancel, questions) => {
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

    fn permit(&mut self, request: &Id, reply: &str, effects: &mut DriverEffects) {
        self.post(format!("/permission/{request}/reply"), &json!({ "reply": reply }), effects);
    }

    fn dismiss(&mut self, request: &Id, effects: &mut DriverEffects) {
        self.post(format!("/question/{request}/reject"), &json!({}), effects);
    }

    pub(super) fn send_refusals(&mut self, effects: &mut DriverEffects) {
        for (request, message) in self.desk.refusals() {
            let body = json!({ "reply": "reject", "message": message });
            self.post(format!("/permission/{request}/reply"), &body, effects);
        }
    }
}
