//! Steps: single calls of the model, and what each used. The totals of messages and sessions repeat these figures
//! and are not counted.

use switchboard_event::{Id, Level, Notice, Scope, Topic, Usage};

use crate::Object;

/// A call of the model began.
pub fn started() -> Notice {
    Notice::new(Topic::Step).with_level(Level::Debug).with_status("started")
}

/// A call of the model is over; the reason is OpenCode's own word.
pub fn finished(step: &Object<'_>) -> Notice {
    let notice = Notice::new(Topic::Step).with_level(Level::Debug).with_status("completed");
    Notice { text: step.filled("reason").or_else(|| step.filled("finish")), ..notice }
}

/// What a step used. Cache and reasoning are counted beside input and output.
pub fn usage(step: &Object<'_>, message: &str, number: u32, model: Option<String>) -> Usage {
    let tokens = step.object("tokens");
    let cache = tokens.object("cache");
    let reasoning = tokens.count("reasoning");
    Usage {
        key: Some(key(message, number)),
        scope: Scope::Reply,
        model,
        input: tokens.count("input"),
        output: tokens.count("output").saturating_add(reasoning),
        cache_read: cache.count("read"),
        cache_write_5m: cache.count("write"),
        reasoning,
        cost_usd: step.f64("cost"),
        cached_in_input: false,
        reasoning_in_output: false,
        ..Usage::default()
    }
}

/// A message is one reply of the model; older versions put several into one.
pub fn key(message: &str, number: u32) -> Id {
    if number > 1 { Id::from(format!("{message}#{number}")) } else { Id::from(message) }
}

#[cfg(test)]
mod tests {
    use super::usage;
    use crate::Json;

    #[test]
    fn reasoning_is_added_to_output() {
        let step =
            r#"{"tokens":{"total":120,"input":70,"output":15,"reasoning":5,"cache":{"read":30,"write":0}},"cost":0.5}"#;
        let usage = usage(&Json::parse(step).unwrap().object(), "msg", 2, None);
        assert_eq!((usage.input, usage.output, usage.reasoning, usage.cache_read), (70, 20, 5, 30));
        assert_eq!((usage.native_input(), usage.native_output(), usage.cost_usd), (70, 15, Some(0.5)));
        assert_eq!(usage.key.as_deref(), Some("msg#2"));
    }
}
