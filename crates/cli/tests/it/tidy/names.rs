//! An agent is one directory and one line in the table, and so is a dialect. No other code names them.

use std::path::Path;

use switchboard_agents::{SOURCES, find_source};
use switchboard_dialects::DIALECTS;
use switchboard_testkit::{
    clis::AGENT_CLIS,
    recording::{directories_in, file_name},
    repository_root,
};

use super::{SourceFile, files};
use crate::verdict;

/// Agents whose name is an ordinary word.
const PLAIN_AGENTS: &[&str] = &["acp", "board", "echo", "script"];

/// Dialects whose name is an ordinary word in other protocols.
const PLAIN_DIALECTS: &[&str] = &["board", "events", "message"];

/// Dialects with the name of an agent.
const AGENTS_TOO: &[&str] = &["acp"];

/// Directories of the agents crate that are not agents.
const NO_AGENTS: &[&str] = &["logs", "recorder", "tests"];

/// The code of the test kit that sets up real agents and generates their logs.
const REAL_AGENTS: &[&str] = &["crates/testkit/src/clis/", "crates/testkit/src/corpus/agents/"];

/// Scenarios with real agents and a real browser: tests, which may use any dialect.
const SCENARIOS: [&str; 2] = ["crates/live/", "crates/browser/"];

/// Code of protocols whose words are also names of dialects.
const SPEAKERS: &[&str] = &[
    "crates/client/src/",
    "crates/dialects/src/",
    "crates/testkit/src/corpus/",
    "crates/testkit/src/model/",
    "crates/testkit/src/fake/",
];

/// Returns the names of the agents' directories.
fn agents() -> Vec<String> {
    let folders = directories_in(&repository_root().join("crates/agents/src")).unwrap();
    folders.iter().map(|folder| file_name(folder)).filter(|name| !NO_AGENTS.contains(&name.as_str())).collect()
}

/// Returns the code of the product and of the development tools.
fn code() -> impl Iterator<Item = SourceFile> {
    files()
        .into_iter()
        .filter(|file| file.is_rust() && file.path.starts_with("crates/") && !file.path.contains("/tests/"))
}

/// Removes the comment of a line. A `//` in a string counts as one; no name follows there.
fn without_comment(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code)
}

/// Returns whether the line contains the word as a whole, ignoring case. The API key of a provider with the same name
/// is not the agent.
fn names(line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (line.get(..at).unwrap_or_default(), line.get(at + word.len()..).unwrap_or_default());
        let is_key = after.starts_with("_api_key");
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next()) && !is_key
    })
}

#[test]
fn every_agents_folder_is_in_the_table() {
    let known = |name: &str| SOURCES.iter().copied().flatten().any(|source| source.agent == name);
    verdict("folders that no source comes from", agents().into_iter().filter(|name| !known(name)));
}

#[test]
fn every_agent_is_described() {
    let described = |name: &str| repository_root().join("crates/agents/src").join(name).join("README.md").is_file();
    verdict("agents without a README.md", agents().into_iter().filter(|name| !described(name)));
}

#[test]
fn every_dialects_folder_is_in_the_table() {
    let folders = directories_in(&repository_root().join("crates/dialects/src")).unwrap();
    let known = |folder: &Path| DIALECTS.iter().any(|dialect| dialect.name == file_name(folder));
    verdict("folders of no dialect", folders.iter().filter(|folder| !known(folder)).map(|folder| file_name(folder)));
}

#[test]
fn agents_are_named_in_their_folder_and_in_the_table_only() {
    let mut leaks = Vec::new();
    let products: Vec<_> = agents().into_iter().filter(|name| !PLAIN_AGENTS.contains(&name.as_str())).collect();
    assert!(!products.is_empty());
    let knows = |file: &SourceFile| {
        file.path == "crates/agents/src/table.rs" || REAL_AGENTS.iter().any(|folder| file.path.starts_with(folder))
    };
    for file in code().filter(|file| !knows(file)) {
        for name in products.iter().filter(|name| !file.path.starts_with(&format!("crates/agents/src/{name}/"))) {
            // An agent's directory may name another agent in comments.
            let in_a_folder =
                agents().iter().any(|agent| file.path.starts_with(&format!("crates/agents/src/{agent}/")));
            let is_module = |line: &str| file.path == "crates/agents/src/lib.rs" && line == format!("mod {name};");
            let leaking = file.lines().filter(|(_, line)| {
                let line = if in_a_folder { without_comment(line) } else { line };
                names(line, name) && !is_module(line)
            });
            leaks.extend(leaking.map(|(number, _)| format!("{}:{number}: {name}", file.path)));
        }
    }
    verdict("agents named outside their folder", leaks);
}

#[test]
fn dialects_are_named_in_their_folder_and_in_the_table_only() {
    let mut leaks = Vec::new();
    // Agents and the event model cannot use dialects anyway.
    let others = |file: &SourceFile| {
        let free = ["crates/agents/", "crates/event/"].into_iter().chain(SCENARIOS);
        !free.into_iter().any(|crate_| file.path.starts_with(crate_))
    };
    for file in code().filter(others).filter(|file| file.path != "crates/dialects/src/table.rs") {
        for name in DIALECTS.iter().map(|dialect| dialect.name).filter(|name| !AGENTS_TOO.contains(name)) {
            let own = format!("crates/dialects/src/{name}/");
            let among_them = SPEAKERS.iter().any(|folder| file.path.starts_with(folder));
            if file.path.starts_with(&own) || among_them && PLAIN_DIALECTS.contains(&name) {
                continue;
            }
            let literal = format!("\"{name}\"");
            let leaking = file.lines().filter(|(_, line)| without_comment(line).contains(&literal));
            leaks.extend(leaking.map(|(number, _)| format!("{}:{number}: {name}", file.path)));
        }
    }
    verdict("dialects named outside their folder", leaks);
}

#[test]
fn every_real_agent_is_in_the_table() {
    let known = |name: &str| SOURCES.iter().copied().flatten().any(|source| source.agent == name);
    let wrong = AGENT_CLIS
        .iter()
        .filter(|cli| !known(cli.name) || find_source(cli.source).is_none_or(|source| source.agent != cli.name));
    verdict("agents of the stage that no source is for", wrong.map(|cli| cli.name.to_owned()));
}

#[test]
fn a_name_is_found_as_a_word() {
    assert!(names("let x = Amp::new();", "amp") && names("amp_live", "amp") && names("\"amp\"", "amp"));
    assert!(!names("for example, a sample", "amp"));
}
