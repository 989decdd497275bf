//! Concurrent and killed processes: the index stays intact, and the next scan continues.

use std::path::Path;

use switchboard_agents::ScanDepth;
use switchboard_testkit::{corpus::CorpusOptions, dice::SeededRng};

use crate::{
    child::{ChildTest, child_role, report_line},
    place::{LibraryFixture, open_library, refresh_all, take_snapshot},
};

/// Runs SQLite's integrity check on the index.
pub fn check_integrity(data: &Path) {
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "db") {
            let index = rusqlite::Connection::open(&path).unwrap();
            let sound: String = index.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(sound, "ok", "{}", path.display());
        }
    }
}

/// Brings the index up to date, and reports every step.
fn scan_and_report(folder: &Path) {
    report_line("begins");
    let library = open_library(&folder.join("home"), &folder.join("data"));
    report_line("is open");
    library.refresh_index(ScanDepth::All, &|progress| report_line(&format!("{} files", progress.files))).unwrap();
    report_line("is done");
}

#[test]
fn a_killed_scan_harms_nothing_and_is_gone_on_with() {
    if let Some((_, folder)) = child_role() {
        return scan_and_report(&folder);
    }
    for seed in 10..12 {
        let (place, _) = LibraryFixture::with_corpus(&CorpusOptions::small(seed));
        let fresh = place.fresh_snapshot();
        let mut dice = SeededRng::new(seed);
        for round in 0..12 {
            let mut child =
                ChildTest::start("crash::a_killed_scan_harms_nothing_and_is_gone_on_with", "scan", place.root_dir());
            // First at the beginning, before anything exists; later at any step.
            let steps = if round < 3 { 1 + round } else { 1 + dice.next_below(14) };
            (0..steps).for_each(|_| drop(child.next_line()));
            // At varying points within a step.
            std::hint::black_box((0..dice.next_below(2_000_000)).map(std::hint::black_box).sum::<usize>());
            child.kill();
            drop(child);
            if round % 4 == 3 {
                check_integrity(&place.data_dir());
            }
        }
        let library = place.open_library();
        refresh_all(&library);
        assert_eq!(take_snapshot(&library), fresh);
        drop(library);
        check_integrity(&place.data_dir());
    }
}

#[test]
fn two_scans_at_once_are_as_good_as_one() {
    if let Some((_, folder)) = child_role() {
        return scan_and_report(&folder);
    }
    let (place, _) = LibraryFixture::with_corpus(&CorpusOptions::small(12));
    let start = || ChildTest::start("crash::two_scans_at_once_are_as_good_as_one", "scan", place.root_dir());
    for mut child in [start(), start(), start()] {
        let said: Vec<String> = std::iter::from_fn(|| child.next_line()).collect();
        assert_eq!(said.last().map(String::as_str), Some("is done"));
    }
    let library = place.open_library();
    let report = refresh_all(&library);
    assert_eq!(report.read, 0, "nothing is left to do: {report:?}");
    assert_eq!(take_snapshot(&library), place.fresh_snapshot());
    check_integrity(&place.data_dir());
}
