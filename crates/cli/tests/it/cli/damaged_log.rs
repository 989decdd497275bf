//! Bytes of the log that the disk has changed: they are noticed, and everything else is shown.

use std::fs;

use serde_json::Value;

use crate::binary::run;

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
        // The first is the prompt in the list of sessions, which has no checksum.
        if log[at..].starts_with(marker) {
            log[at] = b'S';
            changed += 1;
        }
    }
    assert!(changed > 1);
    fs::write(&path, log).unwrap();

    let shown = run(&["sessions", "show", "last", "--data", data], b"");
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stderr.contains("is damaged and left out"), "{}", shown.stderr);
    assert!(shown.stdout.contains("third"), "{}", shown.stdout);

    let checked = run(&["logs", "doctor", "--json", "--data", data, "--home", home], b"");
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    let lines = checked.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let damaged: Vec<Value> = lines.filter(|line| line["type"] == "damaged").collect();
    assert_eq!(damaged.len(), 1, "{}", checked.stdout);
    assert!(!damaged[0]["seqs"].as_array().unwrap().is_empty());
}
