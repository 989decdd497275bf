//! The Agent Client Protocol: JSON-RPC, one message per line.

use serde_json::{Value, json};

use super::{FakeInput, FakeProtocol, PIECE_PLACEHOLDER, ReplyTemplate, print_line};

#[derive(Default)]
pub struct FakeAcp {
    prompt: Value,
    asked: String,
    requests: u64,
}

const FAKE_SESSION_ID: &str = "fake-session";

impl FakeAcp {
    fn print_update(update: &Value) {
        let params = json!({ "sessionId": FAKE_SESSION_ID, "update": update });
        print_line(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string());
    }

    fn tool_call_id(&self) -> String {
        format!("call_fake_{}", self.requests)
    }

    fn print_reply(id: &Value, result: &Value) {
        print_line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
    }
}

impl FakeProtocol for FakeAcp {
    fn handle_message(&mut self, message: &Value) -> FakeInput {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("session/prompt") => {
                self.prompt = id.clone();
                message["params"]["prompt"][0]["text"].as_str().unwrap_or_default().clone_into(&mut self.asked);
                return FakeInput::Prompt;
            }
            Some("initialize") => Self::print_reply(
                id,
                &json!({ "protocolVersion": 1, "authMethods": [],
                "agentCapabilities": { "loadSession": true }, "agentInfo": { "name": "fake", "version": "1.0.0" } }),
            ),
            Some("session/new") => Self::print_reply(id, &json!({ "sessionId": FAKE_SESSION_ID })),
            Some(_) if !id.is_null() => Self::print_reply(id, &json!({})),
            None if !id.is_null() => {
                return FakeInput::Answer(message["result"]["outcome"]["optionId"] == "allow");
            }
            _ => {}
        }
        FakeInput::Nothing
    }

    fn last_prompt(&self) -> &str {
        &self.asked
    }

    fn print_opening(&mut self) {}

    fn print_text(&mut self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        Self::print_update(&json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    }

    fn print_pieces(&mut self, print_pieces: &mut dyn Iterator<Item = String>) {
        print_pieces.for_each(|piece| self.print_text(&piece));
    }

    fn reply_template(&mut self) -> ReplyTemplate {
        // Lines should be as long as those of the other protocol.
        let text = format!("{PIECE_PLACEHOLDER}, and more, and more, and more, and more, and more, and more, and more");
        let content = json!({ "type": "text", "text": text });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        let params = json!({ "sessionId": FAKE_SESSION_ID, "update": update });
        let piece = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
        ReplyTemplate { before: Vec::new(), piece: piece.to_string(), after: Vec::new() }
    }

    fn request_permission(&mut self, command: &str) {
        self.requests += 1;
        let call = json!({ "toolCallId": self.tool_call_id(), "title": command, "kind": "execute", "status": "pending",
            "rawInput": { "command": command } });
        let mut started = call.clone();
        started["sessionUpdate"] = json!("tool_call");
        Self::print_update(&started);
        let options = json!([{ "optionId": "allow", "name": "Allow", "kind": "allow_once" },
            { "optionId": "reject", "name": "Reject", "kind": "reject_once" }]);
        let params = json!({ "sessionId": FAKE_SESSION_ID, "toolCall": call, "options": options });
        let method = "session/request_permission";
        print_line(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params }).to_string());
    }

    fn report_decision(&mut self, allowed: bool) {
        let status = if allowed { "completed" } else { "failed" };
        Self::print_update(
            &json!({ "sessionUpdate": "tool_call_update", "toolCallId": self.tool_call_id(), "status": status }),
        );
        self.print_text(if allowed { "allowed" } else { "declined" });
    }

    fn end_turn(&mut self) {
        Self::print_reply(&self.prompt, &json!({ "stopReason": "end_turn" }));
    }
}
