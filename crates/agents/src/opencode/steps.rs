//! Steps: single model calls and their usage. The totals of messages and sessions repeat these figures and are not
//! counted.

use switchboard_event::{Id, Level, Notice, Scope, Topic, Usage};

use crate::JsonObject;

pub fn started() -> Notice {
    Notice::new(Topic::Step).with_level(Level::Debug).with_status("started")
}

/// Returns the notice for the end of a model call. The reason is OpenCode's own term.
pub fn finished(step: &JsonObject<'_>) -> Notice {
    let notice = Notice::new(Topic::Step).with_level(Level::Debug).with_status("completed");
    Notice { text: step.get_non_empty("reason").or_else(|| step.get_non_empty("finish")), ..notice }
}

/// Returns the usage of a step. Cache and reasoning tokens are not included in input and output.
pub fn usage(step: &JsonObject<'_>, message: &str, number: u32, model: Option<String>) -> Usage {
    let tokens = step.get_object("tokens");
    let cache = tokens.get_object("cache");
    let reasoning = tokens.get_count("reasoning");
    Usage {
        key: Some(key(message, number)),
        scope: Scope::Reply,
        model,
        input: tokens.get_count("input"),
        output: tokens.get_count("output").saturating_add(reasoning),
        cache_read: cache.get_count("read"),
        cache_write_5m: cache.get_count("write"),
        reasoning,
        cost_usd: step.get_f64("cost"),
        cached_in_input: false,
        reasoning_in_output: false,
        ..Usage::default()
    }
}

/// A message is one reply of the model. Older versions combine several replies in one message.
pub fn key(message: &str, number: u32) -> Id {
    if number > 1 { Id::from(format!("{message}#{number}")) } else { Id::from(message) }
}

#[cfg(test)]
mod tests {

    use super::usage;
    use crate::JsonView;

    #[test]
    fn reasoning_is_added_to_output() {
        let step =
            r#"{"tokens":{"total":120,"input":70,"output":15,"reasoning":5,"cache":{"read":30,"write":0}},"cost":0.5}"#;
        let usage = usage(&JsonView::parse(step).unwrap().as_object(), "msg", 2, None);
        assert_eq!((usage.input, usage.output, usage.reasoning, usage.cache_read), (70, 20, 5, 30));
        assert_eq!((usage.native_input(), usage.native_output(), usage.cost_usd), (70, 15, Some(0.5)));
        assert_eq!(usage.key.as_deref(), Some("msg#2"));
    }
}
