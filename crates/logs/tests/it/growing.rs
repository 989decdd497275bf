//! Logs that grow, shrink, move, are compressed and go away, also while they are read: the index says what a new one
//! would say, and what it has seen it keeps.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{FileType, Mode};
use switchboard_testkit::{
    corpus::{
        Wanted,
        agents::{claude, codex, gemini},
    },
    dice::Dice,
};

use crate::place::{Place, places, refresh, said};

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The files of lines below a folder.
pub fn logs(folder: &Path) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

pub fn only(mut paths: Vec<PathBuf>) -> PathBuf {
    assert_eq!(paths.len(), 1, "{paths:?}");
    paths.remove(0)
}

#[test]
fn however_logs_grow_the_index_is_that_of_the_whole() {
    let (whole, _) = Place::with_corpus(&Wanted::small(7));
    let (grown, mut dice) = (Place::new(), Dice::new(7));
    let files = files(&whole.home());
    for step in 1..=4_usize {
        for path in &files {
            let (bytes, name) = (fs::read(path).unwrap(), path.strip_prefix(whole.home()).unwrap());
            let part = bytes.len() * step / 4 - if step < 4 { dice.below(bytes.len() / 5 + 1) } else { 0 };
            // Only lines are ever seen half; anything else is written whole.
            let is_lines = path.extension().is_some_and(|ending| ending == "jsonl");
            grown.file(name.to_str().unwrap(), if is_lines { &bytes[..part] } else { &bytes });
        }
        grown.current();
    }
    assert_eq!(said(&grown.library()), whole.afresh());
}

#[test]
fn an_appended_line_costs_a_line() {
    let (place, _) = Place::with(|corpus| claude::session(corpus, claude::Case::Repeated, 1, 200_000));
    let path = only(logs(&place.home()));
    let all = fs::read(&path).unwrap();
    let last = memchr::memrchr(b'\n', &all[..all.len() - 1]).unwrap() + 1;
    fs::write(&path, &all[..last]).unwrap();
    let (library, _) = place.current();
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .map(|mut file| std::io::Write::write_all(&mut file, &all[last..]))
        .unwrap()
        .unwrap();
    let report = refresh(&library);
    assert_eq!((report.read, report.bytes), (1, (all.len() - last) as u64));
    assert_eq!(said(&library), place.afresh());
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
    let place = Place::new();
    // 1.2 MB of text are nine blocks; a step is less than half of one, or more.
    for upto in [1, 2, 10, 11, 19, 60, 61, 149, 150] {
        place.file(".claude/projects/p/s.jsonl", lines[..upto].concat().as_bytes());
        let (library, _) = place.current();
        let begins = lines.iter().scan(0, |at, line| {
            let begin = *at;
            *at += line.len() as u64;
            Some(begin)
        });
        let all: Vec<_> = begins.zip(1..).take(upto).collect();
        assert_eq!(places(&library, "marked"), all, "{upto} lines");
        for number in [1, upto / 2, upto].into_iter().filter(|number| *number > 0) {
            assert_eq!(places(&library, &format!("w{number}")), [all[number - 1]], "{upto} lines");
        }
    }
}

#[test]
fn a_log_that_shrank_or_was_replaced_is_read_anew() {
    let (place, _) = Place::with(|corpus| {
        claude::session(corpus, claude::Case::Repeated, 1, 60_000)?;
        claude::session(corpus, claude::Case::Repeated, 2, 60_000)
    });
    let (library, _) = place.current();
    let paths = logs(&place.home());
    let half = fs::read(&paths[0]).unwrap();
    fs::write(&paths[0], &half[..half.len() / 2]).unwrap();
    refresh(&library);
    assert_eq!(said(&library), place.afresh(), "shrunk");
    // Longer than what was there, and something else.
    let other = [fs::read(&paths[1]).unwrap(), half].concat();
    fs::write(&paths[0], other).unwrap();
    refresh(&library);
    assert_eq!(said(&library), place.afresh(), "replaced");
}

#[test]
fn what_was_indexed_stays_when_the_logs_are_gone() {
    let (place, _) = Place::with_corpus(&Wanted::small(8));
    let (library, _) = place.current();
    let before = said(&library);
    fs::remove_dir_all(place.home()).unwrap();
    fs::create_dir(place.home()).unwrap();
    let report = refresh(&library);
    assert!(report.gone > 0 && report.read == 0, "{report:?}");
    assert_eq!(said(&library), before);
    drop(library);
    assert_eq!(said(&place.library()), before);
}

#[test]
fn what_was_indexed_stays_when_a_log_cannot_be_read_any_more() {
    let (place, _) = Place::with(|corpus| {
        codex::session(corpus, codex::Case::Compressed, 1, 60_000)?;
        gemini::session(corpus, gemini::Case::Document, 2, 60_000)
    });
    let (library, _) = place.current();
    let before = said(&library);
    let ends = |path: &PathBuf| [".zst", ".json"].iter().any(|end| path.to_string_lossy().ends_with(end));
    let logs: Vec<_> =
        files(&place.home()).into_iter().filter(ends).map(|path| (fs::read(&path).unwrap(), path)).collect();
    assert_eq!(logs.len(), 2);
    for (bytes, path) in &logs {
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }
    for round in 1..=2 {
        assert_eq!(refresh(&library).troubles, 2, "round {round}");
        assert_eq!(said(&library), before, "round {round}");
    }
    for (bytes, path) in &logs {
        fs::write(path, bytes).unwrap();
    }
    assert_eq!(refresh(&library).troubles, 0);
    assert_eq!(said(&library), place.afresh());
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let (place, _) = Place::with(|corpus| claude::session(corpus, claude::Case::Repeated, 1, 60_000));
    let before = place.afresh();
    let path = only(logs(&place.home()));
    let pipe =
        |path: &Path| rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    pipe(&path.with_file_name("pipe.jsonl"));
    let tree = place.file(".local/share/opencode/storage/session/p/ses_1.json", b"{\"id\":\"ses_1\"}");
    let messages = tree.ancestors().nth(3).unwrap().join("message/ses_1");
    fs::create_dir_all(&messages).unwrap();
    pipe(&messages.join("msg_1.json"));
    let (library, report) = place.current();
    assert_eq!((said(&library).all, report.troubles), (before.all, 1));
}

#[test]
fn a_log_that_moves_is_the_same_log() {
    let (place, _) = Place::with(|corpus| claude::session(corpus, claude::Case::Repeated, 1, 60_000));
    let (library, _) = place.current();
    let before = said(&library);
    let path = only(logs(&place.home()));
    let folder = place.home().join(".claude/projects/-elsewhere");
    fs::create_dir_all(&folder).unwrap();
    fs::rename(&path, folder.join(path.file_name().unwrap())).unwrap();
    let report = refresh(&library);
    assert_eq!((report.bytes, said(&library)), (0, before));
}

#[test]
fn a_log_that_is_compressed_or_put_away_is_the_same_log() {
    let (place, _) = Place::with(|corpus| codex::session(corpus, codex::Case::Totals, 1, 60_000));
    let (library, _) = place.current();
    let before = said(&library);
    let path = only(logs(&place.home()));
    let name = path.file_name().unwrap().to_str().unwrap();
    let bytes = fs::read(&path).unwrap();
    // For a moment both are there.
    fs::write(path.with_file_name(format!("{name}.zst")), zstd::encode_all(bytes.as_slice(), 3).unwrap()).unwrap();
    refresh(&library);
    assert_eq!(said(&library), before, "both");
    fs::remove_file(&path).unwrap();
    refresh(&library);
    assert_eq!(said(&library), before, "compressed");
    place.file(&format!(".codex/archived_sessions/{name}"), &bytes);
    fs::remove_file(path.with_file_name(format!("{name}.zst"))).unwrap();
    refresh(&library);
    assert_eq!(said(&library), before, "put away");
}

#[test]
fn logs_that_change_while_they_are_read_harm_nothing() {
    let (whole, _) = Place::with_corpus(&Wanted::small(9));
    let (place, files) = (Place::new(), files(&whole.home()));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let write = || {
            let mut dice = Dice::new(9);
            for round in 0..4 {
                for path in &files {
                    let (bytes, name) = (fs::read(path).unwrap(), path.strip_prefix(whole.home()).unwrap());
                    let written = place.file(name.to_str().unwrap(), &bytes[..dice.below(bytes.len() + 1)]);
                    match dice.below(4) {
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
            place.current();
        }
    });
    // Everything is put right, and what was only there for a moment is no harm to what is there.
    fs::remove_dir_all(place.home()).unwrap();
    for path in &files {
        place.file(path.strip_prefix(whole.home()).unwrap().to_str().unwrap(), &fs::read(path).unwrap());
    }
    assert_eq!(said(&place.current().0).all, whole.afresh().all);
    crate::crash::check_sound(&place.data());
}
