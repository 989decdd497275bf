//! Slow clients: heads and bodies byte by byte, unread responses, and silence.

use std::{
    io::Write as _,
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use switchboard_testkit::{dice::SeededRng, load::TestApiClient};

use super::AbuseTargets;

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
