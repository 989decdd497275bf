//! The Messages API: `POST /v1/messages`, streamed or whole, and `/v1/messages/count_tokens`.

use serde_json::{Value, json};

use super::{
    answer::{AnswerEnd, AnswerPiece, AnswerTextChunk, ModelAnswer, ModelUsage, word_chunks},
    api::{ModelApi, ModelQuestion, ModelReply, ReplyFrame, content_texts, list_field, named_event, text_field},
    conversation::{ConversationEntry, SideRequest},
};

pub struct AnthropicApi;

impl ModelApi for AnthropicApi {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn accepts_path(&self, path: &str) -> bool {
        path.ends_with("/v1/messages") || path.ends_with("/v1/messages/count_tokens")
    }

    fn parse_request(&self, path: &str, body: &Value) -> ModelQuestion {
        let system = content_texts(body.get("system").unwrap_or(&Value::Null)).join("\n");
        let tools: Vec<_> = list_field(body, "tools").iter().map(|tool| text_field(tool, "name").to_owned()).collect();
        let side = if path.ends_with("/count_tokens") {
            Some(SideRequest::Count)
        } else {
            side_request(body, &system, &tools)
        };
        ModelQuestion {
            model: text_field(body, "model").to_owned(),
            tools,
            images: list_field(body, "messages").iter().map(|message| count_images(message.get("content"))).sum(),
            said: list_field(body, "messages").iter().flat_map(read_message).collect(),
            side,
            streams: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            system,
        }
    }

    fn stream_frames(&self, reply: &ModelReply<'_>) -> Vec<ReplyFrame> {
        let mut frames = vec![event_frame(&json!({ "type": "message_start", "message": empty_message(reply) }))];
        frames.push(event_frame(&json!({ "type": "ping" })));
        for (index, piece) in reply.answer.pieces.iter().enumerate() {
            push_block(index, piece, &mut frames);
        }
        let delta = json!({ "stop_reason": stop_reason(reply.answer), "stop_sequence": null });
        let usage = usage_json(&reply.answer.usage, reply.answer.usage.output);
        frames.push(event_frame(&json!({ "type": "message_delta", "delta": delta, "usage": usage })));
        frames.push(event_frame(&json!({ "type": "message_stop" })));
        frames
    }

    fn response_body(&self, reply: &ModelReply<'_>) -> Value {
        if reply.side == Some(&SideRequest::Count) {
            return json!({ "input_tokens": reply.answer.usage.input });
        }
        let mut message = empty_message(reply);
        message["content"] = reply.answer.pieces.iter().map(content_block).collect();
        message["stop_reason"] = json!(stop_reason(reply.answer));
        message["usage"] = usage_json(&reply.answer.usage, reply.answer.usage.output);
        message
    }

    fn adjust_usage(&self, usage: ModelUsage) -> ModelUsage {
        ModelUsage { cache_write: 20, ..usage }
    }

    fn error_body(&self, status: u16, message: &str) -> Value {
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

/// A request for structured output without tools is not the conversation.
fn side_request(body: &Value, system: &str, tools: &[String]) -> Option<SideRequest> {
    let schema = body.pointer("/output_config/format/schema").filter(|_| tools.is_empty());
    schema.map(|schema| SideRequest::Json(schema.clone())).or_else(|| SideRequest::classify(system, !tools.is_empty()))
}

/// A user message may hold tool results and text; results come first.
fn read_message(message: &Value) -> Vec<ConversationEntry> {
    let content = message.get("content").unwrap_or(&Value::Null);
    match text_field(message, "role") {
        "assistant" => vec![ConversationEntry::Model],
        "user" => {
            let blocks = content.as_array().into_iter().flatten();
            let results = blocks.filter(|block| text_field(block, "type") == "tool_result");
            let results = results.map(|result| {
                ConversationEntry::Tool(content_texts(result.get("content").unwrap_or(&Value::Null)).join("\n"))
            });
            results.chain([ConversationEntry::from_user_texts(&content_texts(content))]).collect()
        }
        _ => queued_message(&content_texts(content).join("\n")).into_iter().collect(),
    }
}

/// Text that the user sent during a turn arrives in a system message.
fn queued_message(note: &str) -> Option<ConversationEntry> {
    let (_, words) = note.split_once("The user sent a new message while you were working:")?;
    Some(ConversationEntry::User(words.trim().to_owned()))
}

/// Counts images, including those in tool results.
fn count_images(content: Option<&Value>) -> usize {
    let blocks = content.and_then(Value::as_array).into_iter().flatten();
    blocks.map(|block| usize::from(text_field(block, "type") == "image") + count_images(block.get("content"))).sum()
}

fn empty_message(reply: &ModelReply<'_>) -> Value {
    json!({ "id": format!("msg_{:024}", reply.number), "type": "message", "role": "assistant", "model": reply.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage_json(&reply.answer.usage, 1) })
}

fn usage_json(usage: &ModelUsage, output: u64) -> Value {
    json!({ "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read, "output_tokens": output, "service_tier": "standard",
        "cache_creation": { "ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0 } })
}

fn stop_reason(answer: &ModelAnswer) -> &'static str {
    match answer.end {
        AnswerEnd::Length => "max_tokens",
        AnswerEnd::Refusal => "refusal",
        AnswerEnd::Done if answer.has_tool_calls() => "tool_use",
        AnswerEnd::Done => "end_turn",
    }
}

fn event_frame(data: &Value) -> ReplyFrame {
    ReplyFrame::Event(named_event(data))
}

fn push_block(index: usize, piece: &AnswerPiece, frames: &mut Vec<ReplyFrame>) {
    let delta = |delta: Value| {
        ReplyFrame::Chunk(named_event(&json!({ "type": "content_block_delta", "index": index, "delta": delta })))
    };
    let start =
        |start: Value| event_frame(&json!({ "type": "content_block_start", "index": index, "content_block": start }));
    match piece {
        AnswerPiece::Think(thought) => {
            frames.push(start(json!({ "type": "thinking", "thinking": "", "signature": "" })));
            frames
                .extend(word_chunks(thought).map(|text| delta(json!({ "type": "thinking_delta", "thinking": text }))));
            frames.push(delta(json!({ "type": "signature_delta", "signature": THOUGHT_SIGNATURE })));
        }
        AnswerPiece::Text(bits) => {
            frames.push(start(json!({ "type": "text", "text": "" })));
            frames.extend(bits.iter().map(|bit| match bit {
                AnswerTextChunk::Say(text) => delta(json!({ "type": "text_delta", "text": text })),
                AnswerTextChunk::Hold => ReplyFrame::Hold,
            }));
        }
        AnswerPiece::Tool { id, name, input } => {
            frames.push(start(json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": {} })));
            let input = input.to_string();
            frames.extend(
                word_chunks(&input).map(|part| delta(json!({ "type": "input_json_delta", "partial_json": part }))),
            );
        }
    }
    frames.push(event_frame(&json!({ "type": "content_block_stop", "index": index })));
}

/// Proves to the API that a thought is its own.
const THOUGHT_SIGNATURE: &str = "c2NyaXB0ZWQ=";

fn content_block(piece: &AnswerPiece) -> Value {
    match piece {
        AnswerPiece::Think(thought) => {
            json!({ "type": "thinking", "thinking": thought, "signature": THOUGHT_SIGNATURE })
        }
        AnswerPiece::Text(_) => json!({ "type": "text", "text": piece.joined_text() }),
        AnswerPiece::Tool { id, name, input } => {
            json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": input })
        }
    }
}
