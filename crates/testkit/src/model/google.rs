//! The GenerateContent API: `POST …/models/MODEL:streamGenerateContent`, `:generateContent` and `:countTokens`.

use serde_json::{Value, json};

use super::{
    answer::{Answer, Bit, End, Piece, Usage, chunks},
    api::{Api, Frame, Question, Reply, list, text, unnamed},
    conversation::Said,
    side::Side,
};

/// The API.
pub struct Google;

impl Api for Google {
    fn name(&self) -> &'static str {
        "google"
    }

    fn takes(&self, path: &str) -> bool {
        [":streamGenerateContent", ":generateContent", ":countTokens"].iter().any(|verb| path.ends_with(verb))
    }

    fn read(&self, path: &str, body: &Value) -> Question {
        let contents = list(body, "contents");
        let system = parts(body.get("systemInstruction").unwrap_or(&Value::Null)).filter_map(words);
        let system = system.collect::<Vec<_>>().join("\n");
        let tools: Vec<_> = list(body, "tools").iter().flat_map(|tool| list(tool, "functionDeclarations")).collect();
        Question {
            model: path.rsplit_once('/').and_then(|(_, last)| last.split(':').next()).unwrap_or_default().to_owned(),
            images: contents.iter().flat_map(parts).filter(|part| part.get("inlineData").is_some()).count(),
            said: contents.iter().flat_map(said).collect(),
            side: side(path, body, &system, !tools.is_empty()),
            streams: path.ends_with(":streamGenerateContent"),
            tools: tools.iter().map(|tool| text(tool, "name").to_owned()).collect(),
            system,
        }
    }

    fn stream(&self, reply: &Reply<'_>) -> Vec<Frame> {
        let mut frames: Vec<_> = reply.answer.pieces.iter().flat_map(|piece| pieces(reply, piece)).collect();
        let last = candidate(reply, &json!([{ "text": "" }]), true);
        let empty = candidate(reply, &json!([]), true);
        frames.push(Frame::Event(unnamed(if reply.answer.pieces.is_empty() { &empty } else { &last })));
        frames
    }

    fn whole(&self, reply: &Reply<'_>) -> Value {
        if reply.side == Some(&Side::Count) {
            return json!({ "totalTokens": reply.answer.usage.input });
        }
        candidate(reply, &reply.answer.pieces.iter().map(whole_part).collect(), true)
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let name = match status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        json!({ "error": { "code": status, "message": message, "status": name } })
    }
}

/// A question for JSON is never the conversation: agents ask it to choose a model or the next speaker.
fn side(path: &str, body: &Value, system: &str, has_tools: bool) -> Option<Side> {
    if path.ends_with(":countTokens") {
        return Some(Side::Count);
    }
    let config = body.get("generationConfig").unwrap_or(&Value::Null);
    let schema = config.get("responseJsonSchema").or_else(|| config.get("responseSchema"));
    let wants_json = text(config, "responseMimeType") == "application/json";
    match schema {
        Some(schema) => Some(Side::Json(schema.clone())),
        None if wants_json => Some(Side::Json(json!({}))),
        None => Side::of(system, has_tools),
    }
}

fn parts(content: &Value) -> impl Iterator<Item = &Value> {
    list(content, "parts").iter()
}

fn words(part: &Value) -> Option<&str> {
    part.get("text").and_then(Value::as_str)
}

/// A user's content may hold results and words; results count first.
fn said(content: &Value) -> Vec<Said> {
    if text(content, "role") == "model" {
        return vec![Said::Model];
    }
    let results =
        parts(content).filter_map(|part| part.get("functionResponse")).map(|result| Said::Tool(output(result)));
    let texts: Vec<_> = parts(content).filter_map(words).collect();
    results.chain([Said::by_user(&texts)]).collect()
}

/// What a tool gave. A command's output stands among what is said about it.
fn output(result: &Value) -> String {
    let response = result.get("response").unwrap_or(&Value::Null);
    let text = ["output", "error", "content"].iter().find_map(|name| response.get(name)?.as_str()).unwrap_or_default();
    text.split_once("Output: ").map_or(text, |(_, output)| output).to_owned()
}

fn candidate(reply: &Reply<'_>, parts: &Value, last: bool) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    let mut data = json!({ "modelVersion": reply.model, "responseId": format!("scripted-{}", reply.number) });
    if last {
        candidate["finishReason"] = json!(finish(reply.answer));
        data["usageMetadata"] = usage(&reply.answer.usage);
    }
    data["candidates"] = json!([candidate]);
    data
}

fn finish(answer: &Answer) -> &'static str {
    match answer.end {
        End::Done => "STOP",
        End::Length => "MAX_TOKENS",
        End::Refusal => "SAFETY",
    }
}

fn usage(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({ "promptTokenCount": prompt, "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - usage.reasoning, "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": prompt + usage.output })
}

fn pieces(reply: &Reply<'_>, piece: &Piece) -> Vec<Frame> {
    let chunk = |part: &Value| Frame::Chunk(unnamed(&candidate(reply, &json!([part]), false)));
    match piece {
        Piece::Think(_) | Piece::Tool { .. } => vec![chunk(&whole_part(piece))],
        Piece::Text(bits) => bits
            .iter()
            .map(|bit| match bit {
                Bit::Say(text) => chunk(&json!({ "text": text })),
                Bit::Hold => Frame::Hold,
            })
            .collect(),
    }
}

fn whole_part(piece: &Piece) -> Value {
    match piece {
        Piece::Think(thought) => json!({ "text": headed(thought), "thought": true }),
        Piece::Text(_) => json!({ "text": piece.text() }),
        Piece::Tool { name, input, .. } => json!({ "functionCall": { "name": name, "args": input } }),
    }
}

/// A thought of this API has a heading: its first words.
fn headed(thought: &str) -> String {
    let heading: String = chunks(thought).take(3).collect();
    format!("**{}**\n\n{thought}", heading.trim_end())
}
