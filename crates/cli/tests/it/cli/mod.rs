//! The program itself: names that users type, and the modules that test its commands.

mod cluster;
mod command_examples;
mod diagnostics;
mod harness;
mod hostile;
mod logs;
mod mcp;
mod remote;
mod serve;
mod session_ids;
mod sessions;
mod trace_dialect;
mod translate;
mod usage;
mod watch;

use serde_json::Value;
use switchboard_agents::{RecordSource, SOURCES};
use switchboard_dialects::DIALECTS;

use crate::binary::run;

const SHELLS: &[&str] = &["bash", "elvish", "fish", "powershell", "zsh"];

fn sources() -> impl Iterator<Item = &'static RecordSource> {
    SOURCES.iter().copied().flatten()
}

/// Returns any source.
fn a_source() -> &'static str {
    sources().next().unwrap().name
}

/// Returns the names at the beginning of the lines of a list.
fn listed(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect()
}

#[test]
fn a_wrong_source_is_answered_with_all_sources() {
    let complaint = run(&["translate", "--from", "nobody"], b"").fails(2);
    assert!(complaint.contains("`nobody`"), "{complaint}");
    assert_eq!(listed(&complaint), sources().map(|source| source.name).collect::<Vec<_>>());
}

#[test]
fn a_wrong_dialect_is_answered_with_all_dialects() {
    let complaint = run(&["translate", "--from", a_source(), "--to", "nothing"], b"").fails(2);
    assert!(complaint.contains("`nothing`"), "{complaint}");
    assert_eq!(listed(&complaint), DIALECTS.iter().map(|dialect| dialect.name).collect::<Vec<_>>());
}

#[test]
fn a_wrong_schema_is_answered_with_all_schemas() {
    let complaint = run(&["schema", "nothing"], b"").fails(2);
    assert_eq!(listed(&complaint), listed(&run(&["schema"], b"").ok()));
}

#[test]
fn a_wrong_argument_is_bad_usage() {
    for args in [&["translate"][..], &["translate", "--from"], &["nonsense"], &["completions", "nonsense"]] {
        run(args, b"").fails(2);
    }
}

#[test]
fn every_schema_is_one() {
    let list = run(&["schema"], b"").ok();
    let names = listed(&list);
    for dialect in DIALECTS {
        assert!(names.contains(&dialect.name), "{} has no schema", dialect.name);
    }
    for name in names {
        let schema: Value = serde_json::from_str(&run(&["schema", name], b"").ok()).unwrap();
        assert!(schema.as_object().is_some_and(|fields| fields.contains_key("$schema")), "{name} does not say which");
        jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in SHELLS {
        let script = run(&["completions", shell], b"").ok();
        assert!(script.contains("translate") && script.contains("from"), "{shell}");
        // Two shells have no completion of values.
        let offers = !["elvish", "powershell"].contains(shell);
        for dialect in DIALECTS.iter().filter(|_| offers) {
            assert!(script.contains(dialect.name), "{shell} does not offer {}", dialect.name);
        }
    }
}

#[test]
fn help_tells_all_names() {
    let help = run(&["translate", "--help"], b"").ok();
    let names = listed(&help);
    for name in sources().map(|source| source.name).chain(DIALECTS.iter().map(|dialect| dialect.name)) {
        assert!(names.contains(&name), "help does not list {name}");
    }
    let help = run(&["--help"], b"").ok();
    for command in ["translate", "schema", "completions"] {
        assert!(help.contains(command), "help does not name {command}");
    }
}

#[test]
fn hidden_modes_are_there_and_want_a_channel() {
    // They end immediately without a channel; an unknown command would be bad usage.
    for args in [["__supervise", "session"], ["__exec", "1"]] {
        assert_eq!(run(&args, b"").fails(1), "", "{args:?}");
    }
}

#[test]
fn hidden_modes_are_not_shown() {
    for args in [["--help"].as_slice(), &["help"], &["completions", "bash"]] {
        let shown = run(args, b"").ok();
        assert!(!shown.contains("__exec") && !shown.contains("__supervise"), "{args:?}");
    }
}
