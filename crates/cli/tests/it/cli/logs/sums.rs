//! What an export adds up to: each reply once, as `usage` counts it, whatever the agent.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_testkit::corpus::{self, CorpusOptions};

use super::Machine;

type Sums = BTreeMap<String, u64>;

/// Tokens by what a field says.
fn sums(objects: &[Value], by: &str, tokens: &str) -> Sums {
    let mut sums = Sums::new();
    for object in objects {
        if let Some(tokens) = object[tokens].as_u64().filter(|tokens| *tokens > 0) {
            *sums.entry(object[by].as_str().unwrap_or_default().to_owned()).or_default() += tokens;
        }
    }
    sums
}

fn used(machine: &Machine, by: &str) -> Sums {
    sums(&machine.objects(&["usage", "--by", by, "--json"]), "key", "totalTokens")
}

#[test]
fn an_export_of_everything_adds_up_to_what_was_used() {
    for seed in [1, 2] {
        let machine = Machine::new();
        corpus::write_corpus(machine.folder.path(), &CorpusOptions::small(seed)).unwrap();
        let trace = machine.objects(&["export", "--no-raw"]);
        assert_eq!(sums(&trace, "model", "tokens_total"), used(&machine, "model"), "corpus {seed}");
    }
}

#[test]
fn a_session_with_subagents_adds_up_to_what_it_used() {
    let machine = Machine::new();
    corpus::write_corpus(machine.folder.path(), &CorpusOptions::small(3)).unwrap();
    let with_subagents = |line: &Value| line["subagents"].as_array().is_some_and(|subagents| !subagents.is_empty());
    let sessions = machine.objects(&["list", "--all", "--json"]);
    let (mut seen, used) = (0, used(&machine, "session"));
    for session in sessions.iter().filter(|session| with_subagents(session)) {
        let id = session["id"].as_str().unwrap();
        let trace = machine.objects(&["export", id, "--no-raw"]);
        let exported: u64 = sums(&trace, "model", "tokens_total").values().sum();
        assert_eq!(Some(&exported), used.get(id), "{id}");
        seen += 1;
    }
    assert!(seen > 2, "{seen}");
}
