//! Copies of raw records: a session can be read in full when its log is gone.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
};

use switchboard_agents::Depth;
use switchboard_logs::{Library, Setup, Transcript, looked_in};
use switchboard_testkit::corpus::agents::claude;

use crate::{
    growing::{logs, only},
    place::{Nowhere, Place},
};

fn keeping(place: &Place, keep: bool) -> Library {
    let homes = looked_in(&Nowhere, &[place.home()], None);
    let library = Library::open(Setup { data: place.data(), homes, alone: false, keep, own: None }).unwrap();
    library.refresh(Depth::All, &|_| {}).unwrap();
    library
}

#[test]
fn what_is_kept_is_whole_also_if_it_was_read_before_and_grew_after() {
    let (place, _) = Place::with(|corpus| claude::session(corpus, claude::Case::Repeated, 1, 60_000));
    drop(keeping(&place, false));
    drop(keeping(&place, true));
    let path = only(logs(&place.home()));
    let line = fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
    writeln!(OpenOptions::new().append(true).open(&path).unwrap(), "{line}").unwrap();
    let library = keeping(&place, false);
    let session = library.session("last").unwrap();
    let Transcript::Events(before) = library.transcript(&session).unwrap() else { panic!("no events") };
    fs::remove_file(&path).unwrap();
    let library = keeping(&place, false);
    let session = library.session("last").unwrap();
    assert!(session.gone);
    let Transcript::Events(after) = library.transcript(&session).unwrap() else { panic!("no copies") };
    assert_eq!(after.len(), before.len());
}
