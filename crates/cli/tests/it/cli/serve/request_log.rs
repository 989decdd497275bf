//! Requests in the diagnostics of a server.

use super::rig::Served;

#[test]
fn a_request_has_an_id_in_the_response_and_in_the_log() {
    let served = Served::with(tempfile::tempdir().unwrap(), &["--log-level", "debug"]);
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
