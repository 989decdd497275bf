//! Logs that grow, shrink, move, are compressed or deleted, also while they are read: the index equals a new one, and
//! keeps what it has read.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{FileType, Mode};
use switchboard_testkit::corpus::CorpusOptions;
use switchboard_testkit::corpus::agents::{claude, codex, gemini};
use switchboard_testkit::random::SeededRng;

use crate::fixture::{LibraryFixture, hit_positions, refresh_all, take_snapshot};

/// Returns all files below a directory.
fn list_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(list_files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Returns the JSONL files below a directory.
pub fn list_jsonl_files(folder: &Path) -> Vec<PathBuf> {
    list_files(folder).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

pub fn single_path(mut paths: Vec<PathBuf>) -> PathBuf {
    assert_eq!(paths.len(), 1, "{paths:?}");
    paths.remove(0)
}

#[test]
fn however_logs_grow_the_index_is_that_of_the_whole() {
    let (whole, _) = LibraryFixture::with_corpus(&CorpusOptions::small(7));
    let (grown, mut dice) = (LibraryFixture::new(), SeededRng::new(7));
    let files = list_files(&whole.home_dir());
    for step in 1..=4_usize {
        for path in &files {
            let (bytes, name) = (fs::read(path).unwrap(), path.strip_prefix(whole.home_dir()).unwrap());
            let part = bytes.len() * step / 4 - if step < 4 { dice.next_below(bytes.len() / 5 + 1) } else { 0 };
            // Only files of lines are ever seen incomplete; everything else is written at once.
            let is_lines = path.extension().is_some_and(|ending| ending == "jsonl");
            grown.write_file(name.to_str().unwrap(), if is_lines { &bytes[..part] } else { &bytes });
        }
        grown.refreshed_library();
    }
    assert_eq!(take_snapshot(&grown.open_library()), whole.fresh_snapshot());
}

#[test]
fn an_appended_line_costs_a_line() {
    let (place, _) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 200_000));
    let path = single_path(list_jsonl_files(&place.home_dir()));
    let all = fs::read(&path).unwrap();
    let last = memchr::memrchr(b'\n', &all[..all.len() - 1]).unwrap() + 1;
    fs::write(&path, &all[..last]).unwrap();
    let (library, _) = place.refreshed_library();
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .map(|mut file| std::io::Write::write_all(&mut file, &all[last..]))
        .unwrap()
        .unwrap();
    let report = refresh_all(&library);
    assert_eq!((report.read, report.bytes), (1, (all.len() - last) as u64));
    assert_eq!(take_snapshot(&library), place.fresh_snapshot());
}

#[test]
fn a_log_of_many_blocks_can_grow_by_a_part_of_one() {
    let line = |number: usize, text: &str| {
        let time = format!("2026-01-01T{:02}:{:02}:00Z", number / 60 % 24, number % 60);
        format!(
            r#"{{"type":"user","uuid":"u{number}","sessionId":"s","timestamp":"{time}","message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    };
    let filler = "some words to fill it with, ".repeat(300);
    let lines: Vec<_> = (1..=150).map(|number| line(number, &format!("marked w{number} {filler}"))).collect();
    let place = LibraryFixture::new();
    // 1.2 MB of text are nine blocks; steps are both smaller and larger than half a block.
    for upto in [1, 2, 10, 11, 19, 60, 61, 149, 150] {
        place.write_file(".claude/projects/p/s.jsonl", lines[..upto].concat().as_bytes());
        let (library, _) = place.refreshed_library();
        let begins = lines.iter().scan(0, |at, line| {
            let begin = *at;
            *at += line.len() as u64;
            Some(begin)
        });
        let all: Vec<_> = begins.zip(1..).take(upto).collect();
        assert_eq!(hit_positions(&library, "marked"), all, "{upto} lines");
        for number in [1, upto / 2, upto].into_iter().filter(|number| *number > 0) {
            assert_eq!(hit_positions(&library, &format!("w{number}")), [all[number - 1]], "{upto} lines");
        }
    }
}

#[test]
fn a_log_that_shrank_or_was_replaced_is_read_anew() {
    let (place, _) = LibraryFixture::with_logs(|corpus| {
        claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000)?;
        claude::write_session(corpus, claude::CountingCase::Repeated, 2, 60_000)
    });
    let (library, _) = place.refreshed_library();
    let paths = list_jsonl_files(&place.home_dir());
    let half = fs::read(&paths[0]).unwrap();
    fs::write(&paths[0], &half[..half.len() / 2]).unwrap();
    refresh_all(&library);
    assert_eq!(take_snapshot(&library), place.fresh_snapshot(), "shrunk");
    // Longer than before, with different content.
    let other = [fs::read(&paths[1]).unwrap(), half].concat();
    fs::write(&paths[0], other).unwrap();
    refresh_all(&library);
    assert_eq!(take_snapshot(&library), place.fresh_snapshot(), "replaced");
}

#[test]
fn what_was_indexed_stays_when_the_logs_are_gone() {
    let (place, _) = LibraryFixture::with_corpus(&CorpusOptions::small(8));
    let (library, _) = place.refreshed_library();
    let before = take_snapshot(&library);
    fs::remove_dir_all(place.home_dir()).unwrap();
    fs::create_dir(place.home_dir()).unwrap();
    let report = refresh_all(&library);
    assert!(report.gone > 0 && report.read == 0, "{report:?}");
    assert_eq!(take_snapshot(&library), before);
    drop(library);
    assert_eq!(take_snapshot(&place.open_library()), before);
}

#[test]
fn what_was_indexed_stays_when_a_log_cannot_be_read_any_more() {
    let (place, _) = LibraryFixture::with_logs(|corpus| {
        codex::write_session(corpus, codex::CountingCase::Compressed, 1, 60_000)?;
        gemini::write_session(corpus, gemini::CountingCase::Document, 2, 60_000)
    });
    let (library, _) = place.refreshed_library();
    let before = take_snapshot(&library);
    let ends = |path: &PathBuf| [".zst", ".json"].iter().any(|end| path.to_string_lossy().ends_with(end));
    let logs: Vec<_> =
        list_files(&place.home_dir()).into_iter().filter(ends).map(|path| (fs::read(&path).unwrap(), path)).collect();
    assert_eq!(logs.len(), 2);
    for (bytes, path) in &logs {
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }
    for round in 1..=2 {
        assert_eq!(refresh_all(&library).troubles, 2, "round {round}");
        assert_eq!(take_snapshot(&library), before, "round {round}");
    }
    for (bytes, path) in &logs {
        fs::write(path, bytes).unwrap();
    }
    assert_eq!(refresh_all(&library).troubles, 0);
    assert_eq!(take_snapshot(&library), place.fresh_snapshot());
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let (place, _) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000));
    let before = place.fresh_snapshot();
    let path = single_path(list_jsonl_files(&place.home_dir()));
    let pipe =
        |path: &Path| rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    pipe(&path.with_file_name("pipe.jsonl"));
    let tree = place.write_file(".local/share/opencode/storage/session/p/ses_1.json", b"{\"id\":\"ses_1\"}");
    let messages = tree.ancestors().nth(3).unwrap().join("message/ses_1");
    fs::create_dir_all(&messages).unwrap();
    pipe(&messages.join("msg_1.json"));
    let (library, report) = place.refreshed_library();
    assert_eq!((take_snapshot(&library).all, report.troubles), (before.all, 1));
}

#[test]
fn a_log_that_moves_is_the_same_log() {
    let (place, _) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000));
    let (library, _) = place.refreshed_library();
    let before = take_snapshot(&library);
    let path = single_path(list_jsonl_files(&place.home_dir()));
    let folder = place.home_dir().join(".claude/projects/-elsewhere");
    fs::create_dir_all(&folder).unwrap();
    fs::rename(&path, folder.join(path.file_name().unwrap())).unwrap();
    let report = refresh_all(&library);
    assert_eq!((report.bytes, take_snapshot(&library)), (0, before));
}

#[test]
fn a_log_that_is_compressed_or_put_away_is_the_same_log() {
    let (place, _) =
        LibraryFixture::with_logs(|corpus| codex::write_session(corpus, codex::CountingCase::Totals, 1, 60_000));
    let (library, _) = place.refreshed_library();
    let before = take_snapshot(&library);
    let path = single_path(list_jsonl_files(&place.home_dir()));
    let name = path.file_name().unwrap().to_str().unwrap();
    let bytes = fs::read(&path).unwrap();
    // Both exist for a moment.
    fs::write(path.with_file_name(format!("{name}.zst")), zstd::encode_all(bytes.as_slice(), 3).unwrap()).unwrap();
    refresh_all(&library);
    assert_eq!(take_snapshot(&library), before, "both");
    fs::remove_file(&path).unwrap();
    refresh_all(&library);
    assert_eq!(take_snapshot(&library), before, "compressed");
    place.write_file(&format!(".codex/archived_sessions/{name}"), &bytes);
    fs::remove_file(path.with_file_name(format!("{name}.zst"))).unwrap();
    refresh_all(&library);
    assert_eq!(take_snapshot(&library), before, "put away");
}

#[test]
fn logs_that_change_while_they_are_read_harm_nothing() {
    let (whole, _) = LibraryFixture::with_corpus(&CorpusOptions::small(9));
    let (place, files) = (LibraryFixture::new(), list_files(&whole.home_dir()));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let write = || {
            let mut dice = SeededRng::new(9);
            for round in 0..4 {
                for path in &files {
                    let (bytes, name) = (fs::read(path).unwrap(), path.strip_prefix(whole.home_dir()).unwrap());
                    let written = place.write_file(name.to_str().unwrap(), &bytes[..dice.next_below(bytes.len() + 1)]);
                    match dice.next_below(4) {
                        0 => fs::remove_file(written).unwrap(),
                        1 => fs::rename(&written, written.with_extension("old.jsonl")).unwrap(),
                        _ => {}
                    }
                }
                assert!(round < 4);
            }
            done.store(true, Ordering::Relaxed);
        };
        scope.spawn(write);
        while !done.load(Ordering::Relaxed) {
            place.refreshed_library();
        }
    });
    // All files are restored; temporary content does no harm.
    fs::remove_dir_all(place.home_dir()).unwrap();
    for path in &files {
        place.write_file(path.strip_prefix(whole.home_dir()).unwrap().to_str().unwrap(), &fs::read(path).unwrap());
    }
    assert_eq!(take_snapshot(&place.refreshed_library().0).all, whole.fresh_snapshot().all);
    crate::crash::check_integrity(&place.data_dir());
}
