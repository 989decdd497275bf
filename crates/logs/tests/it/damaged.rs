//! Damaged indexes, and file permissions of the index.

use std::{fs, os::unix::fs::PermissionsExt as _};

use switchboard_logs::{LibraryConfig, LogLibrary};
use switchboard_testkit::corpus::agents::claude;

use crate::place::{LibraryFixture, refresh_all, take_snapshot};

fn open_without_homes(place: &LibraryFixture) -> Result<LogLibrary, switchboard_logs::LogsError> {
    LogLibrary::open(LibraryConfig { data: place.data_dir(), homes: Vec::new(), alone: false, keep: false, own: None })
}

#[test]
fn a_damaged_index_is_named_put_aside_and_made_anew() {
    let (place, truth) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000));
    drop(place.refreshed_library());
    assert!(LogLibrary::set_aside_damaged(&place.data_dir()).unwrap().is_none(), "a whole one stays");
    let path = place.data_dir().join("logs.db");
    let whole = fs::read(&path).unwrap();
    let cut = whole.get(..whole.len() / 2).unwrap();
    for (number, damaged) in [b"no index at all".repeat(1000).as_slice(), cut].into_iter().enumerate() {
        fs::write(&path, damaged).unwrap();
        if number == 0 {
            let error = open_without_homes(&place).err().unwrap().to_string();
            assert!(error.contains("scan --rebuild"), "{error}");
        }
        let aside = LogLibrary::set_aside_damaged(&place.data_dir()).unwrap().unwrap();
        assert_eq!(fs::read(aside).unwrap(), damaged);
        assert_eq!(place.fresh_snapshot().all, truth.all);
    }
}

#[test]
fn text_that_is_damaged_is_told_of_and_read_anew() {
    let (place, _) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000));
    let (library, _) = place.refreshed_library();
    assert_eq!(library.check_health().unwrap().problem, None);
    let index = rusqlite::Connection::open(place.data_dir().join("logs.db")).unwrap();
    index.execute("UPDATE text SET passages = zeroblob(length(passages))", []).unwrap();
    let problem = library.check_health().unwrap().problem.unwrap();
    assert!(problem.contains("blocks of text"), "{problem}");
    library.schedule_rebuild().unwrap();
    refresh_all(&library);
    assert_eq!(library.check_health().unwrap().problem, None);
    assert_eq!(take_snapshot(&library), place.fresh_snapshot());
}

#[test]
fn what_was_said_is_for_this_user_alone() {
    let place = LibraryFixture::new();
    fs::create_dir_all(place.data_dir()).unwrap();
    fs::write(place.data_dir().join("logs.db"), "").unwrap();
    fs::set_permissions(place.data_dir().join("logs.db"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(open_without_homes(&place).unwrap());
    for entry in fs::read_dir(place.data_dir()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
}
