//! What was used is the same in every dialect.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_event::{Body, Event, Usage};
use switchboard_testkit::{ledger::Broken, play::events, wire::Wire};

use super::Suite;

#[test]
fn every_dialect_says_the_same_was_used() {
    let suite = Suite::new();
    suite.each("usage of recordings", |recording| {
        let events = events(recording.source, &recording.bytes);
        let counted = counted(&events);
        let wires = suite.checker.wires.iter();
        wires.filter_map(|wire| differing(wire, &events, counted)).collect()
    });
}

fn counted(events: &[Event]) -> u64 {
    let mut all = Usage::default();
    for event in events {
        if let Body::Usage(usage) = &event.body
            && !usage.cumulative
        {
            all.add(usage);
        }
    }
    all.total()
}

fn differing(wire: &Wire, events: &[Event], counted: u64) -> Option<Broken> {
    let messages: Vec<Value> =
        wire.project(events).iter().map(|message| serde_json::from_slice(message).unwrap()).collect();
    let told = told(wire.dialect.name, &messages)?;
    let why = format!("{}: {told} tokens of {counted}", wire.dialect.name);
    (told != counted).then_some(Broken { rule: "usage agrees", why })
}

/// All tokens that the messages of a dialect tell of, if it is one that does.
fn told(dialect: &str, messages: &[Value]) -> Option<u64> {
    let sum = |usage: &Value, fields: &[&str]| fields.iter().filter_map(|field| usage[*field].as_u64()).sum::<u64>();
    let kind = |message: &Value, field: &str, is: &str| message[field] == is;
    Some(match dialect {
        "unified" => messages.iter().map(|message| sum(&message["usage"], &["totalTokens"])).sum(),
        "gateway" => {
            let fields = ["input_tokens", "output_tokens", "cache_read", "cache_write", "tool_tokens"];
            messages.iter().filter(|message| kind(message, "kind", "usage")).map(|message| sum(message, &fields)).sum()
        }
        "message" => {
            let results = messages.iter().filter(|message| kind(message, "type", "result"));
            results.map(|message| sum(&message["metadata"]["usage"], &["total_tokens"])).sum()
        }
        "trace" => messages.iter().map(|message| sum(message, &["tokens_total"])).sum(),
        // The figures of a turn grow with it: the last ones count.
        "harness" => {
            let fields = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "toolTokens"];
            let told = messages.iter().filter(|message| message["params"]["usage"].is_object());
            let last: BTreeMap<String, u64> = told
                .map(|message| (message["params"]["turnId"].to_string(), sum(&message["params"]["usage"], &fields)))
                .collect();
            last.values().sum()
        }
        _ => return None,
    })
}
