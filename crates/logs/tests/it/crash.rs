//! Several processes at once, and the sudden end of one: the index is never harmed, and goes on where it was left.

use std::path::Path;

use switchboard_agents::Depth;
use switchboard_testkit::{corpus::Wanted, dice::Dice};

use crate::{
    child::{Actor, role, say},
    place::{Place, library, refresh, said},
};

/// The index as SQLite sees it.
pub fn check_sound(data: &Path) {
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "db") {
            let index = rusqlite::Connection::open(&path).unwrap();
            let sound: String = index.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(sound, "ok", "{}", path.display());
        }
    }
}

/// Brings an index up to date, and tells of every step.
fn scan(folder: &Path) {
    say("begins");
    let library = library(&folder.join("home"), &folder.join("data"));
    say("is open");
    library.refresh(Depth::All, &|progress| say(&format!("{} files", progress.files))).unwrap();
    say("is done");
}

#[test]
fn a_killed_scan_harms_nothing_and_is_gone_on_with() {
    if let Some((_, folder)) = role() {
        return scan(&folder);
    }
    for seed in 10..12 {
        let (place, _) = Place::with_corpus(&Wanted::small(seed));
        let fresh = place.afresh();
        let mut dice = Dice::new(seed);
        for round in 0..12 {
            let mut child =
                Actor::start("crash::a_killed_scan_harms_nothing_and_is_gone_on_with", "scan", place.folder());
            // At the beginning, before anything is there; later at any step.
            let steps = if round < 3 { 1 + round } else { 1 + dice.below(14) };
            (0..steps).for_each(|_| drop(child.hear()));
            // And not always at the same place within a step.
            std::hint::black_box((0..dice.below(2_000_000)).map(std::hint::black_box).sum::<usize>());
            child.kill();
            drop(child);
            if round % 4 == 3 {
                check_sound(&place.data());
            }
        }
        let library = place.library();
        refresh(&library);
        assert_eq!(said(&library), fresh);
        drop(library);
        check_sound(&place.data());
    }
}

#[test]
fn two_scans_at_once_are_as_good_as_one() {
    if let Some((_, folder)) = role() {
        return scan(&folder);
    }
    let (place, _) = Place::with_corpus(&Wanted::small(12));
    let start = || Actor::start("crash::two_scans_at_once_are_as_good_as_one", "scan", place.folder());
    for mut child in [start(), start(), start()] {
        let said: Vec<String> = std::iter::from_fn(|| child.hear()).collect();
        assert_eq!(said.last().map(String::as_str), Some("is done"));
    }
    let library = place.library();
    let report = refresh(&library);
    assert_eq!(report.read, 0, "nothing is left to do: {report:?}");
    assert_eq!(said(&library), place.afresh());
    check_sound(&place.data());
}
