//! The Messages API: `POST /v1/messages`, streamed or whole, and `/v1/messages/count_tokens`.

use serde_json::{Value, json};

use super::{
    answer::{Answer, Bit, End, Piece, Usage, chunks},
    api::{Api, Frame, Question, Reply, list, named, text, texts},
    conversation::Said,
    side::Side,
};

/// The API.
pub struct Anthropic;

impl Api for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn takes(&self, path: &str) -> bool {
        path.ends_with("/v1/messages") || path.ends_with("/v1/messages/count_tokens")
    }

    fn read(&self, path: &str, body: &Value) -> Question {
        let system = texts(body.get("system").unwrap_or(&Value::Null)).join("\n");
        let tools: Vec<_> = list(body, "tools").iter().map(|tool| text(tool, "name").to_owned()).collect();
        let side = if path.ends_with("/count_tokens") { Some(Side::Count) } else { side(body, &system, &tools) };
        Question {
            model: text(body, "model").to_owned(),
            tools,
            images: list(body, "messages").iter().map(|message| images(message.get("content"))).sum(),
            said: list(body, "messages").iter().flat_map(said).collect(),
            side,
            streams: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            system,
        }
    }

    fn stream(&self, reply: &Reply<'_>) -> Vec<Frame> {
        let mut frames = vec![event(&json!({ "type": "message_start", "message": opening(reply) }))];
        frames.push(event(&json!({ "type": "ping" })));
        for (index, piece) in reply.answer.pieces.iter().enumerate() {
            block(index, piece, &mut frames);
        }
        let delta = json!({ "stop_reason": stop_reason(reply.answer), "stop_sequence": null });
        let usage = usage(&reply.answer.usage, reply.answer.usage.output);
        frames.push(event(&json!({ "type": "message_delta", "delta": delta, "usage": usage })));
        frames.push(event(&json!({ "type": "message_stop" })));
        frames
    }

    fn whole(&self, reply: &Reply<'_>) -> Value {
        if reply.side == Some(&Side::Count) {
            return json!({ "input_tokens": reply.answer.usage.input });
        }
        let mut message = opening(reply);
        message["content"] = reply.answer.pieces.iter().map(whole_block).collect();
        message["stop_reason"] = json!(stop_reason(reply.answer));
        message["usage"] = usage(&reply.answer.usage, reply.answer.usage.output);
        message
    }

    fn counted(&self, usage: Usage) -> Usage {
        Usage { cache_write: 20, ..usage }
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_scripted" })
    }
}

/// A request for JSON of a schema, without tools, is no conversation.
fn side(body: &Value, system: &str, tools: &[String]) -> Option<Side> {
    let schema = body.pointer("/output_config/format/schema").filter(|_| tools.is_empty());
    schema.map(|schema| Side::Json(schema.clone())).or_else(|| Side::of(system, !tools.is_empty()))
}

/// A user's message may hold results and words; results count first.
fn said(message: &Value) -> Vec<Said> {
    let content = message.get("content").unwrap_or(&Value::Null);
    match text(message, "role") {
        "assistant" => vec![Said::Model],
        "user" => {
            let blocks = content.as_array().into_iter().flatten();
            let results = blocks.filter(|block| text(block, "type") == "tool_result");
            let results =
                results.map(|result| Said::Tool(texts(result.get("content").unwrap_or(&Value::Null)).join("\n")));
            results.chain([Said::by_user(&texts(content))]).collect()
        }
        _ => queued(&texts(content).join("\n")).into_iter().collect(),
    }
}

/// What the user said while the agent was working comes as a message of the system.
fn queued(note: &str) -> Option<Said> {
    let (_, words) = note.split_once("The user sent a new message while you were working:")?;
    Some(Said::User(words.trim().to_owned()))
}

/// Images, also those in results of tools.
fn images(content: Option<&Value>) -> usize {
    let blocks = content.and_then(Value::as_array).into_iter().flatten();
    blocks.map(|block| usize::from(text(block, "type") == "image") + images(block.get("content"))).sum()
}

fn opening(reply: &Reply<'_>) -> Value {
    json!({ "id": format!("msg_{:024}", reply.number), "type": "message", "role": "assistant", "model": reply.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(&reply.answer.usage, 1) })
}

fn usage(usage: &Usage, output: u64) -> Value {
    json!({ "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read, "output_tokens": output, "service_tier": "standard",
        "cache_creation": { "ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0 } })
}

fn stop_reason(answer: &Answer) -> &'static str {
    match answer.end {
        End::Length => "max_tokens",
        End::Refusal => "refusal",
        End::Done if answer.calls() => "tool_use",
        End::Done => "end_turn",
    }
}

fn event(data: &Value) -> Frame {
    Frame::Event(named(data))
}

fn block(index: usize, piece: &Piece, frames: &mut Vec<Frame>) {
    let delta =
        |delta: Value| Frame::Chunk(named(&json!({ "type": "content_block_delta", "index": index, "delta": delta })));
    let start = |start: Value| event(&json!({ "type": "content_block_start", "index": index, "content_block": start }));
    match piece {
        Piece::Think(thought) => {
            frames.push(start(json!({ "type": "thinking", "thinking": "", "signature": "" })));
            frames.extend(chunks(thought).map(|text| delta(json!({ "type": "thinking_delta", "thinking": text }))));
            frames.push(delta(json!({ "type": "signature_delta", "signature": SIGNATURE })));
        }
        Piece::Text(bits) => {
            frames.push(start(json!({ "type": "text", "text": "" })));
            frames.extend(bits.iter().map(|bit| match bit {
                Bit::Say(text) => delta(json!({ "type": "text_delta", "text": text })),
                Bit::Hold => Frame::Hold,
            }));
        }
        Piece::Tool { id, name, input } => {
            frames.push(start(json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": {} })));
            let input = input.to_string();
            frames
                .extend(chunks(&input).map(|part| delta(json!({ "type": "input_json_delta", "partial_json": part }))));
        }
    }
    frames.push(event(&json!({ "type": "content_block_stop", "index": index })));
}

/// What proves to the API that a thought is its own.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

fn whole_block(piece: &Piece) -> Value {
    match piece {
        Piece::Think(thought) => json!({ "type": "thinking", "thinking": thought, "signature": SIGNATURE }),
        Piece::Text(_) => json!({ "type": "text", "text": piece.text() }),
        Piece::Tool { id, name, input } => {
            json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": input })
        }
    }
}
