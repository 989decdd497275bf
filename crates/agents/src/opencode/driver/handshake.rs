//! From the server's first line to a session that accepts prompts, and the requests after an interruption of the bus.

use serde_json::json;
use switchboard_event::{ErrorCode, Fault};

use super::{OpenCodeDriver, SessionOpening};
use crate::{
    DriverEffect, DriverEffects, JsonObject, JsonView,
    opencode::{
        exchange,
        launch::rules::{self, PermissionRule},
        sessions,
    },
};

/// Progress of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpeningStage {
    /// The server has not printed its address yet.
    Starting,
    /// The bus is being opened.
    Listening,
    /// OpenCode's agents were requested.
    Agents(u64),
    /// The session was requested.
    Session(u64),
    /// The rules of the session were sent.
    Rules(u64),
    /// The available choices were requested.
    Offers,
    /// The session accepts prompts.
    Ready,
}

impl OpenCodeDriver {
    /// Reads the server's address, which it prints after a warning or two.
    pub(super) fn read_server_output(&mut self, line: &str, effects: &mut DriverEffects) {
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        if let (OpeningStage::Starting, true, Some(url)) = (self.stage, line.contains("listening on"), url) {
            self.stage = OpeningStage::Listening;
            let authorization = Some(self.authorization.clone());
            effects.push(DriverEffect::Connect { url: url.to_owned(), authorization, anywhere: false });
            // The bus does not buffer events, so it is opened before any request.
            effects.push(DriverEffect::Listen { path: "/event".to_owned() });
        }
    }

    /// Handles the opening or reopening of the bus.
    pub(super) fn stream_opened(&mut self, effects: &mut DriverEffects) {
        match self.stage {
            OpeningStage::Listening => {
                let number = self.get("/agent", effects);
                self.stage = OpeningStage::Agents(number);
            }
            OpeningStage::Ready => self.catch_up(effects),
            _ => {}
        }
    }

    /// Requests everything that the bus may have missed.
    pub(super) fn catch_up(&mut self, effects: &mut DriverEffects) {
        let messages = self.path("/message");
        for path in [messages, "/session/status".to_owned(), "/permission".to_owned(), "/question".to_owned()] {
            self.get(path, effects);
        }
    }

    pub(super) fn handle_response(&mut self, answer: &JsonObject<'_>, effects: &mut DriverEffects) {
        let failure = exchange::failure(answer);
        let number = answer.get_count("id");
        if self.handle_offers(number, answer, effects) {
            return;
        }
        match self.stage {
            OpeningStage::Agents(awaited) if awaited == number => {
                // Without the list, modes cannot be checked. The session works anyway.
                self.agents = answer.get("body").filter(|_| failure.is_none()).map(|list| list.raw_text().to_owned());
                self.open_session(effects);
            }
            OpeningStage::Session(awaited) | OpeningStage::Rules(awaited) if awaited == number => match failure {
                Some(fault) => effects.give_up(self.without_session(fault)),
                None => self.handle_session_response(&answer.get_object("body"), effects),
            },
            _ => self.handle_prompt_response(number, failure.is_none(), effects),
        }
    }

    fn open_session(&mut self, effects: &mut DriverEffects) {
        let number = match self.conversation.clone() {
            SessionOpening::New => {
                let rules = self.rules();
                let body = if rules.is_empty() { json!({}) } else { json!({ "permission": rules }) };
                self.post("/session", &body, effects)
            }
            SessionOpening::Known(session) => self.get(format!("/session/{session}"), effects),
            SessionOpening::CopyOf(session) => self.post(format!("/session/{session}/fork"), &json!({}), effects),
        };
        self.stage = OpeningStage::Session(number);
    }

    fn handle_session_response(&mut self, session: &JsonObject<'_>, effects: &mut DriverEffects) {
        let Some(id) = session.get_non_empty("id") else {
            let fault = Fault::new(ErrorCode::ProtocolError, "OpenCode answered without a session");
            return effects.give_up(fault);
        };
        self.session = Some(id);
        if self.offers.model().is_none() {
            self.offers.set_current_model(sessions::about(session).model);
        }
        let fresh = matches!(self.conversation, SessionOpening::New) || matches!(self.stage, OpeningStage::Rules(_));
        // Rules of an earlier run cannot be removed, only overridden.
        self.asks |= !fresh && !session.get_array("permission").is_empty();
        let rules = self.rules();
        if fresh || rules.is_empty() {
            return self.handle_opened(effects);
        }
        let number = self.send_rules(&rules, effects);
        self.stage = OpeningStage::Rules(number);
    }

    /// Finishes the handshake. A session without a first prompt requests the available choices first.
    fn handle_opened(&mut self, effects: &mut DriverEffects) {
        if self.leisure {
            self.stage = OpeningStage::Offers;
            return self.ask_for_offers(effects);
        }
        self.stage = OpeningStage::Ready;
        effects.push(DriverEffect::Ready);
    }

    pub(super) fn send_rules(&mut self, rules: &[PermissionRule], effects: &mut DriverEffects) -> u64 {
        let path = self.path("");
        self.request("PATCH", path, Some(&json!({ "permission": rules })), effects)
    }

    /// Returns the rules of the session. A session that asks nothing needs only a few.
    pub(super) fn rules(&self) -> Vec<PermissionRule> {
        if !self.asks {
            return rules::forbidden(&self.config, &self.data);
        }
        let agents = self.agents.as_deref().and_then(JsonView::parse);
        let mode = self.choices.mode.as_deref();
        let restrictions = agents.map(|agents| rules::restrictions(agents, mode)).unwrap_or_default();
        rules::of_session(&self.config, &self.data, &restrictions)
    }

    fn without_session(&self, fault: Fault) -> Fault {
        match &self.conversation {
            SessionOpening::New => Fault { message: format!("no session: {}", fault.message), ..fault },
            SessionOpening::Known(session) | SessionOpening::CopyOf(session) => {
                let message = format!("the session {session} cannot be continued: {}", fault.message);
                Fault { message, ..fault }
            }
        }
    }
}
