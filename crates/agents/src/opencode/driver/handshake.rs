//! From the server's first line to a session that takes prompts, and what is asked again when the bus was interrupted.

use serde_json::json;
use switchboard_event::{ErrorCode, Fault};

use super::{Conversation, Server};
use crate::{
    Effect, Effects, Json, Object,
    opencode::{
        exchange,
        launch::rules::{self, Rule},
        sessions,
    },
};

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The server has not said where it is.
    Starting,
    /// The bus is being opened.
    Listening,
    /// The agents of OpenCode are asked for.
    Agents(u64),
    /// The session is asked for.
    Session(u64),
    /// The session gets its rules.
    Rules(u64),
    /// What can be chosen is asked for.
    Offers,
    /// Prompts may come.
    Ready,
}

impl Server {
    /// The server prints where it is, after a warning or two.
    pub(super) fn printed(&mut self, line: &str, effects: &mut Effects) {
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        if let (Stage::Starting, true, Some(url)) = (self.stage, line.contains("listening on"), url) {
            self.stage = Stage::Listening;
            let authorization = Some(self.authorization.clone());
            effects.push(Effect::Connect { url: url.to_owned(), authorization, anywhere: false });
            // First of all: the bus does not keep what nobody hears.
            effects.push(Effect::Listen { path: "/event".to_owned() });
        }
    }

    /// The bus is open, for the first time or again.
    pub(super) fn stream_opened(&mut self, effects: &mut Effects) {
        match self.stage {
            Stage::Listening => {
                let number = self.get("/agent", effects);
                self.stage = Stage::Agents(number);
            }
            Stage::Ready => self.catch_up(effects),
            _ => {}
        }
    }

    /// Asks for all that may have been missed.
    pub(super) fn catch_up(&mut self, effects: &mut Effects) {
        let messages = self.path("/message");
        for path in [messages, "/session/status".to_owned(), "/permission".to_owned(), "/question".to_owned()] {
            self.get(path, effects);
        }
    }

    /// The server answered.
    pub(super) fn answered(&mut self, answer: &Object<'_>, effects: &mut Effects) {
        let failure = exchange::failure(answer);
        let number = answer.count("id");
        if self.offered(number, answer, effects) {
            return;
        }
        match self.stage {
            Stage::Agents(awaited) if awaited == number => {
                // Without the list, modes cannot be checked; that is no reason not to work.
                self.agents = answer.get("body").filter(|_| failure.is_none()).map(|list| list.text().to_owned());
                self.open_session(effects);
            }
            Stage::Session(awaited) | Stage::Rules(awaited) if awaited == number => match failure {
                Some(fault) => effects.give_up(self.without_session(fault)),
                None => self.session_answered(&answer.object("body"), effects),
            },
            _ => self.prompt_answered(number, failure.is_none(), effects),
        }
    }

    fn open_session(&mut self, effects: &mut Effects) {
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

    fn session_answered(&mut self, session: &Object<'_>, effects: &mut Effects) {
        let Some(id) = session.filled("id") else {
            let fault = Fault::new(ErrorCode::ProtocolError, "OpenCode answered without a session");
            return effects.give_up(fault);
        };
        self.session = Some(id);
        if self.offers.model().is_none() {
            self.offers.uses(sessions::about(session).model);
        }
        let fresh = matches!(self.conversation, Conversation::New) || matches!(self.stage, Stage::Rules(_));
        // Rules of an earlier run cannot be taken back, only followed by others.
        self.asks |= !fresh && !session.array("permission").is_empty();
        let rules = self.rules();
        if fresh || rules.is_empty() {
            return self.opened(effects);
        }
        let number = self.give(&rules, effects);
        self.stage = Stage::Rules(number);
    }

    /// The session is open. Who has nothing to do yet is first asked what it could do.
    fn opened(&mut self, effects: &mut Effects) {
        if self.leisure {
            self.stage = Stage::Offers;
            return self.ask_for_offers(effects);
        }
        self.stage = Stage::Ready;
        effects.push(Effect::Ready);
    }

    pub(super) fn give(&mut self, rules: &[Rule], effects: &mut Effects) -> u64 {
        let path = self.path("");
        self.request("PATCH", path, Some(&json!({ "permission": rules })), effects)
    }

    /// The rules of the session. Where nothing is asked it needs few.
    pub(super) fn rules(&self) -> Vec<Rule> {
        if !self.asks {
            return rules::forbidden(&self.config, &self.data);
        }
        let agents = self.agents.as_deref().and_then(Json::parse);
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
