//! Prompts and turns. A prompt begins a turn and its response ends it; a prompt sent meanwhile waits. Agents treat it
//! differently: it ends the first turn, joins it, or runs after it. The following messages show which.

use std::collections::VecDeque;

use switchboard_event::{Fault, Item, Level, Notice, Stop, Topic, TurnCompleted, TurnStarted, TurnStatus, UserMessage};

use super::{
    AcpReader, ClientRequestKind, RpcId, answer_notice, control, errors,
    messages::{contents, text_of},
    session::SessionScope,
};
use crate::{JsonObject, RunRecorder, bounded::push_bounded};

/// Maximum number of waiting prompts. The oldest is dropped beyond that.
const WAITING: usize = 64;

/// The prompts without a response.
#[derive(Default)]
pub struct PromptTracker {
    /// The prompt of the current turn.
    owner: Option<TrackedPrompt>,
    waiting: VecDeque<TrackedPrompt>,
    /// Outcome of the latest turn. A response that only repeats it belongs to a prompt that joined the turn.
    latest: Option<Stop>,
    /// The client asked the agent to stop.
    pub cancelling: bool,
    /// The explanation so far of a turn that the agent reported as failed.
    failure: Option<String>,
}

struct TrackedPrompt {
    key: RpcId,
    text: String,
}

impl PromptTracker {
    /// Returns whether this is the prompt of the current turn.
    pub fn is_owner(&self, key: &str) -> bool {
        self.owner.as_ref().is_some_and(|prompt| prompt.key == key)
    }

    /// Returns whether the text is part of a prompt. Some agents repeat their prompts.
    pub fn is_echo(&self, text: &str) -> bool {
        self.owner.iter().chain(&self.waiting).any(|prompt| prompt.text.contains(text))
    }

    /// Stores the session state that an agent reports. codex-acp 2.6.0 ends a turn as successful although its model
    /// request failed, and reports the failure only here.
    pub fn set_state(&mut self, state: &str) {
        match state {
            "systemError" => self.failure = Some(String::new()),
            "active" => self.failure = None,
            _ => {}
        }
    }

    /// Takes text that follows a failure as its explanation. Messages of the model have an id.
    pub fn explain_failure(&mut self, text: &str, message: Option<&str>) -> bool {
        let Some(failure) = self.failure.as_mut().filter(|_| message.is_none()) else { return false };
        failure.push_str(text);
        true
    }

    fn wait(&mut self, prompt: TrackedPrompt) {
        push_bounded(&mut self.waiting, prompt, WAITING);
    }

    fn take_waiting(&mut self, key: &str) -> Option<TrackedPrompt> {
        let index = self.waiting.iter().position(|prompt| prompt.key == key)?;
        self.waiting.remove(index)
    }
}

impl AcpReader {
    /// `session/prompt`.
    pub(super) fn prompt(&mut self, id: Option<RpcId>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let scope = self.enter_scope(params, recorder);
        if matches!(scope, SessionScope::Replay(_)) {
            self.end_replay(recorder);
            recorder.set_scope(None, None);
        }
        self.asked("session/prompt", id.clone(), params);
        let content = contents(params.get_array("prompt"));
        let main = scope.thread().is_none() || matches!(scope, SessionScope::Replay(_));
        let queued = main && (self.prompts.owner.is_some() || !self.prompts.waiting.is_empty());
        if main {
            let prompt = TrackedPrompt { key: id.unwrap_or_default(), text: text_of(&content) };
            if queued {
                self.prompts.wait(prompt);
            } else {
                self.begin(prompt, recorder);
            }
        }
        let id = self.next_id("message", recorder);
        recorder.item_completed(&id, Item::new(UserMessage { content, synthetic: false, queued }));
    }

    fn begin(&mut self, prompt: TrackedPrompt, recorder: &mut RunRecorder) {
        self.open_messages.end(None, recorder);
        self.settle_declined(None, recorder);
        self.prompts.cancelling = false;
        self.prompts.failure = None;
        self.replies.end_reply();
        recorder.turn_started(TurnStarted { prompt: Some(prompt.text.clone()), ..TurnStarted::default() });
        self.prompts.owner = Some(prompt);
    }

    /// Ensures a turn for activity of the agent: a waiting prompt is being processed now. Activity after the end of a
    /// turn belongs to none; in a stream without prompts, it is the only sign of a new turn.
    pub(super) fn active(&mut self, recorder: &mut RunRecorder) {
        if recorder.in_turn() {
            return;
        }
        if let Some(prompt) = self.prompts.waiting.pop_front() {
            self.begin(prompt, recorder);
        } else if !self.session.two_way {
            recorder.ensure_turn();
        }
    }

    /// `session/cancel`.
    pub(super) fn cancel(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let scope = self.enter_scope(params, recorder);
        if scope.thread().is_none() && recorder.in_turn() {
            self.prompts.cancelling = true;
            recorder.mark_interrupted();
        }
        recorder.write_notice(Notice::new(Topic::Interrupt));
    }

    pub(super) fn prompt_answered(
        &mut self,
        id: &str,
        request: &ClientRequestKind,
        fields: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let error = fields.get("error").map(|error| errors::fault(&error.as_object()));
        let result = fields.get_object("result");
        let waited = self.prompts.take_waiting(id);
        let elsewhere =
            request.session.as_deref().is_some_and(|s| recorder.agent_session().is_some_and(|main| *main != *s));
        if elsewhere || waited.is_some() && self.prompts.owner.is_some() {
            return aside(fields, error, recorder);
        }
        let failure = self.prompts.failure.take().filter(|_| waited.is_none());
        let error = error.or_else(|| failure.map(|text| errors::explained(&text)));
        let turn = outcome(&result, error);
        if let Some(prompt) = waited {
            if self.prompts.latest == Some(turn.stop) && turn.error.is_none() {
                return recorder.write_notice(answer_notice("session/prompt", fields));
            }
            self.begin(prompt, recorder);
        }
        self.prompts.owner = None;
        self.prompts.latest = Some(turn.stop);
        self.finish(turn, &result, recorder);
    }

    fn finish(&mut self, turn: TurnCompleted, result: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        self.open_messages.end(None, recorder);
        self.settle_calls(recorder);
        self.spending.count(result, recorder);
        let denied = self.calls.take_denied();
        recorder.turn_completed(TurnCompleted { denied, ..turn });
    }
}

/// Reports a response that ends no turn: of another session, or of a prompt that joined the running turn.
fn aside(fields: &JsonObject<'_>, error: Option<Fault>, recorder: &mut RunRecorder) {
    recorder.write_notice(match error {
        Some(fault) => Notice {
            text: Some(fault.message.clone()),
            error: Some(fault),
            ..Notice::new(Topic::Warning).with_level(Level::Warning).with_name("session/prompt")
        },
        None => {
            let status =
                fields.get_object("result").get_non_empty("stopReason").unwrap_or_else(|| "completed".to_owned());
            control("session/prompt").with_status(status)
        }
    });
}

/// Returns the outcome of a turn. An unknown reason counts as success, because the agent did respond.
fn outcome(result: &JsonObject<'_>, error: Option<Fault>) -> TurnCompleted {
    use switchboard_event::ErrorCode;
    let (status, stop) = match (&error, result.get_str("stopReason").as_deref()) {
        (Some(fault), _) if fault.code == ErrorCode::Aborted => (TurnStatus::Interrupted, Stop::Cancelled),
        // A stopped turn is not a failed one, whatever the state of its model requests.
        (_, Some("cancelled")) => (TurnStatus::Interrupted, Stop::Cancelled),
        (Some(_), _) => (TurnStatus::Failed, Stop::Error),
        (None, Some("max_tokens")) => (TurnStatus::Completed, Stop::MaxTokens),
        (None, Some("max_turn_requests")) => (TurnStatus::Completed, Stop::MaxTurns),
        (None, Some("refusal")) => (TurnStatus::Completed, Stop::Refusal),
        (None, _) => (TurnStatus::Completed, Stop::EndTurn),
    };
    TurnCompleted { status, stop, error, ..TurnCompleted::default() }
}

#[cfg(test)]
mod tests {

    use switchboard_event::{Stop, TurnStatus};

    use super::outcome;
    use crate::JsonView;

    #[test]
    fn every_reason_ends_the_turn() {
        for (reason, status, stop) in [
            ("end_turn", TurnStatus::Completed, Stop::EndTurn),
            ("max_tokens", TurnStatus::Completed, Stop::MaxTokens),
            ("max_turn_requests", TurnStatus::Completed, Stop::MaxTurns),
            ("refusal", TurnStatus::Completed, Stop::Refusal),
            ("cancelled", TurnStatus::Interrupted, Stop::Cancelled),
            ("_bored", TurnStatus::Completed, Stop::EndTurn),
        ] {
            let result = format!(r#"{{"stopReason":"{reason}"}}"#);
            let turn = outcome(&JsonView::parse(&result).unwrap().as_object(), None);
            assert_eq!((turn.status, turn.stop), (status, stop), "{reason}");
        }
    }
}
