//! The chat completions API: `POST …/chat/completions`, streamed or whole.

use serde_json::{Value, json};

use super::{
    answer::{Answer, Bit, End, Piece, Usage, chunks},
    api::{Api, Frame, Question, Reply, list, plain_error, text, texts, unnamed},
    conversation::Said,
    side::Side,
};

/// The API.
pub struct Chat;

impl Api for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn takes(&self, path: &str) -> bool {
        path.ends_with("/chat/completions")
    }

    fn read(&self, _: &str, body: &Value) -> Question {
        let messages = list(body, "messages");
        let system = messages.iter().filter(|message| matches!(text(message, "role"), "system" | "developer"));
        let system = system.flat_map(|message| texts(content(message))).collect::<Vec<_>>().join("\n");
        let tools = list(body, "tools").iter().filter_map(|tool| tool.get("function"));
        let tools: Vec<_> = tools.map(|tool| text(tool, "name").to_owned()).collect();
        let images = messages.iter().flat_map(|message| list(message, "content"));
        Question {
            model: text(body, "model").to_owned(),
            images: images.filter(|part| text(part, "type") == "image_url").count(),
            said: messages.iter().filter_map(said).collect(),
            side: Side::of(&system, !tools.is_empty()),
            streams: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            system,
            tools,
        }
    }

    fn stream(&self, reply: &Reply<'_>) -> Vec<Frame> {
        let mut frames = vec![Frame::Event(delta(reply, &json!({ "role": "assistant", "content": "" }), None))];
        let mut calls = 0;
        for piece in &reply.answer.pieces {
            match piece {
                Piece::Think(thought) => {
                    frames.extend(chunks(thought).map(|text| say(reply, "reasoning_content", text)))
                }
                Piece::Text(bits) => frames.extend(bits.iter().map(|bit| match bit {
                    Bit::Say(text) => say(reply, "content", text),
                    Bit::Hold => Frame::Hold,
                })),
                Piece::Tool { id, name, input } => {
                    call(reply, calls, (id, name, input), &mut frames);
                    calls += 1;
                }
            }
        }
        frames.push(Frame::Event(delta(reply, &json!({}), Some(finish(reply.answer)))));
        let mut last = base(reply, "chat.completion.chunk", &json!([]));
        last["usage"] = usage(&reply.answer.usage);
        frames.push(Frame::Event(unnamed(&last)));
        frames.push(Frame::Event("data: [DONE]\n\n".to_owned()));
        frames
    }

    fn whole(&self, reply: &Reply<'_>) -> Value {
        let calls = reply.answer.pieces.iter().filter_map(|piece| match piece {
            Piece::Tool { id, name, input } => Some(whole_call(id, name, &input.to_string())),
            Piece::Think(_) | Piece::Text(_) => None,
        });
        let mut message = json!({ "role": "assistant", "content": reply.answer.words() });
        if reply.answer.calls() {
            message["tool_calls"] = calls.collect();
        }
        let choice = json!([{ "index": 0, "message": message, "finish_reason": finish(reply.answer) }]);
        let mut completion = base(reply, "chat.completion", &choice);
        completion["usage"] = usage(&reply.answer.usage);
        completion
    }

    fn error(&self, status: u16, message: &str) -> Value {
        plain_error(status, message)
    }
}

fn content(message: &Value) -> &Value {
    message.get("content").unwrap_or(&Value::Null)
}

fn said(message: &Value) -> Option<Said> {
    match text(message, "role") {
        "user" => Some(Said::by_user(&texts(content(message)))),
        "assistant" => Some(Said::Model),
        "tool" => Some(Said::Tool(texts(content(message)).join("\n"))),
        _ => None,
    }
}

fn base(reply: &Reply<'_>, object: &str, choices: &Value) -> Value {
    json!({ "id": format!("chatcmpl-{}", reply.number), "object": object, "created": 1_790_000_000,
        "model": reply.model, "choices": choices })
}

fn delta(reply: &Reply<'_>, delta: &Value, finish: Option<&str>) -> String {
    let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    unnamed(&base(reply, "chat.completion.chunk", &choice))
}

fn say(reply: &Reply<'_>, field: &str, text: &str) -> Frame {
    Frame::Chunk(delta(reply, &json!({ field: text }), None))
}

/// A call: its name first, then its arguments.
fn call(reply: &Reply<'_>, index: usize, (id, name, input): (&str, &str, &Value), frames: &mut Vec<Frame>) {
    let mut first = whole_call(id, name, "");
    first["index"] = json!(index);
    frames.push(Frame::Chunk(delta(reply, &json!({ "tool_calls": [first] }), None)));
    let input = json!({ "index": index, "function": { "arguments": input.to_string() } });
    frames.push(Frame::Chunk(delta(reply, &json!({ "tool_calls": [input] }), None)));
}

fn whole_call(id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    json!({ "id": format!("call_{id}"), "type": "function", "function": function })
}

fn finish(answer: &Answer) -> &'static str {
    match answer.end {
        End::Length => "length",
        End::Refusal => "content_filter",
        End::Done if answer.calls() => "tool_calls",
        End::Done => "stop",
    }
}

fn usage(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({ "prompt_tokens": prompt, "prompt_tokens_details": { "cached_tokens": usage.cache_read },
        "completion_tokens": usage.output, "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": prompt + usage.output })
}
