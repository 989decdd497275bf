//! Malformed requests.

use std::{
    io::{self, Write as _},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use switchboard_testkit::load::{BufferedSocket, TestApiClient, read_response};

use switchboard_testkit::random::SeededRng;

use super::{ANSWER_TIMEOUT, AbuseTargets, is_connection_closed};

type MalformedRequestFn = fn(&TestApiClient, &AbuseTargets, &mut SeededRng) -> Vec<u8>;

const MALFORMED_REQUESTS: &[MalformedRequestFn] = &[
    |_, _, rng| random_bytes(rng, 2_000),
    |_, _, _| b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
    |_, _, _| b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
    |_, _, _| b"GET /\n\n".to_vec(),
    |api, _, rng| request_head(api, &random_word(rng), "/api/sessions", ""),
    |api, _, rng| request_head(api, "GET", &format!("/{}", random_word(rng)), ""),
    |api, _, rng| request_head(api, "GET", &format!("/api/sessions/{}", "a".repeat(rng.next_below(40_000))), ""),
    |api, _, rng| request_head(api, "GET", &format!("/api/sessions?text={}", "%ff".repeat(rng.next_below(3_000))), ""),
    |api, _, rng| {
        request_head(api, "GET", &format!("/api/sessions?limit={}&before={}", random_number(rng), random_word(rng)), "")
    },
    |api, _, rng| {
        request_head(api, "GET", "/api/health", &format!("X-Long: {}\r\n", "x".repeat(rng.next_below(80_000))))
    },
    |api, _, rng| request_head(api, "GET", "/api/health", &"X-Many: y\r\n".repeat(rng.next_below(500))),
    |api, _, rng| request_head(api, "GET", "/api/health", &format!("Host: {}\r\n", random_word(rng))),
    |api, _, rng| request_head(api, "GET", "/api/health", &format!("{}: {}\r\n", random_word(rng), random_word(rng))),
    |api, _, rng| request_head(api, "POST", "/api/sessions", &format!("Content-Length: {}\r\n", random_number(rng))),
    |api, _, _| request_head(api, "POST", "/api/sessions", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
    |api, _, _| request_with_body(api, "/api/sessions", "Transfer-Encoding: chunked\r\n", b"zz\r\nhello\r\n0\r\n\r\n"),
    |api, _, _| request_with_body(api, "/api/sessions", "Content-Length: 3\r\nContent-Length: 9\r\n", b"{}\n"),
    |api, _, rng| json_request(api, "/api/sessions", &random_bytes(rng, 3_000)),
    |api, _, rng| json_request(api, "/api/sessions", "[".repeat(rng.next_below(20_000)).as_bytes()),
    |api, _, rng| json_request(api, "/api/sessions", format!("{{\"agentType\":{}}}", random_json(rng)).as_bytes()),
    |api, _, rng| json_request(api, "/api/sessions", random_session_request(rng).as_bytes()),
    |api, _, rng| {
        json_request(
            api,
            "/api/run",
            format!("{{\"driver\":{},\"task\":{}}}", random_json(rng), random_json(rng)).as_bytes(),
        )
    },
    |api, targets, rng| {
        json_request(
            api,
            &session_path(targets, rng, "prompt"),
            format!("{{\"prompt\":{}}}", random_json(rng)).as_bytes(),
        )
    },
    |api, targets, rng| {
        let what = random_word(rng);
        json_request(api, &session_path(targets, rng, &what), random_json(rng).as_bytes())
    },
    |api, targets, rng| json_request(api, &session_path(targets, rng, "approvals/x"), random_decision(rng).as_bytes()),
    |api, targets, rng| {
        json_request(
            api,
            &session_path(targets, rng, "model"),
            format!("{{\"model\":{}}}", random_json(rng)).as_bytes(),
        )
    },
    |api, targets, rng| {
        let query =
            format!("events?offset={}&limit={}&after={}", random_number(rng), random_number(rng), random_number(rng));
        request_head(api, "GET", &session_path(targets, rng, &query), "")
    },
    |api, targets, rng| {
        let query = format!("events?dialect={}", random_word(rng));
        request_head(api, "GET", &session_path(targets, rng, &query), "")
    },
    |api, targets, rng| {
        let last = format!("Last-Event-ID: {}\r\nAccept: {}\r\n", random_number(rng), random_word(rng));
        request_head(api, "GET", &format!("/api/sessions/{}/stream", targets.ended), &last)
    },
    |api, targets, rng| {
        let upgrade =
            format!("Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: {}\r\n", random_number(rng));
        request_head(api, "GET", &format!("/ws/sessions/{}", targets.ended), &upgrade)
    },
    |api, _, rng| json_request(api, "/api/sessions", &vec![b' '; 40_000_000 + rng.next_below(1_000)]),
];

/// Sends a malformed request and checks the answer: it arrives, and is not a 5xx.
pub fn send_malformed(api: &TestApiClient, targets: &AbuseTargets, rng: &mut SeededRng) -> anyhow::Result<()> {
    let number = rng.next_below(MALFORMED_REQUESTS.len());
    let request = MALFORMED_REQUESTS.get(number).map(|spoil| spoil(api, targets, rng)).unwrap_or_default();
    let shown =
        || format!("spoiled in way {number}: {}", String::from_utf8_lossy(request.get(..300).unwrap_or(&request)));
    let mut socket = BufferedSocket::connect(api.port)?;
    socket.tcp_stream().set_read_timeout(Some(ANSWER_TIMEOUT))?;
    match socket.write(&request).and_then(|()| socket.tcp_stream().shutdown(std::net::Shutdown::Write)) {
        Err(error) if !is_connection_closed(&error) => return Err(error).with_context(shown),
        _ => {}
    }
    match read_response(&mut socket) {
        Ok(response) if response.status >= 500 => {
            bail!("{} {}\n{}", response.status, String::from_utf8_lossy(&response.body), shown())
        }
        Ok(response) if response.status >= 400 => {
            // Our own refusals have a body; hyper rejects invalid HTTP without one.
            let explained = response.kind.starts_with("application/problem+json") || response.body.is_empty();
            ensure!(explained, "{} without a problem, as {}\n{}", response.status, response.kind, shown());
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) if is_connection_closed(&error) || error.kind() == io::ErrorKind::InvalidData => Ok(()),
        Err(error) => Err(error).with_context(shown),
    }
}

fn request_head(api: &TestApiClient, method: &str, path: &str, headers: &str) -> Vec<u8> {
    api.request_head(method, path, headers).into_bytes()
}

fn request_with_body(api: &TestApiClient, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut request = request_head(api, "POST", path, headers);
    request.extend_from_slice(body);
    request
}

fn json_request(api: &TestApiClient, path: &str, body: &[u8]) -> Vec<u8> {
    let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    request_with_body(api, path, &headers, body)
}

fn session_path(targets: &AbuseTargets, rng: &mut SeededRng, what: &str) -> String {
    let session = if rng.once_in(2) { &targets.ended } else { &targets.open };
    format!("/api/sessions/{session}/{what}")
}

fn random_bytes(rng: &mut SeededRng, most: usize) -> Vec<u8> {
    (0..rng.next_below(most)).map(|_| u8::try_from(rng.next_below(256)).unwrap_or_default()).collect()
}

pub fn random_word(rng: &mut SeededRng) -> String {
    let words = ["", "*", "..", "%00", "%2e%2e%2f", "../../etc/passwd", "a b", "\u{1f980}", "null", "-1"];
    rng.choose(&words).copied().unwrap_or_default().to_owned()
}

fn random_number(rng: &mut SeededRng) -> String {
    let numbers = [
        "0",
        "-1",
        "1",
        "99999999999999999999",
        "18446744073709551615",
        "1e9",
        "0x10",
        "",
        "NaN",
        "1.5",
        "9223372036854775808",
    ];
    rng.choose(&numbers).copied().unwrap_or_default().to_owned()
}

/// Returns a value that is mostly JSON.
pub fn random_json(rng: &mut SeededRng) -> String {
    match rng.next_below(10) {
        0 => "null".to_owned(),
        1 => "true".to_owned(),
        2 => random_number(rng),
        3 => "{}".to_owned(),
        4 => "[]".to_owned(),
        5 => format!("\"{}\"", random_word(rng)),
        6 => format!("{{\"type\":{},\"x\":[{}]}}", random_number(rng), random_number(rng)),
        7 => "\"\\ud800\"".to_owned(),
        8 => format!("\"{}\"", "y".repeat(rng.next_below(200_000))),
        _ => "\"text hello\"".to_owned(),
    }
}

/// Returns an almost valid session request. It names only built-in agents.
fn random_session_request(rng: &mut SeededRng) -> String {
    let agent = rng.choose(&["echo", "script", "nobody", ""]).copied().unwrap_or_default();
    let fields = [
        "approvalMode",
        "sandboxMode",
        "maxTurns",
        "workingDirectory",
        "model",
        "environment",
        "allowedTools",
        "nothing",
    ];
    let field = rng.choose(&fields).copied().unwrap_or_default();
    let other = rng.choose(&["projectId", "sessionId", "images", "command", "env", "fork", "timeoutSeconds"]);
    let (other, first, second) = (other.copied().unwrap_or_default(), random_json(rng), random_json(rng));
    format!(r#"{{"agentType":"{agent}","prompt":"text x","config":{{"{field}":{first}}},"{other}":{second}}}"#)
}

fn random_decision(rng: &mut SeededRng) -> String {
    let decision =
        rng.choose(&["accept", "acceptForSession", "decline", "cancel", "sure", ""]).copied().unwrap_or_default();
    format!(r#"{{"decision":"{decision}","answers":{},"input":{}}}"#, random_json(rng), random_json(rng))
}

const WRITE_INTERVAL: Duration = Duration::from_millis(200);

struct SlowClient {
    stream: TcpStream,
    rest: Vec<u8>,
}

pub fn run_slow_clients(
    api: &TestApiClient,
    targets: &AbuseTargets,
    count: u32,
    time: Duration,
    rng: &mut SeededRng,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut all: Vec<SlowClient> = Vec::new();
    for number in 0..count {
        all.push(SlowClient::new(api, targets, rng).with_context(|| format!("slow client {number}"))?);
    }
    while began.elapsed() < time {
        all.iter_mut().for_each(SlowClient::write_next_byte);
        thread::sleep(WRITE_INTERVAL);
    }
    Ok(())
}

impl SlowClient {
    fn new(api: &TestApiClient, targets: &AbuseTargets, rng: &mut SeededRng) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", api.port))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let body = "Content-Type: application/json\r\nContent-Length: 100000\r\n";
        let stalled = format!("/api/sessions/{}/stream?dialect=trace", targets.ended);
        let (at_once, rest) = match rng.next_below(4) {
            0 => (String::new(), String::new()),
            1 => (String::new(), api.request_head("GET", "/api/sessions", &"X-Slow: yes\r\n".repeat(100))),
            2 => (api.request_head("POST", "/api/sessions", body), format!("{{\"prompt\":\"{}", "x".repeat(90_000))),
            _ => (api.request_head("GET", &stalled, ""), String::new()),
        };
        let mut slow = Self { stream, rest: rest.into_bytes() };
        slow.stream.write_all(at_once.as_bytes())?;
        Ok(slow)
    }

    /// Writes one more byte. The server may have closed the connection.
    fn write_next_byte(&mut self) {
        if !self.rest.is_empty() {
            let byte = self.rest.remove(0);
            drop(self.stream.write_all(&[byte]));
        }
    }
}
