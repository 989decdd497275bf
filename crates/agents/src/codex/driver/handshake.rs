//! The first words: who we are, a key if one is needed, and the thread to work in.

use std::time::Duration;

use serde_json::{Map, Value, json};
use switchboard_event::Fault;

use super::{
    calls::Purpose,
    conversation::{Conversation, Turn},
};
use crate::{Effect, Effects, Object, Timer};

/// The server had too much to do; it is tried again after this.
pub const RETRY: Timer = Timer("retry");
const PAUSE: Duration = Duration::from_secs(1);
const TRIES: u32 = 5;

/// How the thread is opened.
pub struct Opening {
    /// `thread/start`, `thread/resume` or `thread/fork`.
    pub method: &'static str,
    /// With what.
    pub params: Map<String, Value>,
}

impl Conversation {
    /// Some of what is needed is marked experimental: changing settings, modes, and ending what a stopped turn left.
    pub(super) fn introduce(&mut self, effects: &mut Effects) {
        let client = json!({ "name": "switchboard", "title": "Switchboard", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } });
        let id = self.calls.send("initialize", &params, effects);
        self.calls.expect(id, Purpose::Initialize);
    }

    pub(super) fn initialized(&mut self, effects: &mut Effects) {
        effects.send(&json!({ "method": "initialized", "params": {} }));
        let Some(key) = self.key.take() else { return self.open_thread(effects) };
        let id = self.calls.next();
        self.calls.expect(id, Purpose::LogIn);
        let request = |key: &str| json!({ "id": id, "method": "account/login/start", "params": { "type": "apiKey", "apiKey": key } });
        effects.send_masked(&request(&key), &request("***"));
    }

    pub(super) fn open_thread(&mut self, effects: &mut Effects) {
        let id = self.calls.send(self.opening.method, &self.opening.params, effects);
        self.calls.expect(id, Purpose::Open);
    }

    /// What can be chosen is asked for beside: it is nice to know, and must not keep the first prompt waiting.
    pub(super) fn opened(&mut self, result: &Object<'_>, effects: &mut Effects) {
        self.thread = result.object("thread").filled("id");
        self.selectors.keep(result);
        self.tries = 0;
        effects.push(Effect::Ready);
        self.ask_for_offers(effects);
    }

    /// Waits a little, unless that was done often enough.
    pub(super) fn try_later(&mut self, fault: Fault, effects: &mut Effects) {
        self.tries += 1;
        if self.tries > TRIES {
            return effects.give_up(fault);
        }
        effects.push(Effect::Arm(RETRY, PAUSE));
    }

    pub(super) fn try_again(&mut self, effects: &mut Effects) {
        if self.thread.is_none() {
            return self.open_thread(effects);
        }
        if matches!(self.turn, Turn::Idle)
            && let Some(prompt) = self.queue.pop_front()
        {
            self.begin(prompt, effects);
        }
    }
}
