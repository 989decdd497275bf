//! What is read, however bad it is: no record is lost, and the program ends well.

use serde_json::Value;
use switchboard_dialects::DIALECTS;
use switchboard_event::Event;
use switchboard_testkit::{
    check::check_events,
    ledger::IdReuse,
    play,
    recording::{Recording, load_recordings},
    said::ExpectedRecord,
};

use super::{a_source, sources};
use crate::binary::run;

/// The one dialect that gives events back as they are.
fn verbatim() -> &'static str {
    let gives_itself = |name: &str| {
        let said = run(&["translate", "--from", a_source(), "--to", name], b"x\n").ok();
        said.lines().all(|line| Event::from_json(line).is_ok())
    };
    DIALECTS.iter().map(|dialect| dialect.name).find(|name| gives_itself(name)).unwrap()
}

/// The events that the program makes of some bytes.
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

/// One recording of each source, not too small and not too large.
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
        let events = play::stream_events(recording.source, &recording.bytes);
        for dialect in DIALECTS {
            let want = play::project_messages(&mut *(dialect.projection)(), &events);
            let args = ["translate", "--from", recording.source.name, "--to", dialect.name];
            let got = run(&args, &recording.bytes).ok();
            // Times and ids that the agent does not say are made up, so only what has them is compared.
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
