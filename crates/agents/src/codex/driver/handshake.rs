//! Handshake: client info, an API key if needed, and the thread to work in.

use std::time::Duration;

use serde_json::{Map, Value, json};
use switchboard_event::Fault;

use super::{
    calls::RequestPurpose,
    conversation::{CodexDriver, CodexTurnState},
};
use crate::{DriverEffect, DriverEffects, DriverTimer, JsonObject};

/// Delays the next attempt after the server was overloaded.
pub const RETRY: DriverTimer = DriverTimer("retry");

const RETRY_DELAY: Duration = Duration::from_secs(1);

const MAX_RETRIES: u32 = 5;

/// The request that opens the thread.
pub struct ThreadOpening {
    /// `thread/start`, `thread/resume` or `thread/fork`.
    pub method: &'static str,
    pub params: Map<String, Value>,
}

impl CodexDriver {
    /// Requests the experimental API, which covers changes of settings, modes, and the termination of commands that a
    /// stopped turn left running.
    pub(super) fn send_initialize(&mut self, effects: &mut DriverEffects) {
        let client = json!({ "name": "switchboard", "title": "Switchboard", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } });
        let id = self.calls.send("initialize", &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Initialize);
    }

    pub(super) fn handle_initialized(&mut self, effects: &mut DriverEffects) {
        effects.send_record(&json!({ "method": "initialized", "params": {} }));
        let Some(key) = self.key.take() else { return self.open_thread(effects) };
        let id = self.calls.next_id();
        self.calls.expect_reply(id, RequestPurpose::LogIn);
        let request = |key: &str| json!({ "id": id, "method": "account/login/start", "params": { "type": "apiKey", "apiKey": key } });
        effects.send_masked_record(&request(&key), &request("***"));
    }

    pub(super) fn open_thread(&mut self, effects: &mut DriverEffects) {
        let id = self.calls.send(self.opening.method, &self.opening.params, effects);
        self.calls.expect_reply(id, RequestPurpose::Open);
    }

    /// The lists of models and modes are requested without waiting for them, so that they do not delay the first
    /// prompt.
    pub(super) fn handle_thread_opened(&mut self, result: &JsonObject<'_>, effects: &mut DriverEffects) {
        self.thread = result.get_object("thread").get_non_empty("id");
        self.selectors.apply_settings(result);
        self.tries = 0;
        effects.push(DriverEffect::Ready);
        self.request_catalog(effects);
    }

    /// Schedules another attempt, or gives up after too many.
    pub(super) fn schedule_retry(&mut self, fault: Fault, effects: &mut DriverEffects) {
        self.tries += 1;
        if self.tries > MAX_RETRIES {
            return effects.give_up(fault);
        }
        effects.push(DriverEffect::Arm(RETRY, RETRY_DELAY));
    }

    pub(super) fn retry_pending(&mut self, effects: &mut DriverEffects) {
        if self.thread.is_none() {
            return self.open_thread(effects);
        }
        if matches!(self.turn, CodexTurnState::Idle)
            && let Some(prompt) = self.queue.pop_front()
        {
            self.start_turn(prompt, effects);
        }
    }
}
