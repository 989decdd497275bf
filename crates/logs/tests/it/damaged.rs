//! An index that is none any longer, and who may read one.

use std::{fs, os::unix::fs::PermissionsExt as _};

use switchboard_logs::{Library, Setup};
use switchboard_testkit::corpus::agents::claude;

use crate::place::{Place, refresh, said};

fn open(place: &Place) -> Result<Library, switchboard_logs::LogsError> {
    Library::open(Setup { data: place.data(), homes: Vec::new(), alone: false, keep: false, own: None })
}

#[test]
fn a_damaged_index_is_named_put_aside_and_made_anew() {
    let (place, truth) = Place::with(|corpus| claude::session(corpus, claude::Case::Repeated, 1, 60_000));
    drop(place.current());
    assert!(Library::put_aside(&place.data()).unwrap().is_none(), "a whole one stays");
    let path = place.data().join("logs.db");
    let whole = fs::read(&path).unwrap();
    let cut = whole.get(..whole.len() / 2).unwrap();
    for (number, damaged) in [b"no index at all".repeat(1000).as_slice(), cut].into_iter().enumerate() {
        fs::write(&path, damaged).unwrap();
        if number == 0 {
            let error = open(&place).err().unwrap().to_string();
            assert!(error.contains("scan --rebuild"), "{error}");
        }
        let aside = Library::put_aside(&place.data()).unwrap().unwrap();
        assert_eq!(fs::read(aside).unwrap(), damaged);
        assert_eq!(place.afresh().all, truth.all);
    }
}

#[test]
fn text_that_is_damaged_is_told_of_and_read_anew() {
    let (place, _) = Place::with(|corpus| claude::session(corpus, claude::Case::Repeated, 1, 60_000));
    let (library, _) = place.current();
    assert_eq!(library.health().unwrap().problem, None);
    let index = rusqlite::Connection::open(place.data().join("logs.db")).unwrap();
    index.execute("UPDATE text SET passages = zeroblob(length(passages))", []).unwrap();
    let problem = library.health().unwrap().problem.unwrap();
    assert!(problem.contains("blocks of text"), "{problem}");
    library.rebuild().unwrap();
    refresh(&library);
    assert_eq!(library.health().unwrap().problem, None);
    assert_eq!(said(&library), place.afresh());
}

#[test]
fn what_was_said_is_for_this_user_alone() {
    let place = Place::new();
    fs::create_dir_all(place.data()).unwrap();
    fs::write(place.data().join("logs.db"), "").unwrap();
    fs::set_permissions(place.data().join("logs.db"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(&place).unwrap());
    for entry in fs::read_dir(place.data()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
}
