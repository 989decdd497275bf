//! The chat completions API: `POST …/chat/completions`, streamed or whole.

use serde_json::{Value, json};

use super::{
    answer::{AnswerEnd, AnswerPiece, AnswerTextChunk, ModelAnswer, ModelUsage, word_chunks},
    api::{
        ModelApi, ModelQuestion, ModelReply, ReplyFrame, content_texts, list_field, openai_error, text_field,
        unnamed_event,
    },
    conversation::{ConversationEntry, SideRequest},
};

pub struct ChatCompletionsApi;

impl ModelApi for ChatCompletionsApi {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn accepts_path(&self, path: &str) -> bool {
        path.ends_with("/chat/completions")
    }

    fn parse_request(&self, _: &str, body: &Value) -> ModelQuestion {
        let messages = list_field(body, "messages");
        let system = messages.iter().filter(|message| matches!(text_field(message, "role"), "system" | "developer"));
        let system = system.flat_map(|message| content_texts(message_content(message))).collect::<Vec<_>>().join("\n");
        let tools = list_field(body, "tools").iter().filter_map(|tool| tool.get("function"));
        let tools: Vec<_> = tools.map(|tool| text_field(tool, "name").to_owned()).collect();
        let images = messages.iter().flat_map(|message| list_field(message, "content"));
        ModelQuestion {
            model: text_field(body, "model").to_owned(),
            images: images.filter(|part| text_field(part, "type") == "image_url").count(),
            said: messages.iter().filter_map(read_message).collect(),
            side: SideRequest::classify(&system, !tools.is_empty()),
            streams: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            system,
            tools,
        }
    }

    fn stream_frames(&self, reply: &ModelReply<'_>) -> Vec<ReplyFrame> {
        let mut frames =
            vec![ReplyFrame::Event(delta_event(reply, &json!({ "role": "assistant", "content": "" }), None))];
        let mut calls = 0;
        for piece in &reply.answer.pieces {
            match piece {
                AnswerPiece::Think(thought) => {
                    frames.extend(word_chunks(thought).map(|text| text_frame(reply, "reasoning_content", text)))
                }
                AnswerPiece::Text(bits) => frames.extend(bits.iter().map(|bit| match bit {
                    AnswerTextChunk::Say(text) => text_frame(reply, "content", text),
                    AnswerTextChunk::Hold => ReplyFrame::Hold,
                })),
                AnswerPiece::Tool { id, name, input } => {
                    push_call(reply, calls, (id, name, input), &mut frames);
                    calls += 1;
                }
            }
        }
        frames.push(ReplyFrame::Event(delta_event(reply, &json!({}), Some(finish_reason(reply.answer)))));
        let mut last = completion_base(reply, "chat.completion.chunk", &json!([]));
        last["usage"] = usage_json(&reply.answer.usage);
        frames.push(ReplyFrame::Event(unnamed_event(&last)));
        frames.push(ReplyFrame::Event("data: [DONE]\n\n".to_owned()));
        frames
    }

    fn response_body(&self, reply: &ModelReply<'_>) -> Value {
        let calls = reply.answer.pieces.iter().filter_map(|piece| match piece {
            AnswerPiece::Tool { id, name, input } => Some(tool_call(id, name, &input.to_string())),
            AnswerPiece::Think(_) | AnswerPiece::Text(_) => None,
        });
        let mut message = json!({ "role": "assistant", "content": reply.answer.joined_text() });
        if reply.answer.has_tool_calls() {
            message["tool_calls"] = calls.collect();
        }
        let choice = json!([{ "index": 0, "message": message, "finish_reason": finish_reason(reply.answer) }]);
        let mut completion = completion_base(reply, "chat.completion", &choice);
        completion["usage"] = usage_json(&reply.answer.usage);
        completion
    }

    fn error_body(&self, status: u16, message: &str) -> Value {
        openai_error(status, message)
    }
}

fn message_content(message: &Value) -> &Value {
    message.get("content").unwrap_or(&Value::Null)
}

fn read_message(message: &Value) -> Option<ConversationEntry> {
    match text_field(message, "role") {
        "user" => Some(ConversationEntry::from_user_texts(&content_texts(message_content(message)))),
        "assistant" => Some(ConversationEntry::Model),
        "tool" => Some(ConversationEntry::Tool(content_texts(message_content(message)).join("\n"))),
        _ => None,
    }
}

fn completion_base(reply: &ModelReply<'_>, object: &str, choices: &Value) -> Value {
    json!({ "id": format!("chatcmpl-{}", reply.number), "object": object, "created": 1_790_000_000,
        "model": reply.model, "choices": choices })
}

fn delta_event(reply: &ModelReply<'_>, delta: &Value, finish: Option<&str>) -> String {
    let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    unnamed_event(&completion_base(reply, "chat.completion.chunk", &choice))
}

fn text_frame(reply: &ModelReply<'_>, field: &str, text: &str) -> ReplyFrame {
    ReplyFrame::Chunk(delta_event(reply, &json!({ field: text }), None))
}

/// Streams a call: its name first, then its arguments.
fn push_call(
    reply: &ModelReply<'_>,
    index: usize,
    (id, name, input): (&str, &str, &Value),
    frames: &mut Vec<ReplyFrame>,
) {
    let mut first = tool_call(id, name, "");
    first["index"] = json!(index);
    frames.push(ReplyFrame::Chunk(delta_event(reply, &json!({ "tool_calls": [first] }), None)));
    let input = json!({ "index": index, "function": { "arguments": input.to_string() } });
    frames.push(ReplyFrame::Chunk(delta_event(reply, &json!({ "tool_calls": [input] }), None)));
}

fn tool_call(id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    json!({ "id": format!("call_{id}"), "type": "function", "function": function })
}

fn finish_reason(answer: &ModelAnswer) -> &'static str {
    match answer.end {
        AnswerEnd::Length => "length",
        AnswerEnd::Refusal => "content_filter",
        AnswerEnd::Done if answer.has_tool_calls() => "tool_calls",
        AnswerEnd::Done => "stop",
    }
}

fn usage_json(usage: &ModelUsage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({ "prompt_tokens": prompt, "prompt_tokens_details": { "cached_tokens": usage.cache_read },
        "completion_tokens": usage.output, "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": prompt + usage.output })
}
