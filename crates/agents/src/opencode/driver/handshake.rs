//! From the server's first line to a session that accepts prompts, and the requests after an interruption of the bus.

use serde_json::json;
use switchboard_event::{ErrorCode, Fault};

use super::{Conversation, Server};
use crate::{
    DriverEffect, DriverEffects, JsonObject, JsonView,
    opencode::{
        exchange,
        launch::rules::{self, Rule},
        sessions,
    },
};

/// Progress of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
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

impl Server {
    /// Reads the server's address, which it prints after a warning or two.
    pub(super) fn printed(&mut self, line: &str, effects: &mut DriverEffects) {
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        if let (Stage::Starting, true, Some(url)) = (self.stage, line.contains("listening on"), url) {
            self.stage = Stage::Listening;
            let authorization = Some(self.authorization.clone());
            effects.push(DriverEffect::Connect { url: url.to_owned(), authorization, anywhere: false });
            // The bus does not buffer events, so it is opened before any request.
            effects.push(DriverEffect::Listen { path: "/event".to_owned() });
        }
    }

    /// Handles the opening or reopening of the bus.
    pub(super) fn stream_opened(&mut self, effects: &mut DriverEffects) {
        match self.stage {
            Stage::Listening => {
                let number = self.get("/agent", effects);
                self.stage = Stage::Agents(number);
            }
            Stage::Ready => self.catch_up(effects),
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

    pub(super) fn answered(&mut self, answer: &JsonObject<'_>, effects: &mut DriverEffects) {
        let failure = exchange::failure(answer);
        let number = answer.get_count("id");
        if self.offered(number, answer, effects) {
            return;
        }
        match self.stage {
            Stage::Agents(awaited) if awaited == number => {
                // Without the list, modes cannot be checked. The session works anyway.
                self.agents = answer.get("body").filter(|_| failure.is_none()).map(|list| list.raw_text().to_owned());
                self.open_session(effects);
            }
            Stage::Session(awaited) | Stage::Rules(awaited) if awaited == number => match failure {
                Some(fault) => effects.give_up(self.without_session(fault)),
                None => self.session_answered(&answer.get_object("body"), effects),
            },
            _ => self.prompt_answered(number, failure.is_none(), effects),
        }
    }

    fn open_session(&mut self, effects: &mut DriverEffects) {
        let number = match self.conversation.clone() {
            Conversation::New => {
                let rules = self.rules();
                let body = if rules.is_empty() { json!({}) } else { json!({ "permission": rules }) };
                self.post("/session", &body, effects)
            }
            Conversation::Known(session) => self.get(format!("/session/{session}"), effects),
            Conversation::CopyOf(session) => self.post(format!("/session/{session}/fork"), &json!({}), effects),
        };
        self.stage = Stage::Session(number);
    }

    fn session_answered(&mut self, session: &JsonObject<'_>, effects: &mut DriverEffects) {
        let Some(id) = session.get_non_empty("id") else {
            let fault = Fault::new(ErrorCode::ProtocolError, "OpenCode answered without a session");
            return effects.give_up(fault);
        };
        self.session = Some(id);
        if self.offers.model().is_none() {
            self.offers.uses(sessions::about(session).model);
        }
        let fresh = matches!(self.conversation, Conversation::New) || matches!(self.stage, Stage::Rules(_));
        // Rules of an earlier run cannot be removed, only overridden.
        self.asks |= !fresh && !session.get_array("permission").is_empty();
        let rules = self.rules();
        if fresh || rules.is_empty() {
            return self.opened(effects);
        }
        let number = self.give(&rules, effects);
        self.stage = Stage::Rules(number);
    }

    /// Finishes the handshake. A session without a first prompt requests the available choices first.
    fn opened(&mut self, effects: &mut DriverEffects) {
        if self.leisure {
            self.stage = Stage::Offers;
            return self.ask_for_offers(effects);
        }
        self.stage = Stage::Ready;
        effects.push(DriverEffect::Ready);
    }

    pub(super) fn give(&mut self, rules: &[Rule], effects: &mut DriverEffects) -> u64 {
        let path = self.path("");
        self.request("PATCH", path, Some(&json!({ "permission": rules })), effects)
    }

    /// Returns the rules of the session. A session that asks nothing needs only a few.
    pub(super) fn rules(&self) -> Vec<Rule> {
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
            Conversation::New => Fault { message: format!("no session: {}", fault.message), ..fault },
            Conversation::Known(session) | Conversation::CopyOf(session) => {
                let message = format!("the session {session} cannot be continued: {}", fault.message);
                Fault { message, ..fault }
            }
        }
    }
}
