//! The APIs of OpenAI: Chat Completions and Responses.

use serde_json::{Map, Value, json};

use super::answer::{AnswerEnd, AnswerPiece, AnswerTextChunk, ModelAnswer, ModelUsage, word_chunks};
use super::api::{
    ModelApi, ModelQuestion, ModelReply, ReplyFrame, content_texts, list_field, named_event, openai_error, text_field,
    unnamed_event,
};
use super::conversation::{ConversationEntry, SideRequest};

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
        last["usage"] = chat_usage_json(&reply.answer.usage);
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
        completion["usage"] = chat_usage_json(&reply.answer.usage);
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

fn chat_usage_json(usage: &ModelUsage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({ "prompt_tokens": prompt, "prompt_tokens_details": { "cached_tokens": usage.cache_read },
        "completion_tokens": usage.output, "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": prompt + usage.output })
}

pub struct ResponsesApi;

impl ModelApi for ResponsesApi {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn accepts_path(&self, path: &str) -> bool {
        path.ends_with("/responses")
    }

    fn parse_request(&self, _: &str, body: &Value) -> ModelQuestion {
        let input = list_field(body, "input");
        let system = text_field(body, "instructions").to_owned();
        let tools: Vec<_> = list_field(body, "tools").iter().flat_map(|tool| tool_names("", tool)).collect();
        ModelQuestion {
            model: text_field(body, "model").to_owned(),
            images: input.iter().flat_map(|item| list_field(item, "content")).filter(|part| is_image(part)).count(),
            said: input.iter().filter_map(read_item).chain(body.get("input").and_then(text_input)).collect(),
            side: SideRequest::classify(&system, !tools.is_empty()),
            streams: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            system,
            tools,
        }
    }

    fn stream_frames(&self, reply: &ModelReply<'_>) -> Vec<ReplyFrame> {
        let mut frames =
            vec![event_frame(&json!({ "type": "response.created", "response": response_json(reply, "in_progress") }))];
        for (index, piece) in reply.answer.pieces.iter().enumerate() {
            push_item(reply, index, piece, &mut frames);
        }
        let (kind, status) = end_event(reply.answer.end);
        frames.push(event_frame(&json!({ "type": kind, "response": response_json(reply, status) })));
        frames
    }

    fn response_body(&self, reply: &ModelReply<'_>) -> Value {
        let mut response = response_json(reply, end_event(reply.answer.end).1);
        let items = reply.answer.pieces.iter().enumerate().map(|(index, piece)| completed_item(reply, index, piece));
        response["output"] = items.collect();
        response
    }

    fn error_body(&self, status: u16, message: &str) -> Value {
        openai_error(status, message)
    }
}

/// Returns the name of a tool, or of all tools in a namespace as `NAMESPACE.NAME`.
fn tool_names(namespace: &str, tool: &Value) -> Vec<String> {
    let name = Some(text_field(tool, "name")).filter(|name| !name.is_empty()).unwrap_or(text_field(tool, "type"));
    match list_field(tool, "tools") {
        [] => vec![format!("{namespace}{name}")],
        inner => inner.iter().flat_map(|tool| tool_names(&format!("{name}."), tool)).collect(),
    }
}

fn is_image(part: &Value) -> bool {
    text_field(part, "type") == "input_image"
}

fn read_item(item: &Value) -> Option<ConversationEntry> {
    match (text_field(item, "type"), text_field(item, "role")) {
        ("message" | "", "user") => Some(ConversationEntry::from_user_texts(&content_texts(item.get("content")?))),
        ("message" | "", "assistant") => Some(ConversationEntry::Model),
        ("message" | "", _) => None,
        (kind, _) if kind.ends_with("_output") => Some(ConversationEntry::Tool(tool_output(item.get("output")?))),
        _ => Some(ConversationEntry::Model),
    }
}

/// Reads a request whose input is a plain text.
fn text_input(input: &Value) -> Option<ConversationEntry> {
    Some(ConversationEntry::from_user_texts(&[input.as_str()?]))
}

/// Returns a tool's output. A command's output follows a report.
fn tool_output(output: &Value) -> String {
    let text = content_texts(output).join("\n");
    text.split_once("Output:\n").map_or(text.clone(), |(_, output)| output.to_owned())
}

fn end_event(end: AnswerEnd) -> (&'static str, &'static str) {
    match end {
        AnswerEnd::Done => ("response.completed", "completed"),
        AnswerEnd::Length | AnswerEnd::Refusal => ("response.incomplete", "incomplete"),
    }
}

fn response_json(reply: &ModelReply<'_>, status: &str) -> Value {
    let mut response = json!({ "id": format!("resp_{}", reply.number), "object": "response", "model": reply.model,
        "status": status, "output": [] });
    let reason = match reply.answer.end {
        AnswerEnd::Done => None,
        AnswerEnd::Length => Some("max_output_tokens"),
        AnswerEnd::Refusal => Some("content_filter"),
    };
    if status != "in_progress" {
        response["usage"] = responses_usage_json(&reply.answer.usage);
        response["incomplete_details"] = reason.map_or(Value::Null, |reason| json!({ "reason": reason }));
    }
    response
}

fn responses_usage_json(usage: &ModelUsage) -> Value {
    let input = usage.input + usage.cache_read;
    json!({ "input_tokens": input, "input_tokens_details": { "cached_tokens": usage.cache_read },
        "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": input + usage.output })
}

fn event_frame(data: &Value) -> ReplyFrame {
    ReplyFrame::Event(named_event(data))
}

/// Streams an item: added empty, grown, completed.
fn push_item(reply: &ModelReply<'_>, index: usize, piece: &AnswerPiece, frames: &mut Vec<ReplyFrame>) {
    let done = completed_item(reply, index, piece);
    let grown = |kind: &str, extra: Value| {
        let mut data = json!({ "type": kind, "item_id": done["id"], "output_index": index });
        extra.as_object().into_iter().flatten().for_each(|(name, value)| data[name] = value.clone());
        data
    };
    let chunk = |kind: &str, extra: Value| ReplyFrame::Chunk(named_event(&grown(kind, extra)));
    let added = json!({ "type": "response.output_item.added", "output_index": index, "item": empty_item(&done) });
    frames.push(event_frame(&added));
    match piece {
        AnswerPiece::Think(thought) => {
            let part = json!({ "summary_index": 0, "part": { "type": "summary_text", "text": "" } });
            frames.push(event_frame(&grown("response.reasoning_summary_part.added", part)));
            let delta = |text| json!({ "summary_index": 0, "delta": text });
            frames.extend(word_chunks(thought).map(|text| chunk("response.reasoning_summary_text.delta", delta(text))));
        }
        AnswerPiece::Text(bits) => frames.extend(bits.iter().map(|bit| match bit {
            AnswerTextChunk::Say(text) => {
                chunk("response.output_text.delta", json!({ "content_index": 0, "delta": text }))
            }
            AnswerTextChunk::Hold => ReplyFrame::Hold,
        })),
        AnswerPiece::Tool { input: Value::String(input), .. } => {
            let kind = "response.custom_tool_call_input.delta";
            frames.extend(input.split_inclusive('\n').map(|part| chunk(kind, json!({ "delta": part }))));
        }
        AnswerPiece::Tool { input, .. } => {
            frames.push(chunk("response.function_call_arguments.delta", json!({ "delta": input.to_string() })));
        }
    }
    frames.push(event_frame(&json!({ "type": "response.output_item.done", "output_index": index, "item": done })));
}

fn completed_item(reply: &ModelReply<'_>, index: usize, piece: &AnswerPiece) -> Value {
    let id = |kind: &str| format!("{kind}_{}_{index}", reply.number);
    match piece {
        AnswerPiece::Think(thought) => {
            let summary = json!([{ "type": "summary_text", "text": thought }]);
            json!({ "type": "reasoning", "id": id("rs"), "summary": summary, "encrypted_content": "c2NyaXB0ZWQ=" })
        }
        AnswerPiece::Text(_) => {
            let phase = if reply.answer.has_tool_calls() { "commentary" } else { "final_answer" };
            let content = json!([{ "type": "output_text", "text": piece.joined_text(), "annotations": [] }]);
            json!({ "type": "message", "id": id("msg"), "role": "assistant", "status": "completed", "phase": phase,
                "content": content })
        }
        AnswerPiece::Tool { id: call, name, input: Value::String(input) } => json!({ "type": "custom_tool_call",
            "id": id("ctc"), "status": "completed", "call_id": call_id(call), "name": name, "input": input }),
        AnswerPiece::Tool { id: call, name, input } => {
            let (namespace, name) = name.split_once('.').map_or((None, name.as_str()), |(a, b)| (Some(a), b));
            let mut item = json!({ "type": "function_call", "id": id("fc"), "call_id": call_id(call), "name": name,
                "status": "completed", "arguments": input.to_string() });
            item.as_object_mut().into_iter().for_each(|item: &mut Map<_, _>| {
                item.extend(namespace.map(|namespace| ("namespace".to_owned(), json!(namespace))));
            });
            item
        }
    }
}

fn call_id(id: &str) -> String {
    format!("call_{id}")
}

/// Returns the item as it is first added.
fn empty_item(done: &Value) -> Value {
    let mut item = done.clone();
    for (name, empty) in
        [("content", json!([])), ("summary", json!([])), ("arguments", json!("")), ("input", json!(""))]
    {
        if let Some(value) = item.get_mut(name) {
            *value = empty;
        }
    }
    if let Some(status) = item.get_mut("status") {
        *status = json!("in_progress");
    }
    item
}
