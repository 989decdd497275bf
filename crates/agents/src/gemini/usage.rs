//! What was used: the figures of a `result`, and those of the model's raw replies.

use switchboard_event::{Id, Scope, Usage};

use crate::{Object, Scribe};

/// Counts the `stats` of a result: one figure a model. `input_tokens` includes the cache; thoughts are only in the
/// total.
pub fn count(stats: &Object<'_>, scribe: &mut Scribe) {
    let models = stats.object("models");
    if models.is_empty() {
        let model = scribe.model().map(str::to_owned);
        return scribe.usage(turn(stats, model));
    }
    for (model, figures) in models.iter() {
        scribe.usage(turn(&figures.object(), Some(model.to_owned())));
    }
}

/// Older descriptions name thoughts and tools; there too the total says what the rest leaves out.
fn turn(figures: &Object<'_>, model: Option<String>) -> Usage {
    let (input, answer) = (figures.count("input_tokens"), figures.count("output_tokens"));
    let cache_read = figures.u64("cached").unwrap_or_else(|| figures.count("cache_tokens"));
    let tool = figures.u64("tool_tokens").filter(|tokens| *tokens > 0);
    let known = input.saturating_add(answer).saturating_add(tool.unwrap_or(0));
    let rest = || figures.u64("total_tokens").map_or(0, |total| total.saturating_sub(known));
    let reasoning = figures.u64("thought_tokens").filter(|tokens| *tokens > 0).unwrap_or_else(rest);
    Usage { scope: Scope::Turn, model, tool, ..figures_of(input, cache_read, answer, reasoning) }
}

/// `usageMetadata` of a raw reply. Each piece of a reply repeats it; the last one counts.
pub fn reply(figures: &Object<'_>, key: Option<Id>, model: Option<String>) -> Usage {
    let figure = |key| figures.count(key);
    let tool = figures.u64("toolUsePromptTokenCount").filter(|tokens| *tokens > 0);
    let (prompt, cached) = (figure("promptTokenCount"), figure("cachedContentTokenCount"));
    let usage = figures_of(prompt, cached, figure("candidatesTokenCount"), figure("thoughtsTokenCount"));
    Usage { key, scope: Scope::Reply, model, tool, ..usage }
}

/// `tokens` of a message in a session log.
pub fn log(tokens: &Object<'_>, model: Option<String>) -> Usage {
    let tool = tokens.u64("tool").filter(|tokens| *tokens > 0);
    let (input, cached) = (tokens.count("input"), tokens.count("cached"));
    Usage { model, tool, ..figures_of(input, cached, tokens.count("output"), tokens.count("thoughts")) }
}

fn figures_of(input: u64, cache_read: u64, answer: u64, reasoning: u64) -> Usage {
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
    use super::{reply, turn};
    use crate::Json;

    #[test]
    fn thoughts_are_what_the_total_has_more() {
        let stats = r#"{"total_tokens":142,"input_tokens":120,"output_tokens":15,"cached":20,"input":100}"#;
        let usage = turn(&Json::parse(stats).unwrap().object(), None);
        assert_eq!((usage.input, usage.cache_read, usage.output, usage.reasoning), (100, 20, 22, 7));
        assert_eq!((usage.native_input(), usage.native_output()), (120, 15));
    }

    #[test]
    fn a_raw_reply_counts_the_cache_within_its_prompt() {
        let figures = r#"{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":2,"toolUsePromptTokenCount":3,"totalTokenCount":20}"#;
        let usage = reply(&Json::parse(figures).unwrap().object(), None, None);
        assert_eq!((usage.input, usage.cache_read, usage.output, usage.reasoning, usage.tool), (6, 4, 7, 2, Some(3)));
    }
}
