//! Arguments and directories that mean harm, and clients that leave at once.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::binary::run;

#[test]
fn errors_repeat_no_escape_sequences_of_arguments() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}2J\u{202e}\u{200b}";
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    for args in [
        &["sessions", "show", evil, "--data", data][..],
        &["run", evil, "x", "--data", data],
        &["translate", "--from", evil],
        &[evil],
        &["serve", evil],
        &["serve", "--listen", evil],
        &["logs", "show", evil, "--data", data, "--home", data],
    ] {
        let ran = run(args, b"");
        assert_ne!(ran.code, Some(0), "{args:?}");
        let bad = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!ran.stderr.contains(bad), "{args:?}: {:?}", ran.stderr);
        assert!(!ran.stderr.is_empty());
    }
}

#[test]
fn a_data_directory_that_others_can_write_to_is_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    for (mode, is_warned) in [(0o700, false), (0o755, false), (0o775, true), (0o777, true)] {
        fs::set_permissions(&data, fs::Permissions::from_mode(mode)).unwrap();
        let ran = run(&["sessions", "list", "--data", data.to_str().unwrap()], b"");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("can be written by other users"), is_warned, "{mode:o}: {}", ran.stderr);
    }
}

#[test]
fn an_mcp_client_that_closes_at_once_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(&["mcp", "--data", folder.path().to_str().unwrap()], b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}
