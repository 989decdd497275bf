//! Records without a type: a bare `{"text"}`, and unprocessed replies of the model's API; and the token usage of all
//! formats.

use switchboard_event::{
    AgentMessage, Content, ContentType, Details, Fault, Id, Info, Item, Level, Notice, Scope, Status, Topic, Usage,
};

use super::{GeminiStreamReader, errors, items};
use crate::{JsonObject, JsonView, RunRecorder};

/// State of raw replies.
#[derive(Default)]
pub struct RawReplies {
    /// The reply in progress, and its usage so far.
    metered: Option<(Option<Id>, Usage)>,
    /// Finish reason of the last reply.
    finish: Option<String>,
    /// A reply has started: its end is marked, and a stream without that mark was cut off.
    seen: bool,
    /// A bare text has occurred, which has no end mark.
    bare: bool,
}

impl RawReplies {
    /// Reports pending usage.
    pub fn flush_usage(&mut self, recorder: &mut RunRecorder) {
        if let Some((_, usage)) = self.metered.take() {
            recorder.record_usage(usage);
        }
    }

    /// Returns how the stream of raw replies ended; `None` if it was cut off.
    pub fn final_outcome(&self) -> Option<Result<(), Fault>> {
        match self.finish.as_deref() {
            Some("STOP" | "MAX_TOKENS" | "FINISH_REASON_UNSPECIFIED") => Some(Ok(())),
            Some(reason) => Some(Err(errors::blocked_reply(reason))),
            None => (self.bare && !self.seen).then_some(Ok(())),
        }
    }

    /// Returns whether the last reply reached its length limit.
    pub fn is_truncated(&self) -> bool {
        self.finish.as_deref() == Some("MAX_TOKENS")
    }

    /// Records usage. When another reply begins, the usage of the previous one is final.
    fn record_usage(&mut self, key: Option<Id>, usage: Usage, recorder: &mut RunRecorder) {
        if self.metered.as_ref().is_some_and(|(before, _)| *before != key) {
            self.flush_usage(recorder);
        }
        self.metered = Some((key, usage));
    }
}

impl GeminiStreamReader {
    pub(super) fn read_untyped(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if let Some(text) = fields.get_str("text") {
            self.replies.bare = true;
            self.append_answer(&text, recorder);
        }
        if fields.contains_key("candidates")
            || fields.contains_key("usageMetadata")
            || fields.contains_key("promptFeedback")
        {
            self.read_raw_reply(fields, recorder);
        } else if let Some(error) = fields.get("error").filter(|_| !fields.contains_key("type")) {
            self.replies.flush_usage(recorder);
            self.fail_turn(errors::parse_fault(&error.as_object()), None, recorder);
        }
    }

    /// Reads a chunk of a reply.
    fn read_raw_reply(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.update_info(Info { model: fields.get_non_empty("modelVersion"), ..Info::default() });
        recorder.ensure_turn();
        self.replies.seen = true;
        if let Some(name) = fields.get_non_empty("responseId") {
            self.numbered.set_current_id(name.into());
        }
        let candidate =
            fields.get_array("candidates").first().map(|candidate| candidate.as_object()).unwrap_or_default();
        for part in candidate.get_object("content").get_array("parts") {
            self.read_part(&part.as_object(), recorder);
        }
        let blocked = fields.get_object("promptFeedback").get_non_empty("blockReason");
        if blocked.is_some() || !candidate.is_empty() {
            self.replies.finish = candidate.get_non_empty("finishReason").or(blocked);
        }
        if fields.contains_key("usageMetadata") {
            let key = fields.get_non_empty("responseId").map(Id::from);
            let model = fields.get_non_empty("modelVersion").or_else(|| recorder.current_model().map(str::to_owned));
            let usage = parse_reply_usage(&fields.get_object("usageMetadata"), key.clone(), model);
            self.replies.record_usage(key, usage, recorder);
        }
        recorder
            .write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("usageMetadata"));
    }

    fn read_part(&mut self, part: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if let Some(call) = part.get("functionCall") {
            return self.read_function_call(&call.as_object(), recorder);
        }
        if let Some(response) = part.get("functionResponse") {
            return complete_function_call(&response.as_object(), recorder);
        }
        if let Some(data) = part.get("inlineData") {
            return self.read_inline_data(&data.as_object(), recorder);
        }
        match part.get_str("text") {
            Some(text) if part.is_true("thought") => self.append_thought(&text, recorder),
            Some(text) => self.append_answer(&text, recorder),
            None => {}
        }
    }

    fn read_function_call(&mut self, call: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.end_speech(recorder);
        let name = call.get_str("name").unwrap_or_default();
        let reply = Some(self.numbered.id_for_output(recorder));
        let item = Item { reply, ..items::parse_tool_item(&name, call.get("args"), recorder) };
        let id = call.get_non_empty("id").map_or_else(|| self.next_id("tool", recorder), Id::from);
        recorder.item_started(&id, item);
    }

    fn read_inline_data(&mut self, data: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.end_speech(recorder);
        let (media_type, data) = (data.get_non_empty("mimeType"), data.get_non_empty("data"));
        let image = media_type.as_deref().is_some_and(|mime| mime.starts_with("image/"));
        let kind = if image { ContentType::Image } else { ContentType::File };
        let content = vec![Content { kind, media_type, data, ..Content::default() }];
        let id = self.next_id("message", recorder);
        recorder.item_completed(&id, Item::new(AgentMessage { content, ..AgentMessage::default() }));
    }
}

/// Completes a function call. Without an id, the response belongs to the oldest open call of that name.
fn complete_function_call(response: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let name = response.get_str("name").unwrap_or_default();
    let named =
        |id: &Id| recorder.open_item(id).and_then(|item| item.call.as_deref()).is_some_and(|call| call.name == name);
    let id = response.get_non_empty("id").map(Id::from);
    let Some(id) = id.or_else(|| recorder.open_items(None).into_iter().find(named)) else { return };
    let Some(mut item) = recorder.open_item(&id).cloned() else { return };
    let given = response.get_object("response");
    let output = given.get("output").or_else(|| given.get("result")).map(JsonView::display_text).unwrap_or_default();
    match &mut item.details {
        Details::Command(command) => command.output = output.into_owned(),
        Details::Tool(tool) => (tool.output, tool.result) = (output.into_owned(), response.get_raw("response")),
        Details::FileChange(change) => change.output = Some(output.into_owned()),
        Details::Mcp(mcp) => mcp.result = response.get_raw("response"),
        Details::WebSearch(search) => search.results = response.get_raw("response"),
        Details::Subagent(subagent) => subagent.result = Some(output.into_owned()),
        _ => {}
    }
    let error = given.get("error").map(|error| error.display_text().into_owned());
    let status = if error.is_some() { Status::Failed } else { Status::Completed };
    if let Some(call) = &mut item.call {
        call.error = error;
    }
    recorder.item_completed(&id, item.with_status(status));
}

/// Counts the `stats` of a result, per model. `input_tokens` includes the cache; only the total includes thoughts.
pub fn count_stats(stats: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let models = stats.get_object("models");
    if models.is_empty() {
        let model = recorder.current_model().map(str::to_owned);
        return recorder.record_usage(parse_turn_usage(stats, model));
    }
    for (model, figures) in models.iter() {
        recorder.record_usage(parse_turn_usage(&figures.as_object(), Some(model.to_owned())));
    }
}

/// Older documentation has thoughts and tools as fields; in either case the total covers the rest.
fn parse_turn_usage(figures: &JsonObject<'_>, model: Option<String>) -> Usage {
    let (input, answer) = (figures.get_count("input_tokens"), figures.get_count("output_tokens"));
    let cache_read = figures.get_u64("cached").unwrap_or_else(|| figures.get_count("cache_tokens"));
    let tool = figures.get_u64("tool_tokens").filter(|tokens| *tokens > 0);
    let known = input.saturating_add(answer).saturating_add(tool.unwrap_or(0));
    let rest = || figures.get_u64("total_tokens").map_or(0, |total| total.saturating_sub(known));
    let reasoning = figures.get_u64("thought_tokens").filter(|tokens| *tokens > 0).unwrap_or_else(rest);
    Usage { scope: Scope::Turn, model, tool, ..build_usage(input, cache_read, answer, reasoning) }
}

/// Parses `usageMetadata` of a raw reply. Each chunk of a reply repeats it; the last one counts.
pub fn parse_reply_usage(figures: &JsonObject<'_>, key: Option<Id>, model: Option<String>) -> Usage {
    let figure = |key| figures.get_count(key);
    let tool = figures.get_u64("toolUsePromptTokenCount").filter(|tokens| *tokens > 0);
    let (prompt, cached) = (figure("promptTokenCount"), figure("cachedContentTokenCount"));
    let usage = build_usage(prompt, cached, figure("candidatesTokenCount"), figure("thoughtsTokenCount"));
    Usage { key, scope: Scope::Reply, model, tool, ..usage }
}

/// Parses `tokens` of a message in a session log.
pub fn parse_log_usage(tokens: &JsonObject<'_>, model: Option<String>) -> Usage {
    let tool = tokens.get_u64("tool").filter(|tokens| *tokens > 0);
    let (input, cached) = (tokens.get_count("input"), tokens.get_count("cached"));
    Usage { model, tool, ..build_usage(input, cached, tokens.get_count("output"), tokens.get_count("thoughts")) }
}

fn build_usage(input: u64, cache_read: u64, answer: u64, reasoning: u64) -> Usage {
    Usage {
        input: input.saturating_sub(cache_read),
        output: answer.saturating_add(reasoning),
        cache_read,
        reasoning,
        cached_in_input: true,
        reasoning_in_output: false,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {

    use super::{parse_reply_usage, parse_turn_usage};
    use crate::JsonView;

    #[test]
    fn thoughts_are_what_the_total_has_more() {
        let stats = r#"{"total_tokens":142,"input_tokens":120,"output_tokens":15,"cached":20,"input":100}"#;
        let usage = parse_turn_usage(&JsonView::parse(stats).unwrap().as_object(), None);
        assert_eq!((usage.input, usage.cache_read, usage.output, usage.reasoning), (100, 20, 22, 7));
        assert_eq!((usage.native_input(), usage.native_output()), (120, 15));
    }

    #[test]
    fn a_raw_reply_counts_the_cache_within_its_prompt() {
        let figures = r#"{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":2,"toolUsePromptTokenCount":3,"totalTokenCount":20}"#;
        let usage = parse_reply_usage(&JsonView::parse(figures).unwrap().as_object(), None, None);
        assert_eq!((usage.input, usage.cache_read, usage.output, usage.reasoning, usage.tool), (6, 4, 7, 2, Some(3)));
    }
}
