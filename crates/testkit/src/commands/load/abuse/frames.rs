//! WebSocket conversations that violate the protocol.

use std::io;

use anyhow::{Context as _, bail};
use switchboard_testkit::{
    dice::SeededRng,
    load::{BufferedSocket, FeedEnd, TestApiClient, WebSocketFeed, masked_frame},
};

use super::{
    ANSWER_TIMEOUT, AbuseTargets, is_connection_closed,
    raw::{random_json, random_word},
};

struct AbuseMessage {
    bytes: Vec<u8>,
    then: ExpectedReaction,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedReaction {
    /// The server closes the connection.
    Ends,
    /// The server replies.
    Reply,
    /// Nothing; the client disconnects.
    Leaves,
}

/// Uses an open session, so that the server has no other reason to close the connection.
pub fn run_conversation(api: &TestApiClient, targets: &AbuseTargets, dice: &mut SeededRng) -> anyhow::Result<()> {
    let said = random_message(dice);
    let shown = || format!("said: {:?}", String::from_utf8_lossy(said.bytes.get(..200).unwrap_or(&said.bytes)));
    let socket = BufferedSocket::with_buffer(api.port, 16 << 10)?;
    socket.tcp_stream().set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let path = format!("/ws/sessions/{}?after=1000000", targets.open);
    let mut feed = WebSocketFeed::open(socket, api, &path).context("no WebSocket")?;
    match feed.inner_socket().write(&said.bytes) {
        Err(error) if is_connection_closed(&error) => return Ok(()),
        written => written.with_context(shown)?,
    }
    if said.then == ExpectedReaction::Leaves {
        return Ok(());
    }
    check_reaction(&mut feed, said.then).with_context(shown)
}

fn check_reaction(feed: &mut WebSocketFeed, then: ExpectedReaction) -> anyhow::Result<()> {
    loop {
        let mut is_reply = false;
        let end = feed.next(&mut |message| {
            is_reply |= [&b"\"type\":\"reply\""[..], b"\"type\":\"pong\""]
                .iter()
                .any(|kind| memchr::memmem::find(message.text, kind).is_some());
        });
        match (end, then) {
            (Ok(None), ExpectedReaction::Reply) if is_reply => return Ok(()),
            (Ok(None), _) => {}
            (Ok(Some(FeedEnd::Closed(Some(1011)))), _) => bail!("the server failed"),
            (Ok(Some(_)), ExpectedReaction::Ends) => return Ok(()),
            (Ok(Some(end)), _) => bail!("there was no reply, but {end:?}"),
            (Err(error), ExpectedReaction::Ends) if is_connection_closed(&error) => return Ok(()),
            (Err(error), _) => return Err(no_answer_error(error)),
        }
    }
}

fn no_answer_error(error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error).context("no answer came")
}

fn random_message(dice: &mut SeededRng) -> AbuseMessage {
    let ends = |bytes: Vec<u8>| AbuseMessage { bytes, then: ExpectedReaction::Ends };
    match dice.next_below(15) {
        // Unmasked, reserved bits, unknown opcodes.
        0 => ends(vec![0x81, 2, b'{', b'}']),
        1 => ends(masked_frame(0xf1, b"{}")),
        2 => ends(masked_frame(0x83, b"{}")),
        3 => ends(masked_frame(0x8b, b"{}")),
        // Control frames that are too long or fragmented, a continuation without a beginning, a text within another
        // one.
        4 => ends(masked_frame(0x89, &[b'x'; 200])),
        5 => ends(masked_frame(0x09, b"x")),
        6 => ends(masked_frame(0x80, b"x")),
        7 => ends([masked_frame(0x01, b"a"), masked_frame(0x81, b"b")].concat()),
        // Impossible sizes, and text that is not UTF-8.
        8 => ends(vec![0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]),
        9 => ends(vec![0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4]),
        10 => ends(masked_frame(0x81, &[0xff, 0xfe, 0xc0])),
        11 => ends(masked_frame(0x88, &[0x03, 0xff, 0xff])),
        // Half a frame.
        12 => AbuseMessage { bytes: vec![0x81, 0xfe, 0x10, 0, 1, 2, 3, 4, b'x'], then: ExpectedReaction::Leaves },
        13 => AbuseMessage { bytes: masked_frame(0x82, random_json(dice).as_bytes()), then: ExpectedReaction::Reply },
        _ => AbuseMessage { bytes: masked_frame(0x81, random_command(dice).as_bytes()), then: ExpectedReaction::Reply },
    }
}

/// Returns an almost valid command. None may end the session for the other clients.
fn random_command(dice: &mut SeededRng) -> String {
    let kinds = ["ping", "approval", "prompt", "interupt", "", "reply", "session.ended"];
    let kind = dice.choose(&kinds).copied().unwrap_or_default();
    let (id, prompt) = (random_json(dice), random_json(dice));
    match dice.next_below(4) {
        0 => random_json(dice),
        1 => "{".repeat(dice.next_below(5_000)),
        // A valid prompt would start another turn; a number is invalid.
        2 => format!(r#"{{"type":"{kind}","id":{id},"decision":"{}","prompt":7}}"#, random_word(dice)),
        _ => format!(r#"{{"type":{prompt},"id":{id}}}"#),
    }
}
