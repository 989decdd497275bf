//! Token usage of a `result`, of raw replies, and of session logs.

use switchboard_event::{Id, Scope, Usage};

use crate::{JsonObject, RunRecorder};

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
