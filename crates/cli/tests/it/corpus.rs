//! `switchboard logs` on generated logs with known totals, and on broken logs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use switchboard_testkit::corpus;
use switchboard_testkit::corpus::agents::{claude, codex, gemini};
use switchboard_testkit::corpus::files::{CorpusWriter, ZipfVocabulary, insert_junk, junk_lines};
use switchboard_testkit::corpus::plan::TIME_ZONES;
use switchboard_testkit::corpus::{CorpusOptions, CorpusTokens};

use crate::binary::run;

/// Runs a log command and returns the objects that it prints.
#[track_caller]
fn logs(folder: &Path, args: &[&str]) -> Vec<Value> {
    let (home, data) = (folder.join("home"), folder.join("data"));
    let place = ["--home", home.to_str().unwrap(), "--data", data.to_str().unwrap(), "--json"];
    let said = run(&[&["logs"], args, &place].concat(), b"").ok();
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the rows of usage that are not zero.
fn usage(folder: &Path, by: &str, zone: &str) -> BTreeMap<String, CorpusTokens> {
    let rows = logs(folder, &["usage", "--by", by, "--timezone", zone]);
    let rows = rows.iter().map(|row| {
        let figure = |name: &str| row[name].as_u64().unwrap_or_else(|| panic!("no {name} in {row}"));
        let tokens = CorpusTokens {
            input: figure("inputTokens"),
            output: figure("outputTokens"),
            cache_read: figure("cacheReadTokens"),
            cache_write: figure("cacheWriteTokens"),
            reasoning: figure("reasoningTokens"),
            ..CorpusTokens::default()
        };
        assert_eq!(figure("totalTokens"), tokens.total_tokens(), "{row}");
        (row["key"].as_str().unwrap_or_default().to_owned(), tokens)
    });
    rows.filter(|(_, tokens)| tokens.total_tokens() > 0).collect()
}

/// Returns the known totals that rows contain.
fn told(truth: &BTreeMap<String, CorpusTokens>) -> BTreeMap<String, CorpusTokens> {
    let told = |tokens: &CorpusTokens| CorpusTokens { cache_write_1h: 0, replies: 0, ..*tokens };
    truth.iter().map(|(key, tokens)| (key.clone(), told(tokens))).collect()
}

#[test]
fn usage_is_exact_to_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let truth = corpus::write_corpus(folder.path(), &CorpusOptions::small(21)).unwrap();
    for zone in TIME_ZONES {
        assert_eq!(usage(folder.path(), "day", zone), told(&truth.days[*zone]), "{zone}");
    }
    assert_eq!(usage(folder.path(), "model", "UTC"), told(&truth.models));
    assert_eq!(usage(folder.path(), "agent", "UTC"), told(&truth.agents));
    assert_eq!(usage(folder.path(), "project", "UTC"), told(&truth.projects));
}

#[test]
fn sizes_are_of_files_and_not_of_what_shares_one() {
    let folder = tempfile::tempdir().unwrap();
    corpus::write_corpus(folder.path(), &CorpusOptions::small(3)).unwrap();
    let (mut alone, mut sharing) = (0, 0);
    for session in logs(folder.path(), &["list", "--all"]) {
        let is_shared = session["files"].as_array().unwrap().iter().any(|file| file.as_str().unwrap().ends_with(".db"));
        assert_eq!(session["bytes"].is_null(), is_shared, "{session}");
        assert!(is_shared || session["bytes"].as_u64().unwrap() > 0, "{session}");
        *(if is_shared { &mut sharing } else { &mut alone }) += 1;
    }
    assert!(alone > 0 && sharing > 0, "{alone} {sharing}");
    for home in logs(folder.path(), &["doctor"]).iter().filter(|object| object["type"] == "home") {
        assert_eq!(home["sessions"].as_u64().unwrap() > 0, home["bytes"].as_u64().unwrap() > 0, "{home}");
    }
}

fn lines(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(lines(&path));
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_doctor_tells_of_every_bad_record_and_the_rest_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut corpus = CorpusWriter::new(&folder.path().join("home"), ZipfVocabulary::new(5_000), 1).unwrap();
    claude::write_session(&mut corpus, claude::CountingCase::Repeated, 1, 60_000).unwrap();
    codex::write_session(&mut corpus, codex::CountingCase::Totals, 2, 60_000).unwrap();
    gemini::write_session(&mut corpus, gemini::CountingCase::Plain, 3, 60_000).unwrap();
    let mut expected = BTreeMap::new();
    for path in lines(&folder.path().join("home")) {
        let log = fs::read(&path).unwrap();
        let count = log.iter().filter(|byte| **byte == b'\n').count();
        let bad = junk_lines().iter().cycle().take(count).filter(|junk| junk.is_bad).count();
        fs::write(&path, insert_junk(&log)).unwrap();
        expected.insert(path.canonicalize().unwrap(), bad as u64);
    }
    assert_eq!(usage(folder.path(), "agent", "UTC"), told(&corpus.truth.agents));
    let said = logs(folder.path(), &["doctor"]);
    let troubles = said.iter().filter(|object| object["type"] == "trouble");
    let mut counted: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for trouble in troubles {
        *counted.entry(trouble["path"].as_str().unwrap().into()).or_default() += trouble["times"].as_u64().unwrap();
    }
    for (path, bad) in expected {
        let counted = counted.get(&path).copied().unwrap_or_default();
        assert!(counted >= bad, "{}: {counted} of {bad} bad records are told of", path.display());
    }
}
