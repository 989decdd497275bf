//! How a server starts, logs requests, runs a single task, and ends.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{ServeProcess, script};
use crate::binary::{command, run};

/// An agent that ignores signals.
const DEAF: &str = "trap '' TERM INT HUP; while :; do sleep 0.2; done";

/// A one-shot run of Gemini CLI 0.61.0, in which a command prints something.
const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../agents/src/gemini/testdata/live/02-yolo-shell.jsonl");

#[test]
fn a_server_says_where_it_is_and_how_to_get_in() {
    let served = ServeProcess::start();
    let link = format!("http://127.0.0.1:{}/?token={}", served.port, served.token);
    assert!(served.greeting.contains(&link), "{}", served.greeting);
    assert!(served.greeting.contains(served.data().to_str().unwrap()));
    assert_eq!(served.ask("GET", "/api/sessions", None), (200, "{\"sessions\":[]}".to_owned()));
    assert_eq!(served.ask("GET", "/api/health", None).0, 200);
}

#[test]
fn the_token_stays_until_a_new_one_is_made() {
    let served = ServeProcess::start();
    let (token, folder) = (served.token.clone(), served.stop());
    let served = ServeProcess::with(folder, &[]);
    assert_eq!(served.token, token);
    let data = served.data();
    let mode = fs::metadata(data.join("token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let new = run(&["token", "--new", "--data", data.to_str().unwrap()], b"").ok();
    assert_ne!(new.trim(), token);
    assert_eq!(new.trim().len(), 64);
    assert_eq!(run(&["token", "--data", data.to_str().unwrap()], b"").ok(), new);
}

#[test]
fn a_token_may_be_given_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let token = |value: &str| {
        let mut command = command(&["token", "--data", folder.path().to_str().unwrap()]);
        let output = command.env("SWITCHBOARD_TOKEN", value).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(token("a-token-of-my-own-choice"), (Some(0), "a-token-of-my-own-choice\n".to_owned()));
    assert_eq!(token("short").0, Some(2));
    assert!(!folder.path().join("token").exists());
}

#[test]
fn without_a_token_it_listens_on_this_machine_only() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let args = ["serve", "--no-auth", "--listen", address, "--data", data.to_str().unwrap()];
        let error = run(&args, b"").fails(2);
        assert!(error.contains("--no-auth") && error.contains("hint"), "{error}");
    }
    assert!(!data.exists());
    let served = ServeProcess::with(folder, &["--no-auth"]);
    assert!(!served.greeting.contains("token="), "{}", served.greeting);
}

#[test]
fn an_address_that_is_taken_is_said() {
    let served = ServeProcess::start();
    let address = format!("127.0.0.1:{}", served.port);
    let data = served.folder.path().join("other");
    let error = run(&["serve", "--listen", &address, "--data", data.to_str().unwrap()], b"").fails(4);
    assert!(error.contains(&address) && error.contains("the address is in use") && error.contains("hint"), "{error}");
    let other = served.folder.path().join("data/token");
    let path = format!("unix:{}", other.display());
    let error = run(&["serve", "--listen", &path, "--data", data.to_str().unwrap()], b"").fails(4);
    assert!(error.contains("not a socket"), "{error}");
}

#[test]
fn what_makes_no_sense_is_bad_usage() {
    for args in [
        &["serve", "--listen", "nowhere"][..],
        &["serve", "--root", "/does/not/exist"],
        &["serve", "--allow-origin", "*"],
        &["serve", "--keep", "soon"],
        &["serve", "--token-file", "/does/not/exist"],
    ] {
        run(args, b"").fails(2);
    }
}

#[test]
fn no_more_sessions_run_than_may() {
    let served = ServeProcess::with(tempfile::tempdir().unwrap(), &["--max-sessions", "1"]);
    let long = serde_json::json!({ "agentType": "script", "prompt": "sleep 600" });
    let first = served.session(&long);
    let (status, body) = served.ask("POST", "/api/sessions", Some(&long));
    assert!(status == 503 && body.contains("too_many_sessions"), "{status} {body}");
    served.ask("POST", &format!("/api/sessions/{first}/cancel"), None);
    served.events(&first);
    let short = serde_json::json!({ "agentType": "echo", "prompt": "x" });
    // The limit applies until shortly after the session has ended.
    while served.ask("POST", "/api/sessions", Some(&short)).0 != 201 {}
}

#[test]
fn a_server_ends_well_though_an_agent_does_not_want_to() {
    let mut served = ServeProcess::start();
    let session = served.session(&script(served.folder.path(), DEAF, "none"));
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(0));
    let left: Vec<_> = fs::read_dir(served.data().join("owners")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!left.iter().any(|file| file.extension().is_some_and(|ending| ending == "sock")), "{left:?}");
    let served = ServeProcess::with(std::mem::replace(&mut served.folder, tempfile::tempdir().unwrap()), &[]);
    let ended = served.sessions();
    assert_eq!((ended[0]["id"].as_str(), ended[0]["state"].as_str()), (Some(session.as_str()), Some("cancelled")));
}

#[test]
fn whoever_insists_need_not_wait() {
    let mut served = ServeProcess::start();
    served.session(&script(served.folder.path(), DEAF, "none"));
    served.signal(Signal::INT);
    served.wait_for("stopping");
    served.signal(Signal::INT);
    assert_eq!(served.ended(), Some(130));
}

#[test]
fn streams_are_told_why_they_end() {
    let mut served = ServeProcess::start();
    let session = served.session(&serde_json::json!({ "agentType": "script", "prompt": "sleep 600" }));
    let mut socket = upgraded(&served, &session);
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let (port, token) = (served.port, &served.token);
    let head = format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(format!("GET /api/sessions/{session}/stream HTTP/1.1\r\n{head}").as_bytes()).unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).unwrap();
    served.signal(Signal::TERM);
    let (mut told, mut closed) = (String::new(), Vec::new());
    stream.read_to_string(&mut told).unwrap();
    socket.read_to_end(&mut closed).ok();
    assert!(told.contains("the server is shutting down"), "{told}");
    // A close frame has the code and the reason: 1001 is 0x03e9.
    let reason = b"\x03\xe9the server is shutting down";
    assert!(closed.windows(reason.len()).any(|bytes| bytes == reason), "{}", String::from_utf8_lossy(&closed));
    assert_eq!(served.ended(), Some(0));
}

fn upgraded(served: &ServeProcess, session: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let (port, token) = (served.port, &served.token);
    let request = format!(
        "GET /ws/sessions/{session}?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 101");
    stream
}

#[test]
fn an_agent_whose_one_shot_form_tells_more_is_run_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("agent");
    // In its interactive form, the agent would expect a handshake first.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*--version*) echo 0.61.0;;\n*stream-json*) cat > /dev/null; cat '{RECORDING}';;\n*) exit 9;;\nesac\n"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let served = ServeProcess::with_agent("SWITCHBOARD_GEMINI", &program);
    let request = json!({ "driver": "gemini", "task": "go", "config": { "approvalMode": "autoAll" } });
    let (status, body) = served.ask("POST", "/api/run", Some(&request));
    assert_eq!(status, 200, "{body}");
    let messages: Vec<Value> =
        body.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    let results: Vec<_> = messages.iter().filter(|message| message["kind"] == "tool_result").collect();
    assert!(results.iter().any(|result| result["output"].to_string().contains("hello-from-shell")), "{body}");
    assert_eq!(messages.last().unwrap()["exit_code"], 0, "{body}");
}

#[test]
fn a_request_has_an_id_in_the_response_and_in_the_log() {
    let served = ServeProcess::with(tempfile::tempdir().unwrap(), &["--log-level", "debug"]);
    let token = served.token.clone();
    let response = served.send_raw(&format!(
        "GET /api/sessions?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\nX-Request-Id: client-7\r\nConnection: close\r\n\r\n",
        served.port
    ));
    assert!(response.contains("x-request-id: client-7\r\n"), "{response}");
    let response = served.send_raw(&format!(
        "GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-Request-Id: two words\r\nConnection: close\r\n\r\n",
        served.port
    ));
    let id = response.split("x-request-id: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(id.len(), 32, "an ID that is no token is replaced: {id}");
    let log = served.stop_and_read_stderr();
    for id in ["client-7", &id] {
        let about: Vec<_> = log.lines().filter(|line| line.contains(id)).collect();
        assert!(about.iter().any(|line| line.contains("status=200")), "{log}");
    }
    assert!(!log.contains(&token), "the token is in the log");
}
