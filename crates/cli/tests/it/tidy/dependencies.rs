//! Which crates may depend on which, and what pure crates must not use.

use super::{SourceFile, files};
use crate::verdict;

/// The allowed dependencies between the workspace's crates.
const ARROWS: &[(&str, &[&str])] = &[
    ("event", &[]),
    ("agents", &["event"]),
    ("dialects", &["event"]),
    ("store", &["event"]),
    ("client", &["dialects", "event"]),
    ("log-conformance", &["event", "store"]),
    ("cluster", &["event", "store"]),
    ("engine", &["agents", "client", "event", "store"]),
    ("logs", &["agents", "event", "store"]),
    ("page", &["event"]),
    ("serve", &["agents", "client", "cluster", "dialects", "engine", "event", "logs", "page", "store"]),
    ("cli", &["agents", "client", "cluster", "dialects", "engine", "event", "logs", "serve", "store"]),
    ("testkit", &["agents", "dialects", "event"]),
    ("live", &["agents", "engine", "event", "store", "testkit"]),
    ("browser", &["testkit"]),
    ("xtask", &[]),
];

/// Crates for tests only.
const FOR_TESTS: &[&str] = &["log-conformance", "testkit"];

/// Crates without side effects.
const PURE: &[&str] = &["event", "agents", "dialects", "page"];

/// Dependencies and paths that a pure crate must not have.
const IMPURE_CRATES: &[&str] =
    &["tokio", "async-std", "smol", "mio", "rustix", "nix", "libc", "rusqlite", "reqwest", "hyper", "notify"];

const IMPURE_CODE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
    "std::os",
    "fs::",
    "File::",
    "SystemTime",
    "Instant",
    "Timestamp::now",
    "stdin(",
    "stdout(",
    "stderr(",
];

/// Returns the names in a section of a `Cargo.toml`.
fn section<'a>(manifest: &'a SourceFile, name: &str) -> Vec<&'a str> {
    let lines = manifest.text.lines().skip_while(|line| *line != format!("[{name}]")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split(['.', '=', ' ']).next()).filter(|name| !name.is_empty()).collect()
}

fn manifests() -> Vec<(String, SourceFile)> {
    let name = |file: &SourceFile| file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").map(str::to_owned);
    files().into_iter().filter_map(|file| Some((name(&file)?, file))).collect()
}

#[test]
fn arrows_point_downwards() {
    let mut wrong = Vec::new();
    for (name, manifest) in manifests() {
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            wrong.push(format!("crates/{name} is not in ARROWS"));
            continue;
        };
        let ours = |list: Vec<&str>| -> Vec<String> {
            list.iter().filter_map(|name| name.strip_prefix("switchboard-")).map(str::to_owned).collect()
        };
        let used = ours(section(&manifest, "dependencies"));
        wrong.extend(
            used.iter().filter(|used| !allowed.contains(&used.as_str())).map(|used| format!("{name} → {used}")),
        );
        let tested = ours(section(&manifest, "dev-dependencies"));
        let fine = |used: &String| allowed.contains(&used.as_str()) || FOR_TESTS.contains(&used.as_str());
        wrong.extend(tested.iter().filter(|used| !fine(used)).map(|used| format!("tests of {name} → {used}")));
    }
    verdict("forbidden arrows", wrong);
}

#[test]
fn every_crate_keeps_our_lints() {
    let kept = |manifest: &SourceFile| manifest.text.contains("[lints]\nworkspace = true");
    let without = manifests().into_iter().filter(|(_, manifest)| !kept(manifest));
    verdict("crates without the workspace's lints", without.map(|(name, _)| name));
}

#[test]
fn pure_crates_touch_nothing() {
    let mut wrong = Vec::new();
    for (name, manifest) in manifests().iter().filter(|(name, _)| PURE.contains(&name.as_str())) {
        let used = section(manifest, "dependencies");
        wrong.extend(used.iter().filter(|used| IMPURE_CRATES.contains(used)).map(|used| format!("{name} → {used}")));
    }
    let is_pure = |file: &SourceFile| PURE.iter().any(|name| file.path.starts_with(&format!("crates/{name}/src/")));
    for file in files().iter().filter(|file| file.is_rust() && is_pure(file)) {
        for (number, line) in file.lines().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let said = IMPURE_CODE.iter().filter(|word| says(line, word));
            wrong.extend(said.map(|word| format!("{}:{number}: {word}", file.path)));
        }
    }
    verdict("pure code that touches the world", wrong);
}

/// Returns whether the line contains the path as a whole word.
fn says(line: &str, path: &str) -> bool {
    let mut places = line.match_indices(path);
    places.any(|(at, _)| !line.get(..at).unwrap_or_default().ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[test]
fn sections_are_read() {
    let text = "[package]\nname = \"x\"\n\n[dependencies]\n# why\na.workspace = true\nb = \"1\"\n\n[lints]\nc = 1\n";
    let manifest = SourceFile { path: String::new(), text: text.to_owned() };
    assert_eq!(section(&manifest, "dependencies"), ["a", "b"]);
    assert!(says("use std::fs;", "std::fs") && !says("PutFile::new", "File::"));
}
