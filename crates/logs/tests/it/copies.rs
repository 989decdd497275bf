//! Copies of raw records: a session can be read completely after its log was deleted.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
};

use switchboard_agents::ScanDepth;
use switchboard_logs::{LibraryConfig, LogLibrary, Transcript, candidate_homes};
use switchboard_testkit::corpus::agents::claude;

use crate::{
    growing::{list_jsonl_files, single_path},
    place::{EmptyHost, LibraryFixture},
};

fn library_with_copies(place: &LibraryFixture, keep: bool) -> LogLibrary {
    let homes = candidate_homes(&EmptyHost, &[place.home_dir()], None);
    let library =
        LogLibrary::open(LibraryConfig { data: place.data_dir(), homes, alone: false, keep, own: None }).unwrap();
    library.refresh_index(ScanDepth::All, &|_| {}).unwrap();
    library
}

#[test]
fn what_is_kept_is_whole_also_if_it_was_read_before_and_grew_after() {
    let (place, _) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000));
    drop(library_with_copies(&place, false));
    drop(library_with_copies(&place, true));
    let path = single_path(list_jsonl_files(&place.home_dir()));
    let line = fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
    writeln!(OpenOptions::new().append(true).open(&path).unwrap(), "{line}").unwrap();
    let library = library_with_copies(&place, false);
    let session = library.find_session("last").unwrap();
    let Transcript::Events(before) = library.read_transcript(&session).unwrap() else { panic!("no events") };
    fs::remove_file(&path).unwrap();
    let library = library_with_copies(&place, false);
    let session = library.find_session("last").unwrap();
    assert!(session.gone);
    let Transcript::Events(after) = library.read_transcript(&session).unwrap() else { panic!("no copies") };
    assert_eq!(after.len(), before.len());
}
