//! Fake agents misbehave as their scripts say, and a stage gets rid of them.

#![cfg(test)]

use std::{fs, path::Path, time::Duration};

use rustix::process::Signal;
use switchboard_agents::source;
use switchboard_event::{Body, Details, Outcome};
use switchboard_testkit::{
    fake,
    play::events,
    stage::{Ended, Programs, Running, Stage},
};

/// A stage without real agents.
fn stage() -> Stage {
    Stage::new(&Programs { clis: "/nowhere".into(), node: "/nowhere".into() }).unwrap()
}

fn start(stage: &Stage, script: &str, args: &[&str]) -> Running {
    let program = fake::program(stage.root(), "fake", script).unwrap();
    stage.start(&program, args).unwrap()
}

/// Runs a fake to its end, with some input.
fn run(script: &str, input: &str) -> Ended {
    let stage = stage();
    let mut running = start(&stage, script, &[]);
    running.say(input).unwrap();
    running.close_input();
    running.end().unwrap()
}

/// What the agent said, and what became of its requests, as a source reads it.
fn heard(name: &str, stdout: &str) -> (String, Vec<Outcome>) {
    let (mut text, mut outcomes) = (String::new(), Vec::new());
    for event in events(source(name).unwrap(), stdout.as_bytes()) {
        match event.body {
            Body::ItemCompleted(item) => {
                if let Details::AgentMessage(message) = item.details {
                    text.push_str(&message.text);
                }
            }
            Body::RequestResolved(resolved) => outcomes.push(resolved.outcome),
            _ => {}
        }
    }
    (text, outcomes)
}

const CONVERSATION: &str = "open\nsay Hello. \nask touch x\nsay  Bye.\nflood 3 100000\ndone\nwait";

#[test]
fn a_fake_speaks_in_messages() {
    let allow = r#"{"type":"control_response","response":{"subtype":"success","request_id":"request-1","response":{"behavior":"allow","updatedInput":{}}}}"#;
    let user = r#"{"type":"user","message":{"role":"user","content":"x"}}"#;
    let initialize = r#"{"type":"control_request","request_id":"a","request":{"subtype":"initialize"}}"#;
    let ended = run(CONVERSATION, &format!("{initialize}\n{user}\n{allow}\n"));
    assert!(ended.stdout.lines().next().unwrap().contains(r#""request_id":"a""#), "{}", ended.shown());
    let (text, outcomes) = heard("claude", &ended.stdout);
    assert!(text.starts_with("Hello. allowed Bye."), "{text}\n{}", ended.shown());
    assert_eq!((outcomes.len(), ended.code), (1, Some(0)));
}

#[test]
fn a_fake_speaks_in_json_rpc() {
    let input = [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"reject"}}}"#,
    ];
    let ended = run(&format!("speak acp\n{CONVERSATION}"), &format!("{}\n", input.join("\n")));
    let (text, outcomes) = heard("acp", &ended.stdout);
    assert!(text.starts_with("Hello. declined Bye."), "{text}\n{}", ended.shown());
    assert!(ended.stdout.contains(r#""stopReason":"end_turn""#), "{}", ended.shown());
    assert_eq!((outcomes.len(), ended.code), (1, Some(0)));
}

#[test]
fn nothing_is_allowed_by_silence() {
    let user = r#"{"type":"user","message":{"role":"user","content":"x"}}"#;
    let ended = run(CONVERSATION, &format!("{user}\n"));
    assert!(heard("claude", &ended.stdout).0.contains("declined"), "{}", ended.shown());
}

#[test]
fn a_fake_crashes_in_the_middle_of_a_line() {
    let ended = run("print {}\npart {\"type\":\ncrash\nprint never", "");
    assert_eq!((ended.stdout.as_str(), ended.signal), ("{}\n{\"type\":", Some(9)));
}

#[test]
fn a_fake_ends_without_a_word() {
    assert_eq!(
        (run("exit 3", "").code, run("", "").code, run("complain x", "").stderr.as_str()),
        (Some(3), Some(0), "x\n")
    );
}

#[test]
fn a_fake_closes_its_output_and_lives_on() {
    let ended = run("print a\nclose stdout\nprint b\ncomplain c", "");
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str(), ended.code), ("a\n", "c\n", Some(0)));
}

#[test]
fn a_fake_prints_much_and_nonsense() {
    let ended = run("garbage 5\nline 1000000\nflood 100 1000000", "");
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(lines.first().copied(), Some("\u{fffd}".repeat(5).as_str()));
    assert!(lines[1].len() > 1_000_000 && lines[1].ends_with('}'));
    let (text, _) = heard("claude", &lines[2..].join("\n"));
    let times: Vec<u128> = text.split_whitespace().map(|time| time.parse().unwrap()).collect();
    assert!(times.len() == 100 && times.is_sorted(), "{times:?}");
}

#[test]
fn a_fake_has_a_version() {
    let stage = stage();
    let ended = start(&stage, "version 9.8.7 (Fake)\nhang", &["--version"]).end().unwrap();
    assert_eq!((ended.stdout.as_str(), ended.code), ("9.8.7 (Fake)\n", Some(0)));
}

#[test]
fn a_fake_ignores_signals() {
    let stage = stage();
    let mut running = start(&stage, "ignore\nprint ready\nprompt\nprint still here\nhang", &[]);
    running.wait_for("that it is ready", |text| text.contains("ready")).unwrap();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        running.signal(signal).unwrap();
    }
    running.say("{\"type\":\"user\"}\n").unwrap();
    running.wait_for("that it is still here", |text| text.contains("still here")).unwrap();
}

#[test]
fn a_child_outlives_a_fake_but_not_the_stage() {
    for words in ["setsid", "orphan", "setsid orphan stubborn holds"] {
        let stage = stage();
        let mut running = start(&stage, &format!("child {words}\nprint ready\nhang"), &[]);
        running.wait_for("that it is ready", |text| text.contains("ready")).unwrap();
        running.close_input();
        assert_eq!(stage.left_behind().len(), 2, "{:?}", stage.left_behind());
        drop(running);
        let left = stage.left_behind_after(Duration::ZERO);
        assert!(left.len() == 1 && left[0].command.contains("fake-child"), "{words}: {left:?}");
        let root = stage.root().to_owned();
        drop(stage);
        assert!(!alive(left[0].pid) && !root.exists(), "{words}");
    }
}

/// There is such a process, and it has not ended.
fn alive(pid: i32) -> bool {
    fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).is_ok_and(|command| !command.is_empty())
}
