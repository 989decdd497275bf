//! A damaged index and a damaged log: the damage is reported, and everything else is still shown.

use std::{fs, path::Path};

use serde_json::Value;

use super::{TestMachine, two};
use crate::binary::run;

/// Ways to damage the file.
const DAMAGES: [fn(&Path); 3] = [
    |path| fs::write(path, b"\x93\x02no index at all".repeat(4000)).unwrap(),
    |path| overwrite(path, 1),
    |path| overwrite(path, 2),
];

/// Overwrites all pages from this one on.
fn overwrite(path: &Path, from: usize) {
    let mut bytes = fs::read(path).unwrap();
    let begin = (from * 32768).min(bytes.len() - 32768);
    bytes[begin..].fill(0xa5);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_index_does_not_hide_the_rest() {
    for (number, damage) in DAMAGES.iter().enumerate() {
        let machine = TestMachine::with(&two());
        machine.logs(&["scan"]).ok();
        damage(&machine.out("data/logs.db"));
        let ran = machine.logs(&["doctor"]);
        assert_eq!(ran.code, Some(1), "{number}: {}{}", ran.stdout, ran.stderr);
        for part in ["· 2 sessions · ", " damaged: ", "`switchboard logs scan --rebuild`", "2.1.197"] {
            assert!(ran.stdout.contains(part), "{number}: {part:?} is not in\n{}", ran.stdout);
        }
        let ran = machine.logs(&["doctor", "--json"]);
        assert_eq!(ran.code, Some(1), "{number}: {}", ran.stderr);
        let objects: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |kind: &str| objects.iter().find(|object| object["type"] == kind).unwrap();
        assert!(of("index")["problem"].is_string() && of("version")["version"] == "2.1.197", "{objects:?}");
        assert!(objects.iter().any(|object| object["type"] == "home" && object["sessions"] == 2), "{objects:?}");
        let left: Vec<_> = fs::read_dir(machine.out("data")).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("checkup-")), "{left:?}");
        assert_eq!(machine.logs(&["scan", "--rebuild"]).code, Some(0));
        assert!(machine.logs(&["doctor"]).ok().contains("intact"));
    }
}

#[test]
fn altered_bytes_are_reported_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (data, home) = (folder.path().join("data"), folder.path().join("home"));
    fs::create_dir(&home).unwrap();
    let (data, home) = (data.to_str().unwrap(), home.to_str().unwrap());
    let ran = run(&["run", "script", "text first\ntext second-marker\ntext third", "--data", data], b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let path = folder.path().join("data/log.db");
    let mut log = fs::read(&path).unwrap();
    let (marker, mut changed) = (b"second-marker", 0);
    for at in 0..log.len() - marker.len() {
        // The first is in the list of sessions, which has no checksum.
        if log[at..].starts_with(marker) {
            log[at] = b'S';
            changed += 1;
        }
    }
    assert!(changed > 1);
    fs::write(&path, log).unwrap();

    let shown = run(&["sessions", "show", "last", "--data", data], b"");
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stderr.contains("is damaged and skipped"), "{}", shown.stderr);
    assert!(shown.stdout.contains("third"), "{}", shown.stdout);

    let checked = run(&["logs", "doctor", "--json", "--data", data, "--home", home], b"");
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    let lines = checked.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let damaged: Vec<Value> = lines.filter(|line| line["type"] == "damaged").collect();
    assert_eq!(damaged.len(), 1, "{}", checked.stdout);
    assert!(!damaged[0]["seqs"].as_array().unwrap().is_empty());
}
