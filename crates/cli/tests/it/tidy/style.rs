//! Rules about files.

use super::{SourceFile, files};
use crate::verdict;

/// Maximum number of lines of code in a file.
const LONGEST: usize = 500;

/// File names without meaning.
const EMPTY_NAMES: &[&str] = &["utils", "util", "helpers", "helper", "common", "manager", "misc"];

fn rust() -> Vec<SourceFile> {
    files().into_iter().filter(SourceFile::is_rust).collect()
}

/// Returns the lines of Rust that contain one of some words. The words are given in two halves, so that this file does
/// not match.
fn lines_with(words: &[(&str, &str)]) -> Vec<String> {
    lines_of(&rust(), words)
}

fn lines_of(files: &[SourceFile], words: &[(&str, &str)]) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|(a, b)| format!("{a}{b}")).collect();
    let mut found = Vec::new();
    for file in files {
        for (number, line) in file.lines() {
            if let Some(word) = words.iter().find(|word| line.contains(*word)) {
                found.push(format!("{}:{number}: {word}", file.path));
            }
        }
    }
    found
}

#[test]
fn no_file_is_too_long() {
    let long = rust().into_iter().filter(|file| !file.is_test() && file.own_lines() > LONGEST);
    verdict("files that are too long", long.map(|file| format!("{}: {} lines", file.path, file.own_lines())));
}

#[test]
fn names_say_something() {
    let empty = rust().into_iter().filter(|file| {
        let parts = file.path.trim_end_matches(".rs").split('/');
        parts.into_iter().any(|part| EMPTY_NAMES.contains(&part))
    });
    verdict("files whose names say nothing", empty.map(|file| file.path));
}

#[test]
fn nothing_is_left_undone() {
    verdict("left undone", lines_with(&[("#[ig", "nore"), ("to", "do!("), ("unimpl", "emented!("), ("FIX", "ME")]));
}

#[test]
fn lints_are_expected_and_never_just_allowed() {
    verdict("allowed lints", lines_with(&[("#[al", "low("), ("#![al", "low(")]));
}

#[test]
fn native_types_are_lenient() {
    // Unknown fields in test data are mistakes.
    let product: Vec<_> =
        rust().into_iter().filter(|file| !file.is_test() && !file.path.contains("/testkit/")).collect();
    let words = [("unta", "gged"), ("deny_unknown", "_fields")];
    verdict("serde attributes that refuse what is new", lines_of(&product, &words));
}

#[test]
fn no_file_names_the_machine_it_was_written_on() {
    let words = [("/wo", "rk/"), ("/ro", "ot/"), ("../sha", "red")].map(|(a, b)| format!("{a}{b}"));
    let mut found = Vec::new();
    for file in files().iter().filter(|file| !file.is_recorded()) {
        for (number, line) in file.lines() {
            found.extend(words.iter().filter(|word| line.contains(*word)).map(|_| format!("{}:{number}", file.path)));
        }
    }
    verdict("paths of one machine", found);
}
