//! An agent is one folder and one line in the table, a dialect likewise. Nothing else in the code names them.

use std::path::Path;

use switchboard_agents::{SOURCES, find_source};
use switchboard_dialects::DIALECTS;
use switchboard_testkit::{
    clis::AGENT_CLIS,
    recording::{directories_in, file_name},
    repository_root,
};

use super::{File, files};
use crate::verdict::verdict;

/// Agents that are called by a word which code uses for other things too.
const PLAIN_AGENTS: &[&str] = &["acp", "board", "echo", "script"];

/// Dialects that are called by a word which other protocols use too.
const PLAIN_DIALECTS: &[&str] = &["board", "events", "message"];

/// Dialects that are called as an agent is: the word alone does not say which is meant.
const AGENTS_TOO: &[&str] = &["acp"];

/// Folders of the agents crate that are no agents.
const NO_AGENTS: &[&str] = &["logs", "scribe"];

/// Where the test kit knows the real agents: how each is set up, what its tools are called, and what its logs look like.
const REAL_AGENTS: &[&str] = &["crates/testkit/src/clis/", "crates/testkit/src/corpus/agents/"];

/// The scenarios with the real agents and with a real browser: tests, which may look at any dialect.
const SCENARIOS: [&str; 2] = ["crates/live/", "crates/browser/"];

/// Code that speaks protocols, with words which dialects are called by.
const SPEAKERS: &[&str] = &[
    "crates/client/src/",
    "crates/dialects/src/",
    "crates/testkit/src/corpus/",
    "crates/testkit/src/model/",
    "crates/testkit/src/fake/",
];

/// The agents' names, from their folders.
fn agents() -> Vec<String> {
    let folders = directories_in(&repository_root().join("crates/agents/src")).unwrap();
    folders.iter().map(|folder| file_name(folder)).filter(|name| !NO_AGENTS.contains(&name.as_str())).collect()
}

/// The code of the product and of the development commands.
fn code() -> impl Iterator<Item = File> {
    files()
        .into_iter()
        .filter(|file| file.is_rust() && file.path.starts_with("crates/") && !file.path.contains("/tests/"))
}

/// The line without its comment. A `//` in a text is taken for one; no name follows there.
fn without_comment(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code)
}

/// The line names the word, in any case, not as part of a longer one. The key of a provider that has the same name is
/// the provider's.
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
    let knows = |file: &File| {
        file.path == "crates/agents/src/table.rs" || REAL_AGENTS.iter().any(|folder| file.path.starts_with(folder))
    };
    for file in code().filter(|file| !knows(file)) {
        for name in products.iter().filter(|name| !file.path.starts_with(&format!("crates/agents/src/{name}/"))) {
            // Another agent's folder may say for whom a workaround is.
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
    // Agents and the model have words of their own, and know no dialects: the compiler sees to that.
    let others = |file: &File| {
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
