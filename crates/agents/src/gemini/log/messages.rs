//! Messages of the user, the model and the program.

use std::borrow::Cow;

use switchboard_event::{
    AgentMessage, Content, ContentType, ErrorCode, Fault, Id, Info, Item, Level, Notice, Reasoning, Scope, Topic,
    TurnStarted, Usage, UserMessage,
};

use super::{GeminiLogReader, context_cwd, is_injected_context, parse_time};
use crate::{JsonObject, JsonView, RunRecorder, gemini::raw};

impl GeminiLogReader {
    /// Reads a message, which can occur repeatedly: Gemini CLI writes an answer before its tool results, and again with
    /// them.
    pub(super) fn read_message(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(id) = fields.get_non_empty("id") else { return };
        recorder.set_record_time(parse_time(fields, "timestamp"));
        self.add_to_order(&id);
        match fields.get_str("type").as_deref() {
            Some("user") if self.seen.contains_key(&id) => self.update_message(fields, recorder),
            Some("user") => self.read_user_message(id, fields, recorder),
            Some("gemini") => self.read_answer(&id, fields, recorder),
            Some(kind @ ("info" | "warning" | "error")) if !self.seen.contains_key(&id) => {
                self.seen.entry(id).or_default();
                report_program_message(kind, fields, recorder);
            }
            _ => self.update_message(fields, recorder),
        }
    }

    /// Appends the message to the order if it is not in it.
    fn add_to_order(&mut self, id: &str) {
        if self.present.insert(id.to_owned()) {
            self.order.push(id.to_owned());
        }
    }

    /// Reads a known message again, or a part of it: only new content matters.
    pub(super) fn update_message(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let known = fields.get_non_empty("id").filter(|id| self.seen.contains_key(id));
        if let Some(id) = known {
            self.count_usage(&id, fields, recorder);
            self.read_tool_calls(&id, fields, recorder);
        }
        let kind = fields.get_string("type").unwrap_or_default();
        if fields.contains_key("type") && matches!(&*kind, "user" | "gemini" | "info" | "warning" | "error") {
            recorder.write_notice_if_no_event(Notice::new(Topic::Echo).with_level(Level::Debug).with_name(kind));
        }
    }

    fn read_user_message(&mut self, id: String, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.seen.entry(id.clone()).or_default();
        let responses = function_responses(fields.get("content"));
        for response in &responses {
            self.read_function_response(response, recorder);
        }
        let content = fields.get("displayContent").or_else(|| fields.get("content"));
        let text = content.map(content_text).unwrap_or_default();
        let pictures: Vec<_> =
            content.map(attachment_types).unwrap_or_default().into_iter().map(attachment_content).collect();
        if text.is_empty() && pictures.is_empty() {
            return recorder.write_notice_if_no_event(
                Notice::new(Topic::Echo).with_level(Level::Debug).with_name("functionResponse"),
            );
        }
        let synthetic = !responses.is_empty() || is_injected_context(&text);
        if synthetic
            && recorder.working_directory().is_none()
            && let Some(cwd) = context_cwd(&text)
        {
            recorder.update_info(Info { cwd: Some(cwd), ..Info::default() });
        }
        if !synthetic {
            self.answered = false;
            recorder.turn_started(TurnStarted { prompt: Some(text.clone()), ..TurnStarted::default() });
        }
        let content = [vec![Content::text(text)], pictures].concat();
        recorder.item_completed(&Id::from(id), Item::new(UserMessage { content, synthetic, queued: false }));
    }

    fn read_answer(&mut self, id: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        self.seen.entry(id.to_owned()).or_default();
        if let Some(model) = fields.get_non_empty("model").filter(|model| recorder.current_model() != Some(model)) {
            recorder.update_info(Info { model: Some(model), ..Info::default() });
        }
        // Usage precedes the content that it belongs to: the answer or its calls, and thoughts only if there is nothing
        // else.
        let text = fields.get("content").filter(|_| !recorder.is_brief()).map(content_text).unwrap_or_default();
        if text.is_empty() && fields.get_array("toolCalls").is_empty() {
            self.count_usage(id, fields, recorder);
        }
        if !recorder.is_brief() {
            self.add_thoughts(id, fields, recorder);
        }
        self.count_usage(id, fields, recorder);
        if !recorder.is_brief() {
            self.add_answer_text(id, text, recorder);
        }
        self.read_tool_calls(id, fields, recorder);
        recorder.write_notice_if_no_event(Notice::new(Topic::Echo).with_level(Level::Debug).with_name("gemini"));
    }

    fn add_thoughts(&mut self, id: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let thoughts = fields.get_array("thoughts");
        let Some(seen) = self.seen.get_mut(id) else { return };
        let from = seen.thoughts;
        seen.thoughts = from.max(thoughts.len());
        for (number, thought) in thoughts.into_iter().enumerate().skip(from) {
            let item = Item { reply: Some(Id::from(id)), ..Item::new(parse_thought(thought)) };
            recorder.item_completed(&Id::from(format!("{id}.thought{}", number + 1)), item);
        }
    }

    /// Adds the text of an answer. A text that differs from the previous version is added too.
    fn add_answer_text(&mut self, id: &str, text: String, recorder: &mut RunRecorder) {
        let Some(seen) = self.seen.get_mut(id) else { return };
        if text.is_empty() || text == seen.text {
            return;
        }
        seen.versions += 1;
        let name = if seen.versions == 1 { id.to_owned() } else { format!("{id}.{}", seen.versions) };
        seen.text.clone_from(&text);
        self.answered = true;
        let item = Item { reply: Some(Id::from(id)), ..Item::new(AgentMessage::text(text)) };
        recorder.item_completed(&Id::from(name), item);
    }

    /// Counts the usage of a reply once. It may be written later than the message; if it grows, only the increase
    /// counts.
    fn count_usage(&mut self, id: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(seen) = self.seen.get_mut(id) else { return };
        let tokens = fields.get_object("tokens");
        let model = fields.get_non_empty("model").or_else(|| recorder.current_model().map(str::to_owned));
        let used = raw::parse_log_usage(&tokens, model);
        let key = match &seen.usage {
            _ if used.is_zero() => return,
            None => Id::from(id),
            Some(before) if total_tokens(&used) > total_tokens(before) => {
                Id::from(format!("{id}+{}", total_tokens(before)))
            }
            Some(_) => return,
        };
        let more = seen.usage.as_ref().map_or_else(|| used.clone(), |before| used.saturating_sub(before));
        seen.usage = Some(used);
        recorder.record_usage(Usage { key: Some(key), scope: Scope::Reply, ..more });
    }
}

fn total_tokens(usage: &Usage) -> u64 {
    usage.all_input().saturating_add(usage.output).saturating_add(usage.tool.unwrap_or(0))
}

fn parse_thought(thought: JsonView<'_>) -> Reasoning {
    let fields = thought.as_object();
    let said = ["subject", "description"].into_iter().filter_map(|key| fields.get_non_empty(key)).collect::<Vec<_>>();
    Reasoning { text: Some(said.join(": ")), ..Reasoning::default() }
}

fn attachment_content(media_type: String) -> Content {
    let kind = if media_type.starts_with("image/") { ContentType::Image } else { ContentType::File };
    Content { kind, media_type: Some(media_type), ..Content::default() }
}

/// Reports a message of the program to the user.
fn report_program_message(kind: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let text = fields.get("content").map(content_text).unwrap_or_default();
    let notice = match kind {
        "info" => Notice::new(Topic::Status),
        "warning" => Notice::new(Topic::Warning).with_level(Level::Warning),
        _ => Notice {
            error: Some(Fault::new(ErrorCode::Unknown, text.clone())),
            ..Notice::new(Topic::Warning).with_level(Level::Error)
        },
    };
    recorder.write_notice(notice.with_text(text));
}

/// Returns the text of a message or of a tool's display: a string, parts with texts, or lines of styled terminal cells.
/// Deeper nesting does not occur and is not followed, because unbounded nesting could overflow the stack.
pub fn content_text(content: JsonView<'_>) -> String {
    let parts = content.as_array();
    match parts.iter().any(|part| is_array(*part)) {
        true => parts.into_iter().map(line_text).collect::<Vec<_>>().join("\n"),
        false => line_text(content),
    }
}

fn line_text(line: JsonView<'_>) -> String {
    match is_array(line) {
        true => line.as_array().into_iter().map(part_text).collect(),
        false => part_text(line),
    }
}

fn part_text(part: JsonView<'_>) -> String {
    part.as_str().map(Cow::into_owned).or_else(|| part.as_object().get_string("text")).unwrap_or_default()
}

fn is_array(content: JsonView<'_>) -> bool {
    content.raw_text().starts_with('[')
}

/// Returns the tool results in a message.
pub fn function_responses<'a>(content: Option<JsonView<'a>>) -> Vec<JsonObject<'a>> {
    let Some(content) = content else { return Vec::new() };
    let parts = if content.is_object() { vec![content] } else { content.as_array() };
    let response =
        |part: JsonView<'a>| Some(part.as_object().get_object("functionResponse")).filter(|fields| !fields.is_empty());
    parts.into_iter().filter_map(response).collect()
}

/// Returns the media types of images and files among the parts.
fn attachment_types(content: JsonView<'_>) -> Vec<String> {
    let kind = |part: JsonView<'_>| {
        let part = part.as_object();
        let data =
            ["inlineData", "fileData"].into_iter().map(|key| part.get_object(key)).find(|data| !data.is_empty())?;
        data.get_non_empty("mimeType")
    };
    content.as_array().into_iter().filter_map(kind).collect()
}

#[cfg(test)]
mod tests {

    use super::content_text;
    use crate::JsonView;

    #[test]
    fn a_text_is_said_in_several_ways() {
        for (content, expected) in [
            (r#""a""#, "a"),
            (r#"{"text":"a"}"#, "a"),
            (r#"["a",{"text":"b"},{"inlineData":{}},7]"#, "ab"),
            (r#"[[{"text":"a"},{"text":"b"}],[],["c"],{"text":"d"}]"#, "ab\n\nc\nd"),
            (r#"[["a",["too deep"]]]"#, "a"),
            ("7", ""),
        ] {
            assert_eq!(content_text(JsonView::parse(content).unwrap()), expected, "{content}");
        }
    }
}
