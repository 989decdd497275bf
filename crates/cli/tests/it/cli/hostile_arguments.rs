//! Arguments and directories that mean harm, and clients that leave at once.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
};

use crate::binary::{ORDINARY_USER_ID, ordinary_user_command, run};

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
        &["doctor", "--data", &format!("/proc/{evil}")],
    ] {
        let ran = run(args, b"");
        assert_ne!(ran.code, Some(0), "{args:?}");
        let bad = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202e}' | '\u{200b}');
        let said = ran.stdout + &ran.stderr;
        assert!(!said.contains(bad), "{args:?}: {said:?}");
        assert!(!said.is_empty());
    }
}

#[test]
fn a_data_directory_that_others_can_write_to_is_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let path = data.to_str().unwrap();
    for (mode, is_warned) in [(0o700, false), (0o755, false), (0o775, true), (0o777, true)] {
        fs::set_permissions(&data, fs::Permissions::from_mode(mode)).unwrap();
        for command in [&["sessions", "list"][..], &["token"], &["logs", "usage", "--home", path]] {
            let ran = run(&[command, &["--data", path]].concat(), b"");
            assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.stderr);
            let warnings = ran.stderr.matches("can be written by other users").count();
            assert_eq!(warnings, usize::from(is_warned), "{command:?} {mode:o}: {}", ran.stderr);
        }
        let ran = run(&["doctor", "--data", path], b"");
        assert_eq!(ran.stdout.contains(&format!("{path}: can be written by other users")), is_warned, "{}", ran.stdout);
        assert_eq!(ran.stdout.contains(&format!("{path}: ok")), !is_warned, "{}", ran.stdout);
    }
    // A directory that lies where all can exchange it.
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    for (mode, is_warned) in [(0o777, true), (0o1777, false)] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        for args in [&["token", "--data", path][..], &["doctor", "--data", path]] {
            let ran = run(args, b"");
            let said = ran.stdout + &ran.stderr;
            assert_eq!(said.contains("can be replaced by other users"), is_warned, "{args:?} {mode:o}: {said}");
        }
    }
}

/// Only root can give a directory to another user, and only another user than root is refused.
#[test]
fn a_data_directory_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (folder, owner) = (tempfile::tempdir().unwrap(), ORDINARY_USER_ID);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (directory, uid) in [("roots", 0), ("theirs", 12_345), ("own", owner)] {
        let data = folder.path().join(directory);
        fs::create_dir(&data).unwrap();
        chown(&data, Some(uid), Some(uid)).unwrap();
        fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
        for command in [&["token"][..], &["sessions", "list"], &["doctor"]] {
            let mut ran = ordinary_user_command(folder.path(), command);
            let ran = ran.arg("--data").arg(&data).current_dir("/").output().unwrap();
            let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
            assert_eq!(said.contains("belongs to another user"), uid != owner, "{command:?} {directory}: {said}");
            assert!(!said.contains(": ok"), "{said}");
        }
    }
}

#[test]
fn a_token_file_that_is_a_pipe_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let data = folder.path().join("data");
    let args = ["serve", "--listen", "127.0.0.1:0", "--token-file", pipe.to_str().unwrap(), "--data"];
    let ran = run(&[&args[..], &[data.to_str().unwrap()]].concat(), b"");
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("not a regular file"), "{}", ran.stderr);
}

#[test]
fn a_program_that_is_named_by_its_path_is_not_looked_for_on_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let ran = run(&["run", "acp", "x", "--command", "/nowhere/agent", "--data", data], b"");
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("/nowhere/agent: no such file") && !ran.stderr.contains("PATH"), "{}", ran.stderr);
}

#[test]
fn an_mcp_client_that_closes_at_once_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(&["mcp", "--data", folder.path().to_str().unwrap()], b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}
