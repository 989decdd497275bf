//! `switchboard translate`: no record is lost, however malformed the input is, and output is prompt.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use switchboard_dialects::DIALECTS;
use switchboard_event::Event;
use switchboard_testkit::ledger::IdReuse;
use switchboard_testkit::recording::{self, Recording, load_recordings};
use switchboard_testkit::stream_checker::{ExpectedRecord, check_events};

use super::{a_source, sources};
use crate::binary::{run, start};

/// So long a slow machine may take; what never comes has not come then.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the dialect that contains the events unchanged.
fn verbatim() -> &'static str {
    let gives_itself = |name: &str| {
        let said = run(&["translate", "--from", a_source(), "--to", name], b"x\n").ok();
        said.lines().all(|line| Event::from_json(line).is_ok())
    };
    DIALECTS.iter().map(|dialect| dialect.name).find(|name| gives_itself(name)).unwrap()
}

/// Translates bytes with the program.
fn events(source: &str, bytes: &[u8]) -> Vec<Event> {
    let out = run(&["translate", "--from", source, "--to", verbatim()], bytes).ok();
    out.lines().map(|line| Event::from_json(line).unwrap()).collect()
}

#[test]
fn a_missing_file_is_named() {
    let complaint = run(&["translate", "--from", a_source(), "no/such/file.jsonl"], b"").fails(2);
    assert!(complaint.contains("no/such/file.jsonl"), "{complaint}");
    let folder = env!("CARGO_MANIFEST_DIR");
    let complaint = run(&["translate", "--from", a_source(), folder], b"");
    assert_eq!(complaint.code, Some(2));
    assert!(complaint.stderr.contains(folder), "{}", complaint.stderr);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_record() {
    let record = b"{\"type\":\"something\"}\n";
    let marked = [b"\xef\xbb\xbf", record.as_slice()].concat();
    for source in sources() {
        let natives =
            |bytes| events(source.name, bytes).into_iter().filter_map(|event| event.native).collect::<Vec<_>>();
        assert_eq!(format!("{:?}", natives(&marked)), format!("{:?}", natives(record)), "{}", source.name);
    }
}

#[test]
fn bad_input_is_kept_and_closed() {
    let bad: [&[u8]; 7] = [
        b"",
        b"\n \r\n\n",
        b"\0\0\n{\"a\":\"\0\"}\n",
        b"\xff\xfe\xfd\n{\"text\":\"\xc3\x28\"}\n",
        b"not json\n{\"type\":\"init\"}\n{\"torn\":\"rec",
        b"[]\n7\n\"text\"\nnull\ntrue\n{}\n",
        b"{\"a\":\"\\ud800\"}\n{\"a\":1,\"a\":2}\r\n  {\"b\" : 1}  \n",
    ];
    for source in sources() {
        for bytes in bad {
            let events = events(source.name, bytes);
            let checked = check_events(&events, bytes, IdReuse::AfterEnd);
            checked.unwrap_or_else(|broken| panic!("{} {:?}: {broken}", source.name, String::from_utf8_lossy(bytes)));
        }
    }
}

#[test]
fn a_line_of_20_megabytes_passes() {
    for dialect in DIALECTS {
        let line = format!("{{\"type\":\"message\",\"text\":\"{}\"}}\n", "long ".repeat(4_000_000));
        let out = run(&["translate", "--from", a_source(), "--to", dialect.name], line.as_bytes()).ok();
        assert!(out.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "{}", dialect.name);
    }
    let long = [vec![b'x'; 20_000_000], b"\nafter\n".to_vec()].concat();
    let kept = events(a_source(), &long);
    let kept: Vec<_> =
        kept.iter().filter_map(|event| Some(ExpectedRecord::from(event.native.as_ref()?).bytes.len())).collect();
    assert_eq!(kept, [20_000_000, 5]);
}

#[test]
fn the_session_can_be_named() {
    for source in sources() {
        let args = ["translate", "--from", source.name, "--to", verbatim(), "--session", "my-session"];
        let out = run(&args, b"{\"type\":\"x\",\"session_id\":\"its-own\"}\n").ok();
        let sessions: Vec<_> = out.lines().map(|line| Event::from_json(line).unwrap().session).collect();
        assert!(!sessions.is_empty() && sessions.iter().all(|session| *session == *"my-session"), "{sessions:?}");
    }
}

/// Returns one recording of each source, of medium size.
fn one_each() -> Vec<Recording> {
    let mut all = load_recordings().unwrap();
    all.sort_by_key(|recording| (recording.source.name, recording.bytes.len()));
    let pick = |name| {
        let mine: Vec<_> = all.iter().filter(|recording| recording.source.name == name).collect();
        mine.get(mine.len() / 2).map(|recording| (*recording).clone())
    };
    sources().filter_map(|source| pick(source.name)).collect()
}

#[test]
fn the_program_says_what_the_library_says() {
    for recording in one_each() {
        let events = recording::stream_events(recording.source, &recording.bytes);
        for dialect in DIALECTS {
            let want = recording::project_messages(&mut *(dialect.projection)(), &events);
            let args = ["translate", "--from", recording.source.name, "--to", dialect.name];
            let got = run(&args, &recording.bytes).ok();
            // Times and IDs may be generated, so only records are compared.
            assert_eq!(got.lines().count(), want.len(), "{recording} to {}", dialect.name);
            assert!(got.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{recording}");
        }
    }
}

#[test]
fn a_file_is_read_like_standard_input() {
    for recording in one_each() {
        let (file, bytes) = (recording.path.display().to_string(), &recording.bytes);
        let args = ["translate", "--from", recording.source.name, "--session", "s"];
        let count = |extra: &[&str], input: &[u8]| run(&[&args, extra].concat(), input).ok().lines().count();
        let from_file = count(&[&file], b"");
        assert!(from_file > 0 && from_file == count(&["-"], bytes) && from_file == count(&[], bytes), "{recording}");
    }
}

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
        // A line that is not JSON must not end the stream.
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
    // The input stays open: only the signal ends the program.
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
    // Much more than the pipes can hold.
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
