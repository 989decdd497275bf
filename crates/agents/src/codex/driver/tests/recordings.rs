//! Feeds recordings of the app-server to a driver that did not make them: it becomes ready, and settles after each
//! turn.

use crate::{
    codex::AGENT,
    driver_tests::{LaunchFixture, replay_transcript},
};

fn check_recording(name: &str, transcript: &str, turns: usize) {
    let effects = replay_transcript(LaunchFixture::default().launch(&AGENT).unwrap(), transcript);
    let count = |effect: &str| effects.iter().filter(|known| *known == effect).count();
    assert_eq!((count("ready"), count("settled")), (1, turns), "{name}");
}

macro_rules! recording {
    ($name:literal, $turns:literal) => {
        check_recording($name, include_str!(concat!("../../testdata/app-server/", $name, ".jsonl")), $turns)
    };
}

#[test]
fn recordings_are_followed() {
    recording!("text", 1);
    recording!("reason", 1);
    recording!("codemode", 1);
    recording!("websearch", 1);
    recording!("steer", 1);
    recording!("error400", 1);
    recording!("disconnect", 1);
    recording!("cmd-decline", 1);
    recording!("cmd-cancel", 1);
    recording!("cmd-baddecision", 1);
    recording!("interrupt", 1);
    recording!("planmode", 1);
    recording!("mcp", 1);
}
