//! Messages in lines of JSON: a text is an assistant message, a question is a control request.

use serde_json::{Value, json};

use super::{
    FakeInput, FakeProtocol, NUMBER_PLACEHOLDER, PIECE_PLACEHOLDER, REPLY_PLACEHOLDER, ReplyTemplate, print_line,
};

#[derive(Default)]
pub struct FakeStreamJson {
    messages: u64,
    requests: u64,
    said: String,
    prompt: String,
}

const FAKE_SESSION_ID: &str = "0f0f0f0f-0000-4000-8000-000000000001";

impl FakeStreamJson {
    fn add_envelope(&mut self, mut message: Value) -> Value {
        self.messages += 1;
        message["session_id"] = json!(FAKE_SESSION_ID);
        message["uuid"] = json!(format!("00000000-0000-4000-8000-{:012}", self.messages));
        message
    }

    fn print_message(&mut self, message: Value) {
        print_line(&self.add_envelope(message).to_string());
    }

    fn print_assistant(&mut self, block: &Value) {
        let usage = json!({ "input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0 });
        let message = json!({ "id": format!("msg_fake_{}", self.messages), "type": "message", "role": "assistant",
            "model": "fake", "content": [block], "stop_reason": null, "stop_sequence": null, "usage": usage });
        self.print_message(json!({ "type": "assistant", "message": message, "parent_tool_use_id": null }));
    }

    fn tool_use_id(&self) -> String {
        format!("toolu_fake_{}", self.requests)
    }
}

impl FakeProtocol for FakeStreamJson {
    fn handle_message(&mut self, message: &Value) -> FakeInput {
        match message["type"].as_str().unwrap_or_default() {
            "user" => {
                let content = &message["message"]["content"];
                let text = content.as_str().or_else(|| content[0]["text"].as_str());
                text.unwrap_or_default().clone_into(&mut self.prompt);
                FakeInput::Prompt
            }
            "control_response" => FakeInput::Answer(message["response"]["response"]["behavior"] == "allow"),
            "control_request" => {
                let response = json!({ "subtype": "success", "request_id": message["request_id"], "response": {} });
                print_line(&json!({ "type": "control_response", "response": response }).to_string());
                FakeInput::Nothing
            }
            _ => FakeInput::Nothing,
        }
    }

    fn last_prompt(&self) -> &str {
        &self.prompt
    }

    fn print_opening(&mut self) {
        self.print_message(
            json!({ "type": "system", "subtype": "init", "cwd": "/", "tools": ["Bash"], "mcp_servers": [],
            "model": "fake", "permissionMode": "default", "slash_commands": [], "apiKeySource": "none",
            "output_style": "default", "agents": [], "skills": [], "plugins": [] }),
        );
    }

    fn print_text(&mut self, text: &str) {
        // The end of the turn repeats the text, but not a huge one.
        let repeated = if text.len() < 1 << 20 { text } else { "" };
        repeated.clone_into(&mut self.said);
        self.print_assistant(&json!({ "type": "text", "text": text }));
    }

    fn print_pieces(&mut self, print_pieces: &mut dyn Iterator<Item = String>) {
        let id = format!("msg_fake_{}", self.messages);
        reply_opening(&id).into_iter().for_each(|line| self.print_message(line));
        self.said.clear();
        for piece in print_pieces {
            self.print_message(reply_piece(&piece));
            self.said.push_str(&piece);
        }
        reply_ending(&id, &self.said).into_iter().for_each(|line| self.print_message(line));
    }

    fn reply_template(&mut self) -> ReplyTemplate {
        let id = format!("msg_fake_{REPLY_PLACEHOLDER}");
        let before = reply_opening(&id).map(|line| self.add_envelope(line).to_string()).to_vec();
        let after = reply_ending(&id, PIECE_PLACEHOLDER).map(|line| self.add_envelope(line).to_string()).to_vec();
        // In the field order of the real agent, which a reader may rely on to be fast.
        let event = format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{PIECE_PLACEHOLDER}"}}}}"#
        );
        let ids = format!(
            r#""session_id":"{FAKE_SESSION_ID}","parent_tool_use_id":null,"uuid":"00000000-0000-4000-9000-{NUMBER_PLACEHOLDER}""#
        );
        let piece = format!(r#"{{"type":"stream_event","event":{event},{ids}}}"#);
        ReplyTemplate { before, piece, after }
    }

    fn request_permission(&mut self, command: &str) {
        self.requests += 1;
        let input = json!({ "command": command, "description": "A command" });
        self.print_assistant(&json!({ "type": "tool_use", "id": self.tool_use_id(), "name": "Bash", "input": input }));
        let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "input": input,
            "description": "A command", "permission_suggestions": [], "tool_use_id": self.tool_use_id() });
        let id = format!("request-{}", self.requests);
        print_line(&json!({ "type": "control_request", "request_id": id, "request": request }).to_string());
    }

    fn report_decision(&mut self, allowed: bool) {
        let content = if allowed { "it ran" } else { "it did not run" };
        let result = json!({ "type": "tool_result", "tool_use_id": self.tool_use_id(), "content": content, "is_error": !allowed });
        let message = json!({ "role": "user", "content": [result] });
        self.print_message(json!({ "type": "user", "message": message, "parent_tool_use_id": null }));
        self.print_text(if allowed { "allowed" } else { "declined" });
    }

    fn end_turn(&mut self) {
        let usage = json!({ "input_tokens": 10, "output_tokens": 10, "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0 });
        self.print_message(json!({ "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1,
            "duration_api_ms": 1, "num_turns": 1, "result": self.said, "stop_reason": "end_turn",
            "total_cost_usd": 0.001, "usage": usage, "modelUsage": {}, "permission_denials": [] }));
    }
}

/// Returns a prompt as this fake reads it.
#[must_use]
pub fn prompt_line(text: &str) -> String {
    format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": text } }))
}

fn stream_event(event: &Value) -> Value {
    json!({ "type": "stream_event", "event": event, "parent_tool_use_id": null })
}

fn empty_reply(id: &str) -> Value {
    json!({ "id": id, "type": "message", "role": "assistant", "model": "fake", "content": [], "stop_reason": null,
        "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 1 } })
}

fn reply_opening(id: &str) -> [Value; 2] {
    let block = json!({ "type": "text", "text": "" });
    [
        stream_event(&json!({ "type": "message_start", "message": empty_reply(id) })),
        stream_event(&json!({ "type": "content_block_start", "index": 0, "content_block": block })),
    ]
}

fn reply_piece(text: &str) -> Value {
    let delta = json!({ "type": "text_delta", "text": text });
    stream_event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
}

fn reply_ending(id: &str, text: &str) -> [Value; 4] {
    let mut whole = empty_reply(id);
    whole["content"] = json!([{ "type": "text", "text": text }]);
    let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
    [
        json!({ "type": "assistant", "message": whole, "parent_tool_use_id": null }),
        stream_event(&json!({ "type": "content_block_stop", "index": 0 })),
        stream_event(&json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 10 } })),
        stream_event(&json!({ "type": "message_stop" })),
    ]
}
