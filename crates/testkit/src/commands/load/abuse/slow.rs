//! Clients that take their time: heads that come byte by byte, bodies likewise, some who do not read what they asked
//! for, and some who say nothing.

use std::{
    io::Write as _,
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use switchboard_testkit::{dice::Dice, load::Api};

use super::Targets;

/// How often a slow one says something.
const BEAT: Duration = Duration::from_millis(200);

/// One of them, with what it has still to say.
struct Slow {
    stream: TcpStream,
    rest: Vec<u8>,
}

/// So many of them, for a while.
pub fn some(api: &Api, targets: &Targets, count: u32, time: Duration, dice: &mut Dice) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut all: Vec<Slow> = Vec::new();
    for number in 0..count {
        all.push(Slow::new(api, targets, dice).with_context(|| format!("slow client {number}"))?);
    }
    while began.elapsed() < time {
        all.iter_mut().for_each(Slow::go_on);
        thread::sleep(BEAT);
    }
    Ok(())
}

impl Slow {
    fn new(api: &Api, targets: &Targets, dice: &mut Dice) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", api.port))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let body = "Content-Type: application/json\r\nContent-Length: 100000\r\n";
        let stalled = format!("/api/sessions/{}/stream?dialect=trace", targets.ended);
        let (at_once, rest) = match dice.below(4) {
            0 => (String::new(), String::new()),
            1 => (String::new(), api.head("GET", "/api/sessions", &"X-Slow: yes\r\n".repeat(100))),
            2 => (api.head("POST", "/api/sessions", body), format!("{{\"prompt\":\"{}", "x".repeat(90_000))),
            _ => (api.head("GET", &stalled, ""), String::new()),
        };
        let mut slow = Self { stream, rest: rest.into_bytes() };
        slow.stream.write_all(at_once.as_bytes())?;
        Ok(slow)
    }

    /// One byte more. That the server has had enough of it is fine.
    fn go_on(&mut self) {
        if !self.rest.is_empty() {
            let byte = self.rest.remove(0);
            drop(self.stream.write_all(&[byte]));
        }
    }
}
