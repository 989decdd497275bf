//! The GenerateContent API: `POST …/models/MODEL:streamGenerateContent`, `:generateContent` and `:countTokens`.

use serde_json::{Value, json};

use super::{
    answer::{AnswerEnd, AnswerPiece, AnswerTextChunk, ModelAnswer, ModelUsage, word_chunks},
    api::{ModelApi, ModelQuestion, ModelReply, ReplyFrame, list_field, text_field, unnamed_event},
    conversation::{ConversationEntry, SideRequest},
};

pub struct GenerateContentApi;

impl ModelApi for GenerateContentApi {
    fn name(&self) -> &'static str {
        "google"
    }

    fn accepts_path(&self, path: &str) -> bool {
        [":streamGenerateContent", ":generateContent", ":countTokens"].iter().any(|verb| path.ends_with(verb))
    }

    fn parse_request(&self, path: &str, body: &Value) -> ModelQuestion {
        let contents = list_field(body, "contents");
        let system = content_parts(body.get("systemInstruction").unwrap_or(&Value::Null)).filter_map(part_text);
        let system = system.collect::<Vec<_>>().join("\n");
        let tools: Vec<_> =
            list_field(body, "tools").iter().flat_map(|tool| list_field(tool, "functionDeclarations")).collect();
        ModelQuestion {
            model: path.rsplit_once('/').and_then(|(_, last)| last.split(':').next()).unwrap_or_default().to_owned(),
            images: contents.iter().flat_map(content_parts).filter(|part| part.get("inlineData").is_some()).count(),
            said: contents.iter().flat_map(read_content).collect(),
            side: side_request(path, body, &system, !tools.is_empty()),
            streams: path.ends_with(":streamGenerateContent"),
            tools: tools.iter().map(|tool| text_field(tool, "name").to_owned()).collect(),
            system,
        }
    }

    fn stream_frames(&self, reply: &ModelReply<'_>) -> Vec<ReplyFrame> {
        let mut frames: Vec<_> = reply.answer.pieces.iter().flat_map(|piece| piece_frames(reply, piece)).collect();
        let last = candidate_json(reply, &json!([{ "text": "" }]), true);
        let empty = candidate_json(reply, &json!([]), true);
        frames.push(ReplyFrame::Event(unnamed_event(if reply.answer.pieces.is_empty() { &empty } else { &last })));
        frames
    }

    fn response_body(&self, reply: &ModelReply<'_>) -> Value {
        if reply.side == Some(&SideRequest::Count) {
            return json!({ "totalTokens": reply.answer.usage.input });
        }
        candidate_json(reply, &reply.answer.pieces.iter().map(content_part).collect(), true)
    }

    fn error_body(&self, status: u16, message: &str) -> Value {
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

/// A request for JSON is never the conversation: agents use it to choose a model or the next speaker.
fn side_request(path: &str, body: &Value, system: &str, has_tools: bool) -> Option<SideRequest> {
    if path.ends_with(":countTokens") {
        return Some(SideRequest::Count);
    }
    let config = body.get("generationConfig").unwrap_or(&Value::Null);
    let schema = config.get("responseJsonSchema").or_else(|| config.get("responseSchema"));
    let wants_json = text_field(config, "responseMimeType") == "application/json";
    match schema {
        Some(schema) => Some(SideRequest::Json(schema.clone())),
        None if wants_json => Some(SideRequest::Json(json!({}))),
        None => SideRequest::classify(system, has_tools),
    }
}

fn content_parts(content: &Value) -> impl Iterator<Item = &Value> {
    list_field(content, "parts").iter()
}

fn part_text(part: &Value) -> Option<&str> {
    part.get("text").and_then(Value::as_str)
}

/// User content may hold tool results and text; results come first.
fn read_content(content: &Value) -> Vec<ConversationEntry> {
    if text_field(content, "role") == "model" {
        return vec![ConversationEntry::Model];
    }
    let results = content_parts(content)
        .filter_map(|part| part.get("functionResponse"))
        .map(|result| ConversationEntry::Tool(tool_output(result)));
    let texts: Vec<_> = content_parts(content).filter_map(part_text).collect();
    results.chain([ConversationEntry::from_user_texts(&texts)]).collect()
}

/// Returns a tool's output. A command's output is embedded in a report.
fn tool_output(result: &Value) -> String {
    let response = result.get("response").unwrap_or(&Value::Null);
    let text = ["output", "error", "content"].iter().find_map(|name| response.get(name)?.as_str()).unwrap_or_default();
    text.split_once("Output: ").map_or(text, |(_, output)| output).to_owned()
}

fn candidate_json(reply: &ModelReply<'_>, parts: &Value, last: bool) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    let mut data = json!({ "modelVersion": reply.model, "responseId": format!("scripted-{}", reply.number) });
    if last {
        candidate["finishReason"] = json!(finish_reason(reply.answer));
        data["usageMetadata"] = usage_json(&reply.answer.usage);
    }
    data["candidates"] = json!([candidate]);
    data
}

fn finish_reason(answer: &ModelAnswer) -> &'static str {
    match answer.end {
        AnswerEnd::Done => "STOP",
        AnswerEnd::Length => "MAX_TOKENS",
        AnswerEnd::Refusal => "SAFETY",
    }
}

fn usage_json(usage: &ModelUsage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({ "promptTokenCount": prompt, "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - usage.reasoning, "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": prompt + usage.output })
}

fn piece_frames(reply: &ModelReply<'_>, piece: &AnswerPiece) -> Vec<ReplyFrame> {
    let chunk = |part: &Value| ReplyFrame::Chunk(unnamed_event(&candidate_json(reply, &json!([part]), false)));
    match piece {
        AnswerPiece::Think(_) | AnswerPiece::Tool { .. } => vec![chunk(&content_part(piece))],
        AnswerPiece::Text(bits) => bits
            .iter()
            .map(|bit| match bit {
                AnswerTextChunk::Say(text) => chunk(&json!({ "text": text })),
                AnswerTextChunk::Hold => ReplyFrame::Hold,
            })
            .collect(),
    }
}

fn content_part(piece: &AnswerPiece) -> Value {
    match piece {
        AnswerPiece::Think(thought) => json!({ "text": with_heading(thought), "thought": true }),
        AnswerPiece::Text(_) => json!({ "text": piece.joined_text() }),
        AnswerPiece::Tool { name, input, .. } => json!({ "functionCall": { "name": name, "args": input } }),
    }
}

/// Thoughts of this API have a heading: their first words.
fn with_heading(thought: &str) -> String {
    let heading: String = word_chunks(thought).take(3).collect();
    format!("**{}**\n\n{thought}", heading.trim_end())
}
