//! The Responses API: `POST …/responses`, as items that are added, grow and are done.

use serde_json::{Map, Value, json};

use super::{
    answer::{Bit, End, Piece, Usage, chunks},
    api::{Api, Frame, Question, Reply, list, named, plain_error, text, texts},
    conversation::Said,
    side::Side,
};

/// The API.
pub struct Responses;

impl Api for Responses {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn takes(&self, path: &str) -> bool {
        path.ends_with("/responses")
    }

    fn read(&self, _: &str, body: &Value) -> Question {
        let input = list(body, "input");
        let system = text(body, "instructions").to_owned();
        let tools: Vec<_> = list(body, "tools").iter().flat_map(|tool| names("", tool)).collect();
        Question {
            model: text(body, "model").to_owned(),
            images: input.iter().flat_map(|item| list(item, "content")).filter(|part| is_image(part)).count(),
            said: input.iter().filter_map(said).chain(body.get("input").and_then(whole_input)).collect(),
            side: Side::of(&system, !tools.is_empty()),
            streams: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            system,
            tools,
        }
    }

    fn stream(&self, reply: &Reply<'_>) -> Vec<Frame> {
        let mut frames =
            vec![event(&json!({ "type": "response.created", "response": response(reply, "in_progress") }))];
        for (index, piece) in reply.answer.pieces.iter().enumerate() {
            item(reply, index, piece, &mut frames);
        }
        let (kind, status) = ending(reply.answer.end);
        frames.push(event(&json!({ "type": kind, "response": response(reply, status) })));
        frames
    }

    fn whole(&self, reply: &Reply<'_>) -> Value {
        let mut response = response(reply, ending(reply.answer.end).1);
        let items = reply.answer.pieces.iter().enumerate().map(|(index, piece)| done(reply, index, piece));
        response["output"] = items.collect();
        response
    }

    fn error(&self, status: u16, message: &str) -> Value {
        plain_error(status, message)
    }
}

/// The names of a tool, or of all in a namespace, which are called `NAMESPACE.NAME`.
fn names(namespace: &str, tool: &Value) -> Vec<String> {
    let name = Some(text(tool, "name")).filter(|name| !name.is_empty()).unwrap_or(text(tool, "type"));
    match list(tool, "tools") {
        [] => vec![format!("{namespace}{name}")],
        inner => inner.iter().flat_map(|tool| names(&format!("{name}."), tool)).collect(),
    }
}

fn is_image(part: &Value) -> bool {
    text(part, "type") == "input_image"
}

fn said(item: &Value) -> Option<Said> {
    match (text(item, "type"), text(item, "role")) {
        ("message" | "", "user") => Some(Said::by_user(&texts(item.get("content")?))),
        ("message" | "", "assistant") => Some(Said::Model),
        ("message" | "", _) => None,
        (kind, _) if kind.ends_with("_output") => Some(Said::Tool(output(item.get("output")?))),
        _ => Some(Said::Model),
    }
}

/// A question that is nothing but a text.
fn whole_input(input: &Value) -> Option<Said> {
    Some(Said::by_user(&[input.as_str()?]))
}

/// What a tool gave. A command's output stands behind what is said about it.
fn output(output: &Value) -> String {
    let text = texts(output).join("\n");
    text.split_once("Output:\n").map_or(text.clone(), |(_, output)| output.to_owned())
}

fn ending(end: End) -> (&'static str, &'static str) {
    match end {
        End::Done => ("response.completed", "completed"),
        End::Length | End::Refusal => ("response.incomplete", "incomplete"),
    }
}

fn response(reply: &Reply<'_>, status: &str) -> Value {
    let mut response = json!({ "id": format!("resp_{}", reply.number), "object": "response", "model": reply.model,
        "status": status, "output": [] });
    let reason = match reply.answer.end {
        End::Done => None,
        End::Length => Some("max_output_tokens"),
        End::Refusal => Some("content_filter"),
    };
    if status != "in_progress" {
        response["usage"] = usage(&reply.answer.usage);
        response["incomplete_details"] = reason.map_or(Value::Null, |reason| json!({ "reason": reason }));
    }
    response
}

fn usage(usage: &Usage) -> Value {
    let input = usage.input + usage.cache_read;
    json!({ "input_tokens": input, "input_tokens_details": { "cached_tokens": usage.cache_read },
        "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": input + usage.output })
}

fn event(data: &Value) -> Frame {
    Frame::Event(named(data))
}

/// An item: added empty, grown, done.
fn item(reply: &Reply<'_>, index: usize, piece: &Piece, frames: &mut Vec<Frame>) {
    let done = done(reply, index, piece);
    let grown = |kind: &str, extra: Value| {
        let mut data = json!({ "type": kind, "item_id": done["id"], "output_index": index });
        extra.as_object().into_iter().flatten().for_each(|(name, value)| data[name] = value.clone());
        data
    };
    let chunk = |kind: &str, extra: Value| Frame::Chunk(named(&grown(kind, extra)));
    let added = json!({ "type": "response.output_item.added", "output_index": index, "item": emptied(&done) });
    frames.push(event(&added));
    match piece {
        Piece::Think(thought) => {
            let part = json!({ "summary_index": 0, "part": { "type": "summary_text", "text": "" } });
            frames.push(event(&grown("response.reasoning_summary_part.added", part)));
            let delta = |text| json!({ "summary_index": 0, "delta": text });
            frames.extend(chunks(thought).map(|text| chunk("response.reasoning_summary_text.delta", delta(text))));
        }
        Piece::Text(bits) => frames.extend(bits.iter().map(|bit| match bit {
            Bit::Say(text) => chunk("response.output_text.delta", json!({ "content_index": 0, "delta": text })),
            Bit::Hold => Frame::Hold,
        })),
        Piece::Tool { input: Value::String(input), .. } => {
            let kind = "response.custom_tool_call_input.delta";
            frames.extend(input.split_inclusive('\n').map(|part| chunk(kind, json!({ "delta": part }))));
        }
        Piece::Tool { input, .. } => {
            frames.push(chunk("response.function_call_arguments.delta", json!({ "delta": input.to_string() })));
        }
    }
    frames.push(event(&json!({ "type": "response.output_item.done", "output_index": index, "item": done })));
}

/// The item when it is complete.
fn done(reply: &Reply<'_>, index: usize, piece: &Piece) -> Value {
    let id = |kind: &str| format!("{kind}_{}_{index}", reply.number);
    match piece {
        Piece::Think(thought) => {
            let summary = json!([{ "type": "summary_text", "text": thought }]);
            json!({ "type": "reasoning", "id": id("rs"), "summary": summary, "encrypted_content": "c2NyaXB0ZWQ=" })
        }
        Piece::Text(_) => {
            let phase = if reply.answer.calls() { "commentary" } else { "final_answer" };
            let content = json!([{ "type": "output_text", "text": piece.text(), "annotations": [] }]);
            json!({ "type": "message", "id": id("msg"), "role": "assistant", "status": "completed", "phase": phase,
                "content": content })
        }
        Piece::Tool { id: call, name, input: Value::String(input) } => json!({ "type": "custom_tool_call",
            "id": id("ctc"), "status": "completed", "call_id": call_id(call), "name": name, "input": input }),
        Piece::Tool { id: call, name, input } => {
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

/// The item as it begins.
fn emptied(done: &Value) -> Value {
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
