//! Conversations over WebSocket that no client should have.

use std::io;

use anyhow::{Context as _, bail};
use switchboard_testkit::{
    dice::Dice,
    load::{Api, End, Socket, WebSocket, mask},
};

use super::{
    ANSWER, Targets, is_gone,
    raw::{value, word},
};

/// What is said, and what must come of it.
struct Said {
    bytes: Vec<u8>,
    then: Then,
}

/// What must come of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The server ends it.
    Ends,
    /// There is a reply.
    Reply,
    /// Nothing; the client goes away.
    Leaves,
}

/// A conversation with a session that is open, so that the server has no other reason to end it.
pub fn one(api: &Api, targets: &Targets, dice: &mut Dice) -> anyhow::Result<()> {
    let said = said(dice);
    let shown = || format!("said: {:?}", String::from_utf8_lossy(said.bytes.get(..200).unwrap_or(&said.bytes)));
    let socket = Socket::with_buffer(api.port, 16 << 10)?;
    socket.stream().set_read_timeout(Some(ANSWER))?;
    let path = format!("/ws/sessions/{}?after=1000000", targets.open);
    let mut feed = WebSocket::open(socket, api, &path).context("no WebSocket")?;
    match feed.socket().write(&said.bytes) {
        Err(error) if is_gone(&error) => return Ok(()),
        written => written.with_context(shown)?,
    }
    if said.then == Then::Leaves {
        return Ok(());
    }
    heard(&mut feed, said.then).with_context(shown)
}

fn heard(feed: &mut WebSocket, then: Then) -> anyhow::Result<()> {
    loop {
        let mut is_reply = false;
        let end = feed.next(&mut |message| {
            is_reply |= [&b"\"type\":\"reply\""[..], b"\"type\":\"pong\""]
                .iter()
                .any(|kind| memchr::memmem::find(message.text, kind).is_some());
        });
        match (end, then) {
            (Ok(None), Then::Reply) if is_reply => return Ok(()),
            (Ok(None), _) => {}
            (Ok(Some(End::Closed(Some(1011)))), _) => bail!("the server failed"),
            (Ok(Some(_)), Then::Ends) => return Ok(()),
            (Ok(Some(end)), _) => bail!("there was no reply, but {end:?}"),
            (Err(error), Then::Ends) if is_gone(&error) => return Ok(()),
            (Err(error), _) => return Err(unanswered(error)),
        }
    }
}

fn unanswered(error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error).context("no answer came")
}

fn said(dice: &mut Dice) -> Said {
    let ends = |bytes: Vec<u8>| Said { bytes, then: Then::Ends };
    match dice.below(15) {
        // Not masked, reserved bits, kinds that nobody knows.
        0 => ends(vec![0x81, 2, b'{', b'}']),
        1 => ends(mask(0xf1, b"{}")),
        2 => ends(mask(0x83, b"{}")),
        3 => ends(mask(0x8b, b"{}")),
        // Controls that are too long or in parts, a continuation of nothing, a text that begins in another.
        4 => ends(mask(0x89, &[b'x'; 200])),
        5 => ends(mask(0x09, b"x")),
        6 => ends(mask(0x80, b"x")),
        7 => ends([mask(0x01, b"a"), mask(0x81, b"b")].concat()),
        // Sizes that nobody has, and a text that is none.
        8 => ends(vec![0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]),
        9 => ends(vec![0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4]),
        10 => ends(mask(0x81, &[0xff, 0xfe, 0xc0])),
        11 => ends(mask(0x88, &[0x03, 0xff, 0xff])),
        // Half a frame, and nothing more.
        12 => Said { bytes: vec![0x81, 0xfe, 0x10, 0, 1, 2, 3, 4, b'x'], then: Then::Leaves },
        13 => Said { bytes: mask(0x82, value(dice).as_bytes()), then: Then::Reply },
        _ => Said { bytes: mask(0x81, command(dice).as_bytes()), then: Then::Reply },
    }
}

/// A command that is nearly right. None that would end the session for all others.
fn command(dice: &mut Dice) -> String {
    let kinds = ["ping", "approval", "prompt", "interupt", "", "reply", "session.ended"];
    let kind = dice.pick(&kinds).copied().unwrap_or_default();
    let (id, prompt) = (value(dice), value(dice));
    match dice.below(4) {
        0 => value(dice),
        1 => "{".repeat(dice.below(5_000)),
        // A prompt of the right shape would begin another turn; a number is of the wrong one.
        2 => format!(r#"{{"type":"{kind}","id":{id},"decision":"{}","prompt":7}}"#, word(dice)),
        _ => format!(r#"{{"type":{prompt},"id":{id}}}"#),
    }
}
