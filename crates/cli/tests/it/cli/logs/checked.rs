//! `logs doctor` with a damaged index: everything that does not need the index is still reported.

use std::{fs, path::Path};

use serde_json::Value;

use super::{Machine, two};

/// Ways to damage the file, by what the rest of it is.
const DAMAGES: [fn(&Path); 3] = [
    |path| fs::write(path, b"\x93\x02no index at all".repeat(4000)).unwrap(),
    |path| overwrite(path, 1),
    |path| overwrite(path, 2),
];

/// Writes nonsense over all pages from this one on.
fn overwrite(path: &Path, from: usize) {
    let mut bytes = fs::read(path).unwrap();
    let begin = (from * 32768).min(bytes.len() - 32768);
    bytes[begin..].fill(0xa5);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_index_does_not_hide_the_rest() {
    for (number, damage) in DAMAGES.iter().enumerate() {
        let machine = Machine::with(&two());
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
        assert!(machine.logs(&["doctor"]).ok().contains("whole"));
    }
}
