//! How a server ends.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use rustix::process::Signal;

use super::rig::{Served, script};

/// An agent that does not want to end.
const DEAF: &str = "trap '' TERM INT HUP; while :; do sleep 0.2; done";

#[test]
fn a_server_ends_well_though_an_agent_does_not_want_to() {
    let mut served = Served::start();
    let session = served.session(&script(served.folder.path(), DEAF, "none"));
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(0));
    let left: Vec<_> =
        std::fs::read_dir(served.data().join("owners")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!left.iter().any(|file| file.extension().is_some_and(|ending| ending == "sock")), "{left:?}");
    let served = Served::with(std::mem::replace(&mut served.folder, tempfile::tempdir().unwrap()), &[]);
    let ended = served.sessions();
    assert_eq!((ended[0]["id"].as_str(), ended[0]["state"].as_str()), (Some(session.as_str()), Some("cancelled")));
}

#[test]
fn whoever_insists_need_not_wait() {
    let mut served = Served::start();
    served.session(&script(served.folder.path(), DEAF, "none"));
    served.signal(Signal::INT);
    served.wait_for("stopping");
    served.signal(Signal::INT);
    assert_eq!(served.ended(), Some(130));
}

#[test]
fn streams_are_told_why_they_end() {
    let mut served = Served::start();
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

fn upgraded(served: &Served, session: &str) -> TcpStream {
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
