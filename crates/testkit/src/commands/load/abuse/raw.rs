//! Malformed requests.

use std::{
    io::{self, Write as _},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use switchboard_testkit::{
    dice::SeededRng,
    load::{BufferedSocket, TestApiClient, response_of},
};

use super::{ANSWER_TIMEOUT, AbuseTargets, is_connection_closed};

type MalformedRequestFn = fn(&TestApiClient, &AbuseTargets, &mut SeededRng) -> Vec<u8>;

const MALFORMED_REQUESTS: &[MalformedRequestFn] = &[
    |_, _, dice| random_bytes(dice, 2_000),
    |_, _, _| b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
    |_, _, _| b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
    |_, _, _| b"GET /\n\n".to_vec(),
    |api, _, dice| request_head(api, &random_word(dice), "/api/sessions", ""),
    |api, _, dice| request_head(api, "GET", &format!("/{}", random_word(dice)), ""),
    |api, _, dice| request_head(api, "GET", &format!("/api/sessions/{}", "a".repeat(dice.next_below(40_000))), ""),
    |api, _, dice| {
        request_head(api, "GET", &format!("/api/sessions?text={}", "%ff".repeat(dice.next_below(3_000))), "")
    },
    |api, _, dice| {
        request_head(
            api,
            "GET",
            &format!("/api/sessions?limit={}&before={}", random_number(dice), random_word(dice)),
            "",
        )
    },
    |api, _, dice| {
        request_head(api, "GET", "/api/health", &format!("X-Long: {}\r\n", "x".repeat(dice.next_below(80_000))))
    },
    |api, _, dice| request_head(api, "GET", "/api/health", &"X-Many: y\r\n".repeat(dice.next_below(500))),
    |api, _, dice| request_head(api, "GET", "/api/health", &format!("Host: {}\r\n", random_word(dice))),
    |api, _, dice| {
        request_head(api, "GET", "/api/health", &format!("{}: {}\r\n", random_word(dice), random_word(dice)))
    },
    |api, _, dice| request_head(api, "POST", "/api/sessions", &format!("Content-Length: {}\r\n", random_number(dice))),
    |api, _, _| request_head(api, "POST", "/api/sessions", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
    |api, _, _| request_with_body(api, "/api/sessions", "Transfer-Encoding: chunked\r\n", b"zz\r\nhello\r\n0\r\n\r\n"),
    |api, _, _| request_with_body(api, "/api/sessions", "Content-Length: 3\r\nContent-Length: 9\r\n", b"{}\n"),
    |api, _, dice| json_request(api, "/api/sessions", &random_bytes(dice, 3_000)),
    |api, _, dice| json_request(api, "/api/sessions", "[".repeat(dice.next_below(20_000)).as_bytes()),
    |api, _, dice| json_request(api, "/api/sessions", format!("{{\"agentType\":{}}}", random_json(dice)).as_bytes()),
    |api, _, dice| json_request(api, "/api/sessions", random_session_request(dice).as_bytes()),
    |api, _, dice| {
        json_request(
            api,
            "/api/run",
            format!("{{\"driver\":{},\"task\":{}}}", random_json(dice), random_json(dice)).as_bytes(),
        )
    },
    |api, targets, dice| {
        json_request(
            api,
            &session_path(targets, dice, "prompt"),
            format!("{{\"prompt\":{}}}", random_json(dice)).as_bytes(),
        )
    },
    |api, targets, dice| {
        let what = random_word(dice);
        json_request(api, &session_path(targets, dice, &what), random_json(dice).as_bytes())
    },
    |api, targets, dice| {
        json_request(api, &session_path(targets, dice, "approvals/x"), random_decision(dice).as_bytes())
    },
    |api, targets, dice| {
        json_request(
            api,
            &session_path(targets, dice, "model"),
            format!("{{\"model\":{}}}", random_json(dice)).as_bytes(),
        )
    },
    |api, targets, dice| {
        let query = format!(
            "events?offset={}&limit={}&after={}",
            random_number(dice),
            random_number(dice),
            random_number(dice)
        );
        request_head(api, "GET", &session_path(targets, dice, &query), "")
    },
    |api, targets, dice| {
        let query = format!("events?dialect={}", random_word(dice));
        request_head(api, "GET", &session_path(targets, dice, &query), "")
    },
    |api, targets, dice| {
        let last = format!("Last-Event-ID: {}\r\nAccept: {}\r\n", random_number(dice), random_word(dice));
        request_head(api, "GET", &format!("/api/sessions/{}/stream", targets.ended), &last)
    },
    |api, targets, dice| {
        let upgrade =
            format!("Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: {}\r\n", random_number(dice));
        request_head(api, "GET", &format!("/ws/sessions/{}", targets.ended), &upgrade)
    },
    |api, _, dice| json_request(api, "/api/sessions", &vec![b' '; 40_000_000 + dice.next_below(1_000)]),
];

/// Sends a malformed request and checks the answer: it arrives, and is not a 5xx.
pub fn send_malformed(api: &TestApiClient, targets: &AbuseTargets, dice: &mut SeededRng) -> anyhow::Result<()> {
    let number = dice.next_below(MALFORMED_REQUESTS.len());
    let request = MALFORMED_REQUESTS.get(number).map(|spoil| spoil(api, targets, dice)).unwrap_or_default();
    let shown =
        || format!("spoiled in way {number}: {}", String::from_utf8_lossy(request.get(..300).unwrap_or(&request)));
    let mut socket = BufferedSocket::connect(api.port)?;
    socket.tcp_stream().set_read_timeout(Some(ANSWER_TIMEOUT))?;
    match socket.write(&request).and_then(|()| socket.tcp_stream().shutdown(std::net::Shutdown::Write)) {
        Err(error) if !is_connection_closed(&error) => return Err(error).with_context(shown),
        _ => {}
    }
    match response_of(&mut socket) {
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

fn session_path(targets: &AbuseTargets, dice: &mut SeededRng, what: &str) -> String {
    let session = if dice.once_in(2) { &targets.ended } else { &targets.open };
    format!("/api/sessions/{session}/{what}")
}

fn random_bytes(dice: &mut SeededRng, most: usize) -> Vec<u8> {
    (0..dice.next_below(most)).map(|_| u8::try_from(dice.next_below(256)).unwrap_or_default()).collect()
}

pub fn random_word(dice: &mut SeededRng) -> String {
    let words = ["", "*", "..", "%00", "%2e%2e%2f", "../../etc/passwd", "a b", "\u{1f980}", "null", "-1"];
    dice.choose(&words).copied().unwrap_or_default().to_owned()
}

fn random_number(dice: &mut SeededRng) -> String {
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
    dice.choose(&numbers).copied().unwrap_or_default().to_owned()
}

/// Returns a value that is mostly JSON.
pub fn random_json(dice: &mut SeededRng) -> String {
    match dice.next_below(10) {
        0 => "null".to_owned(),
        1 => "true".to_owned(),
        2 => random_number(dice),
        3 => "{}".to_owned(),
        4 => "[]".to_owned(),
        5 => format!("\"{}\"", random_word(dice)),
        6 => format!("{{\"type\":{},\"x\":[{}]}}", random_number(dice), random_number(dice)),
        7 => "\"\\ud800\"".to_owned(),
        8 => format!("\"{}\"", "y".repeat(dice.next_below(200_000))),
        _ => "\"text hello\"".to_owned(),
    }
}

/// Returns an almost valid session request. It names only built-in agents.
fn random_session_request(dice: &mut SeededRng) -> String {
    let agent = dice.choose(&["echo", "script", "nobody", ""]).copied().unwrap_or_default();
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
    let field = dice.choose(&fields).copied().unwrap_or_default();
    let other = dice.choose(&["projectId", "sessionId", "images", "command", "env", "fork", "timeoutSeconds"]);
    let (other, first, second) = (other.copied().unwrap_or_default(), random_json(dice), random_json(dice));
    format!(r#"{{"agentType":"{agent}","prompt":"text x","config":{{"{field}":{first}}},"{other}":{second}}}"#)
}

fn random_decision(dice: &mut SeededRng) -> String {
    let decision =
        dice.choose(&["accept", "acceptForSession", "decline", "cancel", "sure", ""]).copied().unwrap_or_default();
    format!(r#"{{"decision":"{decision}","answers":{},"input":{}}}"#, random_json(dice), random_json(dice))
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
    dice: &mut SeededRng,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut all: Vec<SlowClient> = Vec::new();
    for number in 0..count {
        all.push(SlowClient::new(api, targets, dice).with_context(|| format!("slow client {number}"))?);
    }
    while began.elapsed() < time {
        all.iter_mut().for_each(SlowClient::write_next_byte);
        thread::sleep(WRITE_INTERVAL);
    }
    Ok(())
}

impl SlowClient {
    fn new(api: &TestApiClient, targets: &AbuseTargets, dice: &mut SeededRng) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", api.port))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let body = "Content-Type: application/json\r\nContent-Length: 100000\r\n";
        let stalled = format!("/api/sessions/{}/stream?dialect=trace", targets.ended);
        let (at_once, rest) = match dice.next_below(4) {
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
