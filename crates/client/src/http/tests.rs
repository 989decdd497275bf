//! The client against scripted servers: each connection is answered with given bytes, in given pieces.

use std::time::Duration;

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::{HttpClient, HttpError, HttpLimits, ServerAddress, SseEvent};

/// A server that answers every connection with the same pieces and records the requests.
struct ScriptedServer {
    client: HttpClient,
    asked: mpsc::UnboundedReceiver<String>,
}

impl ScriptedServer {
    async fn new(pieces: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (requests, asked) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer_connection(stream, requests.clone(), pieces));
            }
        });
        let address = ServerAddress::parse_local(&url).unwrap();
        Self { client: HttpClient::new(address, Some("Basic c2VjcmV0")).unwrap(), asked }
    }
}

async fn answer_connection(mut stream: TcpStream, requests: mpsc::UnboundedSender<String>, pieces: &[&str]) {
    let mut asked = Vec::new();
    while !is_complete_request(&asked) {
        if stream.read_buf(&mut asked).await.unwrap() == 0 {
            return;
        }
    }
    requests.send(String::from_utf8(asked).unwrap()).unwrap();
    for piece in pieces {
        if *piece == HANG_MARKER {
            return std::future::pending().await;
        }
        stream.write_all(piece.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
}

/// A piece that sends nothing more and keeps the connection open.
const HANG_MARKER: &str = "(hang)";

/// Returns whether the head and the announced body have arrived.
fn is_complete_request(asked: &[u8]) -> bool {
    let text = String::from_utf8_lossy(asked);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_none_or(|length| body.len() >= length.parse().unwrap())
}

#[tokio::test]
async fn a_request_and_its_answer() {
    let mut server = ScriptedServer::new(&["HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n", "tr", "ue"]).await;
    let (status, body) = server.client.request("POST", "/session?a=1", Some(Bytes::from("{}"))).await.unwrap();
    assert_eq!((status, &*body), (200, b"true".as_slice()));
    let asked = server.asked.recv().await.unwrap();
    assert!(asked.starts_with("POST /session?a=1 HTTP/1.1\r\n"), "{asked}");
    for header in ["authorization: Basic c2VjcmV0", "content-type: application/json", "host: 127.0.0.1:"] {
        assert!(asked.contains(header), "{asked}");
    }
    assert!(asked.ends_with("\r\n\r\n{}"), "{asked}");
}

#[tokio::test]
async fn a_no_is_an_answer_too() {
    let server =
        ScriptedServer::new(&["HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"])
            .await;
    let (status, body) = server.client.request("GET", "/", None).await.unwrap();
    assert_eq!((status, &*body), (404, b"{}".as_slice()));
    let server = ScriptedServer::new(&["HTTP/1.1 204 No Content\r\n\r\n"]).await;
    assert_eq!(server.client.request("GET", "/", None).await.unwrap(), (204, Bytes::new()));
}

#[tokio::test]
async fn several_requests_at_once() {
    let server = ScriptedServer::new(&["HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1"]).await;
    let request = || server.client.request("GET", "/", None);
    let (first, second, third) = tokio::join!(request(), request(), request());
    assert!([first, second, third].into_iter().all(|answer| answer.unwrap() == (200, Bytes::from("1"))));
}

#[tokio::test]
async fn answers_have_limits() {
    let limits = HttpLimits { bytes: 8, time: Duration::from_millis(200) };
    let server = ScriptedServer::new(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n123456789"]).await;
    let error = server.client.clone().with_limits(limits).request("GET", "/", None).await.unwrap_err();
    assert!(matches!(error, HttpError::TooLarge(8)), "{error}");
    let server = ScriptedServer::new(&[HANG_MARKER]).await;
    let error = server.client.clone().with_limits(limits).request("GET", "/", None).await.unwrap_err();
    assert!(matches!(error, HttpError::Late(_)), "{error}");
    assert_eq!(error.to_string(), "no answer within 0.2 seconds");
}

#[tokio::test]
async fn what_goes_wrong_is_said() {
    let server = ScriptedServer::new(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n123"]).await;
    let error = server.client.request("GET", "/", None).await.unwrap_err();
    assert!(matches!(error, HttpError::Broken(_)), "{error}");
    let server = ScriptedServer::new(&["no HTTP at all\r\n\r\n"]).await;
    assert!(matches!(server.client.request("GET", "/", None).await, Err(HttpError::NotHttp { .. })));
    assert!(matches!(server.client.request("GET", "no path", None).await, Err(HttpError::Request { .. })));
    assert!(matches!(server.client.request("G T", "/", None).await, Err(HttpError::Request { .. })));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = HttpClient::new(ServerAddress::parse_local(&url).unwrap(), None)
        .unwrap()
        .request("GET", "/", None)
        .await
        .unwrap_err();
    assert!(matches!(error, HttpError::Connect { .. }), "{error}");
}

/// Collects all events of a stream.
async fn collect_sse_events(client: &HttpClient) -> Vec<SseEvent> {
    let (out, mut stream) = mpsc::channel(1);
    client.subscribe_sse("/event", out);
    let mut requests = Vec::new();
    while let Some(event) = stream.recv().await {
        requests.push(event);
    }
    requests
}

const SSE_RESPONSE_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn a_stream_opens_speaks_and_closes() {
    let mut server =
        ScriptedServer::new(&[SSE_RESPONSE_HEAD, "data: {\"a\"", ":1}\r", "\n\r\n: beat\n\nda", "ta: b\n\ndata: cut"])
            .await;
    let data = |text: &str| SseEvent::Data(text.as_bytes().to_vec());
    let closed = SseEvent::Closed("the server ended it".to_owned());
    assert_eq!(collect_sse_events(&server.client).await, [SseEvent::Opened, data("{\"a\":1}"), data("b"), closed]);
    let asked = server.asked.recv().await.unwrap();
    assert!(asked.starts_with("GET /event ") && asked.contains("accept: text/event-stream"), "{asked}");
    assert!(asked.contains("authorization: "), "{asked}");
}

#[tokio::test]
async fn a_stream_that_cannot_be_opened() {
    let closed = |reason: &str| vec![SseEvent::Closed(reason.to_owned())];
    let server = ScriptedServer::new(&["HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"]).await;
    assert_eq!(collect_sse_events(&server.client).await, closed("the server refused it with status 401"));
    let server =
        ScriptedServer::new(&["HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n"]).await;
    assert_eq!(collect_sse_events(&server.client).await, closed("the server sent `text/html` in place of events"));
}

#[tokio::test]
async fn an_event_that_is_too_large_closes_the_stream() {
    let server = ScriptedServer::new(&[SSE_RESPONSE_HEAD, "data: 1\n\ndata: 1234567890", HANG_MARKER]).await;
    let limits = HttpLimits { bytes: 12, ..HttpLimits::default() };
    let events = collect_sse_events(&server.client.clone().with_limits(limits)).await;
    let closed = SseEvent::Closed("the answer is larger than 12 bytes".to_owned());
    assert_eq!(events, [SseEvent::Opened, SseEvent::Data(b"1".to_vec()), closed]);
}

#[tokio::test]
async fn who_does_not_listen_any_more_ends_the_stream() {
    let server = ScriptedServer::new(&[SSE_RESPONSE_HEAD, "data: 1\n\n", "data: 2\n\n", HANG_MARKER]).await;
    let (out, mut stream) = mpsc::channel(1);
    let handle = server.client.subscribe_sse("/event", out);
    assert_eq!(stream.recv().await, Some(SseEvent::Opened));
    handle.abort();
    while stream.recv().await.is_some() {}
}
