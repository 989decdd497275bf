//! Messages in lines of JSON: a text is a message of the assistant, a question is a control request.

use serde_json::{Value, json};

use super::{
    burst::{Mould, NUMBER, PIECE, REPLY},
    wire::{Heard, Wire, print},
};

/// What a fake of this kind remembers.
#[derive(Default)]
pub struct StreamJson {
    messages: u64,
    requests: u64,
    said: String,
    asked: String,
}

/// The id of its session.
const SESSION: &str = "0f0f0f0f-0000-4000-8000-000000000001";

impl StreamJson {
    fn envelope(&mut self, mut message: Value) -> Value {
        self.messages += 1;
        message["session_id"] = json!(SESSION);
        message["uuid"] = json!(format!("00000000-0000-4000-8000-{:012}", self.messages));
        message
    }

    fn send(&mut self, message: Value) {
        print(&self.envelope(message).to_string());
    }

    fn assistant(&mut self, block: &Value) {
        let usage = json!({ "input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0 });
        let message = json!({ "id": format!("msg_fake_{}", self.messages), "type": "message", "role": "assistant",
            "model": "fake", "content": [block], "stop_reason": null, "stop_sequence": null, "usage": usage });
        self.send(json!({ "type": "assistant", "message": message, "parent_tool_use_id": null }));
    }

    fn tool(&self) -> String {
        format!("toolu_fake_{}", self.requests)
    }
}

impl Wire for StreamJson {
    fn hear(&mut self, message: &Value) -> Heard {
        match message["type"].as_str().unwrap_or_default() {
            "user" => {
                let content = &message["message"]["content"];
                let text = content.as_str().or_else(|| content[0]["text"].as_str());
                text.unwrap_or_default().clone_into(&mut self.asked);
                Heard::Prompt
            }
            "control_response" => Heard::Answer(message["response"]["response"]["behavior"] == "allow"),
            "control_request" => {
                let response = json!({ "subtype": "success", "request_id": message["request_id"], "response": {} });
                print(&json!({ "type": "control_response", "response": response }).to_string());
                Heard::Nothing
            }
            _ => Heard::Nothing,
        }
    }

    fn asked(&self) -> &str {
        &self.asked
    }

    fn begin(&mut self) {
        self.send(json!({ "type": "system", "subtype": "init", "cwd": "/", "tools": ["Bash"], "mcp_servers": [],
            "model": "fake", "permissionMode": "default", "slash_commands": [], "apiKeySource": "none",
            "output_style": "default", "agents": [], "skills": [], "plugins": [] }));
    }

    fn say(&mut self, text: &str) {
        // The end of the turn repeats what was said, but nobody wants a huge text twice.
        let repeated = if text.len() < 1 << 20 { text } else { "" };
        repeated.clone_into(&mut self.said);
        self.assistant(&json!({ "type": "text", "text": text }));
    }

    fn pieces(&mut self, pieces: &mut dyn Iterator<Item = String>) {
        let id = format!("msg_fake_{}", self.messages);
        begin_reply(&id).into_iter().for_each(|line| self.send(line));
        self.said.clear();
        for piece in pieces {
            self.send(piece_of_reply(&piece));
            self.said.push_str(&piece);
        }
        end_reply(&id, &self.said).into_iter().for_each(|line| self.send(line));
    }

    fn mould(&mut self) -> Mould {
        let id = format!("msg_fake_{REPLY}");
        let before = begin_reply(&id).map(|line| self.envelope(line).to_string()).to_vec();
        let after = end_reply(&id, PIECE).map(|line| self.envelope(line).to_string()).to_vec();
        // In the order of the real one: a reader may count on it to be fast.
        let event =
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{PIECE}"}}}}"#);
        let ids =
            format!(r#""session_id":"{SESSION}","parent_tool_use_id":null,"uuid":"00000000-0000-4000-9000-{NUMBER}""#);
        let piece = format!(r#"{{"type":"stream_event","event":{event},{ids}}}"#);
        Mould { before, piece, after }
    }

    fn ask(&mut self, command: &str) {
        self.requests += 1;
        let input = json!({ "command": command, "description": "A command" });
        self.assistant(&json!({ "type": "tool_use", "id": self.tool(), "name": "Bash", "input": input }));
        let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "input": input,
            "description": "A command", "permission_suggestions": [], "tool_use_id": self.tool() });
        let id = format!("request-{}", self.requests);
        print(&json!({ "type": "control_request", "request_id": id, "request": request }).to_string());
    }

    fn answered(&mut self, allowed: bool) {
        let content = if allowed { "it ran" } else { "it did not run" };
        let result =
            json!({ "type": "tool_result", "tool_use_id": self.tool(), "content": content, "is_error": !allowed });
        let message = json!({ "role": "user", "content": [result] });
        self.send(json!({ "type": "user", "message": message, "parent_tool_use_id": null }));
        self.say(if allowed { "allowed" } else { "declined" });
    }

    fn done(&mut self) {
        let usage = json!({ "input_tokens": 10, "output_tokens": 10, "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0 });
        self.send(json!({ "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1,
            "duration_api_ms": 1, "num_turns": 1, "result": self.said, "stop_reason": "end_turn",
            "total_cost_usd": 0.001, "usage": usage, "modelUsage": {}, "permission_denials": [] }));
    }
}

/// A prompt, as a fake of this kind reads it.
#[must_use]
pub fn prompt_line(text: &str) -> String {
    format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": text } }))
}

fn event(event: &Value) -> Value {
    json!({ "type": "stream_event", "event": event, "parent_tool_use_id": null })
}

/// A reply that has said nothing yet.
fn reply(id: &str) -> Value {
    json!({ "id": id, "type": "message", "role": "assistant", "model": "fake", "content": [], "stop_reason": null,
        "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 1 } })
}

fn begin_reply(id: &str) -> [Value; 2] {
    let block = json!({ "type": "text", "text": "" });
    [
        event(&json!({ "type": "message_start", "message": reply(id) })),
        event(&json!({ "type": "content_block_start", "index": 0, "content_block": block })),
    ]
}

fn piece_of_reply(text: &str) -> Value {
    let delta = json!({ "type": "text_delta", "text": text });
    event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
}

fn end_reply(id: &str, text: &str) -> [Value; 4] {
    let mut whole = reply(id);
    whole["content"] = json!([{ "type": "text", "text": text }]);
    let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
    [
        json!({ "type": "assistant", "message": whole, "parent_tool_use_id": null }),
        event(&json!({ "type": "content_block_stop", "index": 0 })),
        event(&json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 10 } })),
        event(&json!({ "type": "message_stop" })),
    ]
}
