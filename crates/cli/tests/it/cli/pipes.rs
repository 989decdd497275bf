//! The program between two others: it answers before its input ends, and a reader may leave.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use switchboard_testkit::recording::load_recordings;

use super::{a_source, sources};
use crate::binary::start;

/// So long a slow machine may take; what never comes has not come then.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn output_comes_before_the_input_ends() {
    for source in sources() {
        let mut child = start(&["translate", "--from", source.name, "--session", "s"]);
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, receive) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut line = String::new();
            while stdout.read_line(&mut line).unwrap() > 0 {
                drop(send.send(std::mem::take(&mut line)));
            }
        });
        stdin.write_all(b"{\"type\":\"something\"}\n").unwrap();
        let first = receive.recv_timeout(PATIENCE);
        assert!(first.is_ok_and(|line| line.starts_with('{')), "{} says nothing while it waits", source.name);
        // A line that is not JSON may have no words in the dialect, but it must not end anything either.
        stdin.write_all(b"more\n").unwrap();
        assert!(child.try_wait().unwrap().is_none(), "{} ended before its input", source.name);
        drop(stdin);
        reader.join().unwrap();
        assert!(receive.try_iter().count() > 0, "{} has no end", source.name);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn whoever_stops_it_gets_a_stream_with_an_end() {
    let recordings = load_recordings().unwrap();
    let recording = recordings.iter().find(|recording| recording.source.name == a_source()).unwrap();
    let mut child = start(&["translate", "--from", a_source(), "--session", "s"]);
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let half = recording.bytes.len() / 2;
    stdin.write_all(recording.bytes.get(..half).unwrap()).unwrap();
    let mut said = String::new();
    stdout.read_line(&mut said).unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    // Its input stays open: only the signal ends it.
    stdout.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(said.lines().last().unwrap().contains("sessionEnded"), "{said}");
    drop(stdin);
}

#[test]
fn a_reader_may_leave() {
    let recordings = load_recordings().unwrap();
    let recording = recordings.iter().find(|recording| recording.source.name == a_source()).unwrap();
    let mut child = start(&["translate", "--from", a_source(), "--session", "s"]);
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let bytes = recording.bytes.clone();
    // Much more than fits into the pipes.
    let writer = thread::spawn(move || (0..10_000).try_for_each(|_| stdin.write_all(&bytes)));
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert!(writer.join().unwrap().is_err(), "it read on although nobody listened");
    let mut complaint = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut complaint).unwrap();
    assert_eq!(complaint, "");
}
