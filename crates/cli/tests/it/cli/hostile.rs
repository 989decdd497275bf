//! Agents, files, arguments and directories that try to do harm.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use super::serve::ServeProcess;
use crate::binary::{ORDINARY_USER_ID, command, ordinary_user_command, run};

const SECRET: &str = "sk-made-up-0123456789-ABCDEFGHIJ";

/// Creates a program that replaces an agent's.
fn program(folder: &Path, script: &str) -> String {
    let path = folder.join("agent.sh");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A session whose texts arrive in pieces of seven letters.
fn stream(text: &str) -> String {
    let session = "0a1b2c3d-0000-4000-8000-000000000000";
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = letters.chunks(7).map(|piece| piece.iter().collect()).collect();
    let block = |index: usize, kind: &str, field: &str, start: serde_json::Value| {
        let delta = |piece: &String| json!({ "type": "content_block_delta", "index": index, "delta": { "type": kind, field: piece } });
        let start = json!({ "type": "content_block_start", "index": index, "content_block": start });
        let stop = json!({ "type": "content_block_stop", "index": index });
        std::iter::once(start).chain(pieces.iter().map(delta)).chain([stop]).collect::<Vec<_>>()
    };
    let message =
        json!({ "id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": {} });
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    events.extend(block(0, "thinking_delta", "thinking", json!({ "type": "thinking", "thinking": "" })));
    events.extend(block(1, "text_delta", "text", json!({ "type": "text", "text": "" })));
    let tool = json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": {} });
    events.extend(block(2, "input_json_delta", "partial_json", tool));
    events.push(json!({ "type": "message_stop" }));
    let init =
        json!({ "type": "system", "subtype": "init", "session_id": session, "cwd": "/", "model": "x", "tools": [] });
    let streamed =
        events.into_iter().map(|event| json!({ "type": "stream_event", "event": event, "session_id": session }));
    let done = json!({ "type": "result", "subtype": "success", "is_error": false, "result": "", "session_id": session,
        "num_turns": 1, "duration_ms": 1, "usage": {}, "total_cost_usd": 0 });
    let lines = std::iter::once(init).chain(streamed).chain([done]);
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_secret_that_is_streamed_is_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (data, lines) = (folder.path().join("data"), folder.path().join("lines"));
    fs::write(&lines, stream(&format!("the key {SECRET} is yours; sk-made-up-0123 is not one"))).unwrap();
    let agent = program(
        folder.path(),
        &format!("case \"$*\" in *--version*) echo '2.1.197 (Claude Code)';; *) cat {};; esac", lines.display()),
    );
    let key = format!("MY_API_KEY={SECRET}");
    let data = data.to_str().unwrap();
    let args = ["run", "--one-shot", "--dialect", "events", "--env", &key, "--data", data, "claude", "hello"];
    let output = command(&args)
        .env("SWITCHBOARD_CLAUDE", agent)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.contains("is not one") || shown.contains(" one"),
        "{shown} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let events: Vec<serde_json::Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let joined = |field: &str| -> String {
        let texts = events.iter().map(|event| event["native"]["event"]["delta"][field].as_str().unwrap_or_default());
        texts.collect()
    };
    for field in ["text", "thinking", "partial_json"] {
        assert_eq!(joined(field), "the key *** is yours; sk-made-up-0123 is not one", "{field}");
    }
    let typed: String = events.iter().map(|event| event["data"]["text"].as_str().unwrap_or_default()).collect();
    assert!(typed.contains("the key *** is yours") && !typed.contains("0123456789"), "{typed}");
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.iter().zip(1..).all(|(seq, expected)| *seq == expected), "{seqs:?}");
    assert!(!shown.contains(SECRET) && !shown.contains("0123456789"), "{shown}");
    // The log is not compressed and contains every event.
    let mut files = vec![Path::new(data).to_owned()];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(bytes) = fs::read(&path) {
            assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "{}", path.display());
        }
    }
}

#[test]
fn no_session_works_outside_the_root_while_the_directory_is_exchanged() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (root, outside, places) = (base.join("root"), base.join("outside"), base.join("places"));
    let (path, hidden, link) = (root.join("project"), root.join("hidden"), root.join("link"));
    fs::create_dir_all(&path).unwrap();
    fs::create_dir(&outside).unwrap();
    symlink(&outside, &link).unwrap();
    let agent = program(&base, &format!("pwd -P >> {}", places.display()));
    let served = ServeProcess::with(folder, &["--root", root.to_str().unwrap()]);
    let request = json!({ "agentType": "acp", "command": [agent], "prompt": "x",
        "config": { "workingDirectory": path.to_str().unwrap() } });
    let done = AtomicBool::new(false);
    let mut started = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                fs::rename(&path, &hidden).and_then(|()| fs::rename(&link, &path)).unwrap();
                std::thread::yield_now();
                fs::rename(&path, &link).and_then(|()| fs::rename(&hidden, &path)).unwrap();
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        for attempt in 0..1_000 {
            if attempt >= 60 && started > 0 {
                break;
            }
            let (status, _) = served.ask("POST", "/api/sessions", Some(&request));
            started += usize::from(status == 201);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(started > 0);
    drop(served);
    let places = fs::read_to_string(&places).unwrap_or_default();
    let wrong: Vec<_> = places.lines().filter(|place| !Path::new(place).starts_with(&root)).collect();
    assert_eq!(wrong, Vec::<&str>::new(), "{started} started");
}

#[test]
fn files_that_never_end_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo.png");
    mkfifoat(CWD, &fifo, Mode::RWXU).unwrap();
    let (fifo, data) = (fifo.to_str().unwrap(), folder.path().join("data"));
    let data = data.to_str().unwrap();
    for option in ["--mcp-config", "--output-schema"] {
        for path in [fifo, "/dev/zero"] {
            let complaint = run(&["run", "--data", data, option, path, "echo", "x"], b"").fails(2);
            assert!(complaint.contains("not a regular file"), "{complaint}");
        }
    }
    let complaint = run(&["run", "--data", data, "--image", fifo, "echo", "x"], b"").fails(2);
    assert!(complaint.contains("not a regular file"), "{complaint}");
    // A descriptor from `<(command)` is allowed; it may only be too long.
    let complaint = run(&["run", "--data", data, "--mcp-config", "/dev/stdin", "echo", "x"], b"not json").fails(2);
    assert!(complaint.contains("--mcp-config"), "{complaint}");
}

#[test]
fn blocked_tools_are_declined_in_every_mode() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let args = [
        "run",
        "--dialect",
        "events",
        "--data",
        data.to_str().unwrap(),
        "--approval",
        "autoAll",
        "--block-tool",
        "command",
    ];
    let output = run(&[&args[..], &["script", "approve rm -rf x\napprove-edit a.txt"]].concat(), b"");
    let resolved: Vec<_> = output.stdout.lines().filter(|line| line.contains("\"request.resolved\"")).collect();
    assert_eq!(resolved.len(), 2, "{} {}", output.stdout, output.stderr);
    assert!(resolved[0].contains("\"declined\"") && resolved[0].contains("\"policy\""), "{}", resolved[0]);
    assert!(resolved[1].contains("\"allowed\""), "{}", resolved[1]);
}

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
    // A directory whose parent everyone can write to.
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

/// Only root can create a directory of another user, and only users other than root are refused.
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
    mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
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
