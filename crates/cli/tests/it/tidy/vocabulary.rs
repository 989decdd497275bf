//! Names and words: a reader who knows Rust but not this project understands them at first sight.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::{SourceFile, files};
use crate::verdict;

/// The number of places in which a type name may be defined. More are only found after reading the paths.
const MAX_DEFINITIONS: usize = 2;

/// Names that several protocols have, each with its own messages, and `CountingCase`, which a macro expects of every agent.
const PARALLEL_TYPES: &[&str] =
    &["Content", "CountingCase", "Failure", "ImageData", "Model", "SessionState", "Usage", "UserInput", "UserMessage"];

/// Participles, pronouns and adverbs: they name no thing.
const BANNED_TYPE_NAMES: &[&str] = &[
    "Asked", "Done", "Found", "Given", "Gone", "Heard", "Here", "Kept", "Look", "Made", "Nowhere", "Ours", "Place",
    "Said", "Seen", "Shown", "Standing", "Taken", "Theirs", "There", "Told", "Went", "Wanted",
];

const BANNED_FILE_NAMES: &[&str] = &[
    "armour", "asides", "asked", "begun", "by", "cut", "desk", "ears", "found", "given", "gone", "greeting", "guest",
    "heard", "here", "inside", "kept", "kin", "looks", "made", "nowhere", "one", "ours", "paper", "past", "patience",
    "pen", "pile", "place", "road", "said", "same", "seen", "served", "sheet", "shelf", "skimmed", "there", "told",
    "troubles", "wall",
];

/// Words that established technical English has others for, each in two halves so that this file does not match.
const BANNED_WORDS: &[(&str, &str)] = &[("no", "body"), ("some", "body"), ("who", "ever"), ("be", "side")];

fn rust_files() -> Vec<SourceFile> {
    files().into_iter().filter(SourceFile::is_rust).collect()
}

#[test]
fn type_names_are_unambiguous() {
    let definition = Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) ([A-Z]\w*)").unwrap();
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for file in rust_files() {
        for name in definition.captures_iter(&file.text) {
            places.entry(name[1].to_owned()).or_default().push(file.path.clone());
        }
    }
    let is_shared = |(name, places): &(String, Vec<String>)| {
        places.len() > MAX_DEFINITIONS && !PARALLEL_TYPES.contains(&name.as_str())
    };
    let shared = places.clone().into_iter().filter(is_shared);
    verdict("type names with several meanings", shared.map(|(name, places)| format!("{name}: {}", places.join(", "))));
    let banned = places.into_iter().filter(|(name, _)| BANNED_TYPE_NAMES.contains(&name.as_str()));
    verdict(
        "types that are not named by a noun",
        banned.map(|(name, places)| format!("{name}: {}", places.join(", "))),
    );
}

#[test]
fn files_are_named_after_their_content() {
    let parts = |file: &SourceFile| {
        let path = file.path.trim_end_matches(".rs").to_owned();
        path.split('/').map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let banned =
        rust_files().into_iter().filter(|file| BANNED_FILE_NAMES.iter().any(|name| parts(file).contains(*name)));
    verdict("files whose names say nothing", banned.map(|file| file.path));
}

#[test]
fn comments_are_in_established_english() {
    let words: Vec<_> = BANNED_WORDS.iter().map(|(a, b)| Regex::new(&format!(r"(?i)\b{a}{b}\b")).unwrap()).collect();
    let mut found = Vec::new();
    for file in rust_files() {
        for (number, line) in file.lines() {
            let Some((_, comment)) = line.split_once("// ").or_else(|| line.split_once("/// ")) else { continue };
            // Words in backticks are names, such as that of a user.
            let comment: String = comment.split('`').step_by(2).collect();
            found
                .extend(words.iter().filter(|word| word.is_match(&comment)).map(|_| format!("{}:{number}", file.path)));
        }
    }
    verdict("words in comments", found);
}
