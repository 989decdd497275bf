//! Requests that no client should send.

use std::io;

use anyhow::{Context as _, bail, ensure};
use switchboard_testkit::{
    dice::Dice,
    load::{Api, Socket, response_of},
};

use super::{ANSWER, Targets, is_gone};

/// What is wrong with a request.
type Spoil = fn(&Api, &Targets, &mut Dice) -> Vec<u8>;

/// All that can be wrong.
const SPOILS: &[Spoil] = &[
    |_, _, dice| noise(dice, 2_000),
    |_, _, _| b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
    |_, _, _| b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
    |_, _, _| b"GET /\n\n".to_vec(),
    |api, _, dice| head(api, &word(dice), "/api/sessions", ""),
    |api, _, dice| head(api, "GET", &format!("/{}", word(dice)), ""),
    |api, _, dice| head(api, "GET", &format!("/api/sessions/{}", "a".repeat(dice.below(40_000))), ""),
    |api, _, dice| head(api, "GET", &format!("/api/sessions?text={}", "%ff".repeat(dice.below(3_000))), ""),
    |api, _, dice| head(api, "GET", &format!("/api/sessions?limit={}&before={}", number(dice), word(dice)), ""),
    |api, _, dice| head(api, "GET", "/api/health", &format!("X-Long: {}\r\n", "x".repeat(dice.below(80_000)))),
    |api, _, dice| head(api, "GET", "/api/health", &"X-Many: y\r\n".repeat(dice.below(500))),
    |api, _, dice| head(api, "GET", "/api/health", &format!("Host: {}\r\n", word(dice))),
    |api, _, dice| head(api, "GET", "/api/health", &format!("{}: {}\r\n", word(dice), word(dice))),
    |api, _, dice| head(api, "POST", "/api/sessions", &format!("Content-Length: {}\r\n", number(dice))),
    |api, _, _| head(api, "POST", "/api/sessions", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
    |api, _, _| with_body(api, "/api/sessions", "Transfer-Encoding: chunked\r\n", b"zz\r\nhello\r\n0\r\n\r\n"),
    |api, _, _| with_body(api, "/api/sessions", "Content-Length: 3\r\nContent-Length: 9\r\n", b"{}\n"),
    |api, _, dice| json(api, "/api/sessions", &noise(dice, 3_000)),
    |api, _, dice| json(api, "/api/sessions", "[".repeat(dice.below(20_000)).as_bytes()),
    |api, _, dice| json(api, "/api/sessions", format!("{{\"agentType\":{}}}", value(dice)).as_bytes()),
    |api, _, dice| json(api, "/api/sessions", session(dice).as_bytes()),
    |api, _, dice| json(api, "/api/run", format!("{{\"driver\":{},\"task\":{}}}", value(dice), value(dice)).as_bytes()),
    |api, targets, dice| json(api, &of(targets, dice, "prompt"), format!("{{\"prompt\":{}}}", value(dice)).as_bytes()),
    |api, targets, dice| {
        let what = word(dice);
        json(api, &of(targets, dice, &what), value(dice).as_bytes())
    },
    |api, targets, dice| json(api, &of(targets, dice, "approvals/x"), decision(dice).as_bytes()),
    |api, targets, dice| json(api, &of(targets, dice, "model"), format!("{{\"model\":{}}}", value(dice)).as_bytes()),
    |api, targets, dice| {
        let query = format!("events?offset={}&limit={}&after={}", number(dice), number(dice), number(dice));
        head(api, "GET", &of(targets, dice, &query), "")
    },
    |api, targets, dice| {
        let query = format!("events?dialect={}", word(dice));
        head(api, "GET", &of(targets, dice, &query), "")
    },
    |api, targets, dice| {
        let last = format!("Last-Event-ID: {}\r\nAccept: {}\r\n", number(dice), word(dice));
        head(api, "GET", &format!("/api/sessions/{}/stream", targets.ended), &last)
    },
    |api, targets, dice| {
        let upgrade =
            format!("Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: {}\r\n", number(dice));
        head(api, "GET", &format!("/ws/sessions/{}", targets.ended), &upgrade)
    },
    |api, _, dice| json(api, "/api/sessions", &vec![b' '; 40_000_000 + dice.below(1_000)]),
];

/// Sends one, and reads the answer. It is none of the server's failure, and it comes.
pub fn one(api: &Api, targets: &Targets, dice: &mut Dice) -> anyhow::Result<()> {
    let number = dice.below(SPOILS.len());
    let request = SPOILS.get(number).map(|spoil| spoil(api, targets, dice)).unwrap_or_default();
    let shown =
        || format!("spoiled in way {number}: {}", String::from_utf8_lossy(request.get(..300).unwrap_or(&request)));
    let mut socket = Socket::connect(api.port)?;
    socket.stream().set_read_timeout(Some(ANSWER))?;
    match socket.write(&request).and_then(|()| socket.stream().shutdown(std::net::Shutdown::Write)) {
        Err(error) if !is_gone(&error) => return Err(error).with_context(shown),
        _ => {}
    }
    match response_of(&mut socket) {
        Ok(response) if response.status >= 500 => {
            bail!("{} {}\n{}", response.status, String::from_utf8_lossy(&response.body), shown())
        }
        Ok(response) if response.status >= 400 => {
            // What our own code refuses is explained; hyper refuses what is no HTTP without a word.
            let explained = response.kind.starts_with("application/problem+json") || response.body.is_empty();
            ensure!(explained, "{} without a problem, as {}\n{}", response.status, response.kind, shown());
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) if is_gone(&error) || error.kind() == io::ErrorKind::InvalidData => Ok(()),
        Err(error) => Err(error).with_context(shown),
    }
}

fn head(api: &Api, method: &str, path: &str, headers: &str) -> Vec<u8> {
    api.head(method, path, headers).into_bytes()
}

fn with_body(api: &Api, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut request = head(api, "POST", path, headers);
    request.extend_from_slice(body);
    request
}

fn json(api: &Api, path: &str, body: &[u8]) -> Vec<u8> {
    let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    with_body(api, path, &headers, body)
}

fn of(targets: &Targets, dice: &mut Dice, what: &str) -> String {
    let session = if dice.once_in(2) { &targets.ended } else { &targets.open };
    format!("/api/sessions/{session}/{what}")
}

fn noise(dice: &mut Dice, most: usize) -> Vec<u8> {
    (0..dice.below(most)).map(|_| u8::try_from(dice.below(256)).unwrap_or_default()).collect()
}

/// A word that may be in any place.
pub fn word(dice: &mut Dice) -> String {
    let words = ["", "*", "..", "%00", "%2e%2e%2f", "../../etc/passwd", "a b", "\u{1f980}", "null", "-1"];
    dice.pick(&words).copied().unwrap_or_default().to_owned()
}

fn number(dice: &mut Dice) -> String {
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
    dice.pick(&numbers).copied().unwrap_or_default().to_owned()
}

/// Some JSON, not always.
pub fn value(dice: &mut Dice) -> String {
    match dice.below(10) {
        0 => "null".to_owned(),
        1 => "true".to_owned(),
        2 => number(dice),
        3 => "{}".to_owned(),
        4 => "[]".to_owned(),
        5 => format!("\"{}\"", word(dice)),
        6 => format!("{{\"type\":{},\"x\":[{}]}}", number(dice), number(dice)),
        7 => "\"\\ud800\"".to_owned(),
        8 => format!("\"{}\"", "y".repeat(dice.below(200_000))),
        _ => "\"text hello\"".to_owned(),
    }
}

/// A request for a session that is nearly right. Only agents that are built in are named.
fn session(dice: &mut Dice) -> String {
    let agent = dice.pick(&["echo", "script", "nobody", ""]).copied().unwrap_or_default();
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
    let field = dice.pick(&fields).copied().unwrap_or_default();
    let other = dice.pick(&["projectId", "sessionId", "images", "command", "env", "fork", "timeoutSeconds"]);
    let (other, first, second) = (other.copied().unwrap_or_default(), value(dice), value(dice));
    format!(r#"{{"agentType":"{agent}","prompt":"text x","config":{{"{field}":{first}}},"{other}":{second}}}"#)
}

fn decision(dice: &mut Dice) -> String {
    let decision =
        dice.pick(&["accept", "acceptForSession", "decline", "cancel", "sure", ""]).copied().unwrap_or_default();
    format!(r#"{{"decision":"{decision}","answers":{},"input":{}}}"#, value(dice), value(dice))
}
