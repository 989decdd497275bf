//! Agents and files that try to do what they must not.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use super::serve::rig::Served;
use crate::binary::{command, run};

/// No real key.
const SECRET: &str = "sk-made-up-0123456789-ABCDEFGHIJ";

/// A program in place of an agent's.
fn program(folder: &Path, script: &str) -> String {
    let path = folder.join("agent.sh");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A session of which every text comes in pieces of seven letters.
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
    // The log, too: it is not compressed, and has every event.
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
    let served = Served::with(folder, &["--root", root.to_str().unwrap()]);
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
    // What a shell passes with `<(command)` is one, and may be too long only.
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
