//! Whatever documents name must exist.

use switchboard_testkit::repository_root;

use super::{SourceFile, file, files};
use crate::verdict;

/// Documents that must be there.
const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Maximum number of lines of the overview.
const OVERVIEW: usize = 200;

/// Returns the texts in backticks, outside of code blocks.
fn quoted(document: &SourceFile) -> Vec<String> {
    let (mut quoted, mut in_block) = (Vec::new(), false);
    for line in document.text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            quoted.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    quoted
}

/// Returns the part of a quoted text that must be a path, if it begins with a directory of the repository. Placeholders
/// (`NAME`, `<agent>`, `*`) and what follows them are ignored.
fn path(quoted: &str) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "._-/<>*:".contains(c);
    let (first, _) = quoted.split_once('/')?;
    // Documents mean users' repositories.
    if first == ".git" || !quoted.chars().all(plain) || first.is_empty() || !repository_root().join(first).is_dir() {
        return None;
    }
    let open = |part: &&str| part.contains(['<', '*']) || !part.is_empty() && part.chars().all(char::is_uppercase);
    Some(quoted.split('/').take_while(|part| !open(part)).collect::<Vec<_>>().join("/"))
}

#[test]
fn paths_in_documents_exist() {
    let mut wrong = Vec::new();
    for document in files().iter().filter(|file| file.path.ends_with(".md") && !file.is_recorded()) {
        let missing = quoted(document).into_iter().filter_map(|text| path(&text));
        let missing = missing.filter(|path| !repository_root().join(path).exists());
        wrong.extend(missing.map(|path| format!("{}: {path}", document.path)));
    }
    verdict("paths that are not there", wrong);
}

#[test]
fn documents_are_there() {
    for name in DOCUMENTS {
        assert!(file(name).text.lines().count() > 3, "{name} says nothing");
    }
    let lines = file("ARCHITECTURE.md").text.lines().count();
    assert!(lines < OVERVIEW, "ARCHITECTURE.md has {lines} lines");
    assert!(file("CHANGELOG.md").text.contains("## [Unreleased]"));
}

#[test]
fn tests_are_run_by_one_command() {
    for name in ["README.md", "CONTRIBUTING.md", ".ci/run"] {
        let named = file(name).text.lines().any(|line| line.trim().trim_matches('`') == "cargo xtask test");
        assert!(named, "{name} does not say `cargo xtask test`");
    }
}

#[test]
fn commands_in_documents_exist() {
    let commands = file("crates/xtask/src/main.rs").text.to_lowercase();
    let mut wrong = Vec::new();
    for document in files().iter().filter(|file| file.path.ends_with(".md") && !file.is_recorded()) {
        for (number, line) in document.lines() {
            let named =
                line.split("cargo xtask ").skip(1).filter_map(|rest| rest.split(|c: char| !c.is_alphabetic()).next());
            let missing = named.filter(|name| !name.is_empty() && !commands.contains(&format!("\n    {name}(")));
            wrong.extend(missing.map(|name| format!("{}:{number}: {name}", document.path)));
        }
    }
    verdict("commands that are not there", wrong);
}

#[test]
fn paths_are_known_by_their_looks() {
    assert_eq!(path("crates/agents/src/NAME/mod.rs").as_deref(), Some("crates/agents/src"));
    assert_eq!(path("crates/nothing.rs").as_deref(), Some("crates/nothing.rs"));
    for text in ["input/output", "cargo xtask test", "/event", "a/b"] {
        assert_eq!(path(text), None, "{text}");
    }
}
