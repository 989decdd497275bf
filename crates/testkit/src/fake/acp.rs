//! The Agent Client Protocol: JSON-RPC in lines.

use serde_json::{Value, json};

use super::{
    burst::{Mould, PIECE},
    wire::{Heard, Wire, print},
};

/// What a fake of this kind remembers.
#[derive(Default)]
pub struct Acp {
    prompt: Value,
    asked: String,
    requests: u64,
}

/// The id of its session.
const SESSION: &str = "fake-session";

impl Acp {
    fn update(update: &Value) {
        let params = json!({ "sessionId": SESSION, "update": update });
        print(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string());
    }

    fn tool(&self) -> String {
        format!("call_fake_{}", self.requests)
    }

    fn reply(id: &Value, result: &Value) {
        print(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
    }
}

impl Wire for Acp {
    fn hear(&mut self, message: &Value) -> Heard {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("session/prompt") => {
                self.prompt = id.clone();
                message["params"]["prompt"][0]["text"].as_str().unwrap_or_default().clone_into(&mut self.asked);
                return Heard::Prompt;
            }
            Some("initialize") => Self::reply(
                id,
                &json!({ "protocolVersion": 1, "authMethods": [],
                "agentCapabilities": { "loadSession": true }, "agentInfo": { "name": "fake", "version": "1.0.0" } }),
            ),
            Some("session/new") => Self::reply(id, &json!({ "sessionId": SESSION })),
            Some(_) if !id.is_null() => Self::reply(id, &json!({})),
            None if !id.is_null() => {
                return Heard::Answer(message["result"]["outcome"]["optionId"] == "allow");
            }
            _ => {}
        }
        Heard::Nothing
    }

    fn asked(&self) -> &str {
        &self.asked
    }

    fn begin(&mut self) {}

    fn say(&mut self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        Self::update(&json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    }

    fn pieces(&mut self, pieces: &mut dyn Iterator<Item = String>) {
        pieces.for_each(|piece| self.say(&piece));
    }

    fn mould(&mut self) -> Mould {
        // Its lines are to be as long as those of others.
        let text = format!("{PIECE}, and more, and more, and more, and more, and more, and more, and more");
        let content = json!({ "type": "text", "text": text });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        let params = json!({ "sessionId": SESSION, "update": update });
        let piece = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
        Mould { before: Vec::new(), piece: piece.to_string(), after: Vec::new() }
    }

    fn ask(&mut self, command: &str) {
        self.requests += 1;
        let call = json!({ "toolCallId": self.tool(), "title": command, "kind": "execute", "status": "pending",
            "rawInput": { "command": command } });
        let mut started = call.clone();
        started["sessionUpdate"] = json!("tool_call");
        Self::update(&started);
        let options = json!([{ "optionId": "allow", "name": "Allow", "kind": "allow_once" },
            { "optionId": "reject", "name": "Reject", "kind": "reject_once" }]);
        let params = json!({ "sessionId": SESSION, "toolCall": call, "options": options });
        let method = "session/request_permission";
        print(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params }).to_string());
    }

    fn answered(&mut self, allowed: bool) {
        let status = if allowed { "completed" } else { "failed" };
        Self::update(&json!({ "sessionUpdate": "tool_call_update", "toolCallId": self.tool(), "status": status }));
        self.say(if allowed { "allowed" } else { "declined" });
    }

    fn done(&mut self) {
        Self::reply(&self.prompt, &json!({ "stopReason": "end_turn" }));
    }
}
