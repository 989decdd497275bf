//! Responses and missing responses of a server, each as the expected error.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, UnixListener},
};

use super::RemoteServer;
use crate::{
    AgentError, AgentErrorKind, SessionLifecycle, SessionQuery,
    http::{ServerConnection, percent_encode},
};

/// Answers a connection with the given bytes and returns the request.
async fn answer_connection(mut stream: impl ServerConnection, bytes: String) -> String {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.read_buf(&mut request).await.unwrap();
    }
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    String::from_utf8(request).unwrap()
}

fn http_response(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Returns the error of requesting a session for a given response.
async fn request_error(bytes: String) -> AgentError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let remote = RemoteServer::new(&format!("http://{}", listener.local_addr().unwrap()), Some("secret")).unwrap();
    let server = tokio::spawn(async move { answer_connection(listener.accept().await.unwrap().0, bytes).await });
    let error = remote.get_session("s/1").await.unwrap_err();
    let request = server.await.unwrap();
    assert!(request.starts_with("GET /api/sessions/s%2F1 "), "{request}");
    assert!(request.contains("authorization: Bearer secret\r\n"), "{request}");
    error
}

#[tokio::test]
async fn each_failure_has_its_kind() {
    use AgentErrorKind as Kind;
    let problem =
        |status: u16, code: &str| json!({ "status": status, "detail": "why", "code": code, "hint": "do" }).to_string();
    for (status, code, kind) in [
        ("401 Unauthorized", "no_token", Kind::AuthenticationFailed),
        ("403 Forbidden", "from_a_session", Kind::PermissionDenied),
        ("404 Not Found", "session_not_found", Kind::SessionNotFound),
        ("404 Not Found", "approval_not_found", Kind::ProtocolError),
        ("409 Conflict", "not_open", Kind::ProtocolError),
        ("429 Too Many Requests", "too_many_requests", Kind::ConnectionFailed),
        ("500 Internal Server Error", "internal", Kind::Unknown),
        ("504 Gateway Timeout", "late", Kind::Timeout),
    ] {
        let error = request_error(http_response(status, &problem(1, code))).await;
        assert_eq!((error.kind, error.message.as_str()), (kind, "why"), "{status}");
        assert_eq!((error.code.as_deref(), error.hint.as_deref()), (Some(code), Some("do")));
        assert!(error.native_error.unwrap().contains(code));
    }
    for (bytes, kind) in [
        (http_response("401 Unauthorized", ""), Kind::AuthenticationFailed),
        (http_response("404 Not Found", "<html>"), Kind::ProtocolError),
        (http_response("404 Not Found", r#"{"error":"no such session"}"#), Kind::SessionNotFound),
        (http_response("200 OK", "<html>"), Kind::ProtocolError),
        (http_response("502 Bad Gateway", "<html>"), Kind::ConnectionFailed),
        ("220 mail.example.com ESMTP\r\n".to_owned(), Kind::ProtocolError),
        (String::new(), Kind::ConnectionFailed),
    ] {
        let error = request_error(bytes.clone()).await;
        assert_eq!(error.kind, kind, "{bytes}: {error}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = RemoteServer::new(&url, None).unwrap().get_health().await.unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::ConnectionFailed);
    assert!(error.to_string().contains(&url) && error.to_string().contains("switchboard serve"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let error = RemoteServer::from_socket_path(folder.path().join("none.sock")).get_health().await.unwrap_err();
    assert!(error.kind == AgentErrorKind::ConnectionFailed && error.message.contains("none.sock"), "{error}");
}

#[tokio::test]
async fn a_socket_in_the_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let body = r#"{"sessions":[{"id":"a","state":"cancelled"}],"next":"b"}"#;
    let bytes = http_response("200 OK", body);
    let server = tokio::spawn(async move { answer_connection(listener.accept().await.unwrap().0, bytes).await });
    let query = SessionQuery { text: Some("a b&c".to_owned()), limit: Some(3), ..SessionQuery::default() };
    let page =
        RemoteServer::new(&format!("unix:{}", path.display()), None).unwrap().list_sessions(&query).await.unwrap();
    assert_eq!((page.sessions[0].state, page.next.as_deref()), (SessionLifecycle::Cancelled, Some("b")));
    let request = server.await.unwrap();
    assert!(request.starts_with("GET /api/sessions?text=a%20b%26c&limit=3 "), "{request}");
    assert!(request.contains("host: localhost\r\n") && !request.contains("authorization"), "{request}");
}

#[tokio::test]
async fn a_link_brings_its_token() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/?token=linked", listener.local_addr().unwrap());
    let bytes = http_response("200 OK", "{}");
    let server = tokio::spawn(async move { answer_connection(listener.accept().await.unwrap().0, bytes).await });
    RemoteServer::new(&url, None).unwrap().get_health().await.unwrap();
    assert!(server.await.unwrap().contains("authorization: Bearer linked\r\n"));
}

#[test]
fn ids_are_encoded() {
    assert_eq!(percent_encode("a-b_c.d~1"), "a-b_c.d~1");
    assert_eq!(percent_encode("../é?"), "..%2F%C3%A9%3F");
}
