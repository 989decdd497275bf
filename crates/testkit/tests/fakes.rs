//! Fake agents misbehave as scripted, and the stage cleans up after them.

#![cfg(test)]

use std::{fs, path::Path, time::Duration};

use rustix::process::Signal;
use switchboard_agents::find_source;
use switchboard_event::{Details, EventBody, Outcome};
use switchboard_testkit::fake;
use switchboard_testkit::recording::stream_events;
use switchboard_testkit::stage::{AgentStage, StageProcess, StageProcessOutput, StagePrograms};

fn new_stage() -> AgentStage {
    AgentStage::new(&StagePrograms { clis: "/nowhere".into(), node: "/nowhere".into() }).unwrap()
}

fn start_fake(stage: &AgentStage, script: &str, args: &[&str]) -> StageProcess {
    let program = fake::write_fake_program(stage.root_dir(), "fake", script).unwrap();
    stage.start_process(&program, args).unwrap()
}

fn run_fake(script: &str, input: &str) -> StageProcessOutput {
    let stage = new_stage();
    let mut running = start_fake(&stage, script, &[]);
    running.write_input(input).unwrap();
    running.close_input();
    running.wait_for_exit().unwrap()
}

/// Returns the agent's text and the outcomes of its requests, as a source parses them.
fn text_and_outcomes(name: &str, stdout: &str) -> (String, Vec<Outcome>) {
    let (mut text, mut outcomes) = (String::new(), Vec::new());
    for event in stream_events(find_source(name).unwrap(), stdout.as_bytes()) {
        match event.body {
            EventBody::ItemCompleted(item) => {
                if let Details::AgentMessage(message) = item.details {
                    text.push_str(&message.text);
                }
            }
            EventBody::RequestResolved(resolved) => outcomes.push(resolved.outcome),
            _ => {}
        }
    }
    (text, outcomes)
}

const CONVERSATION_SCRIPT: &str = "open\nsay Hello. \nask touch x\nsay  Bye.\nflood 3 100000\ndone\nwait";

#[test]
fn a_fake_speaks_in_messages() {
    let allow = r#"{"type":"control_response","response":{"subtype":"success","request_id":"request-1","response":{"behavior":"allow","updatedInput":{}}}}"#;
    let user = r#"{"type":"user","message":{"role":"user","content":"x"}}"#;
    let initialize = r#"{"type":"control_request","request_id":"a","request":{"subtype":"initialize"}}"#;
    let ended = run_fake(CONVERSATION_SCRIPT, &format!("{initialize}\n{user}\n{allow}\n"));
    assert!(ended.stdout.lines().next().unwrap().contains(r#""request_id":"a""#), "{}", ended.describe_output());
    let (text, outcomes) = text_and_outcomes("claude", &ended.stdout);
    assert!(text.starts_with("Hello. allowed Bye."), "{text}\n{}", ended.describe_output());
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
    let ended = run_fake(&format!("speak acp\n{CONVERSATION_SCRIPT}"), &format!("{}\n", input.join("\n")));
    let (text, outcomes) = text_and_outcomes("acp", &ended.stdout);
    assert!(text.starts_with("Hello. declined Bye."), "{text}\n{}", ended.describe_output());
    assert!(ended.stdout.contains(r#""stopReason":"end_turn""#), "{}", ended.describe_output());
    assert_eq!((outcomes.len(), ended.code), (1, Some(0)));
}

#[test]
fn nothing_is_allowed_by_silence() {
    let user = r#"{"type":"user","message":{"role":"user","content":"x"}}"#;
    let ended = run_fake(CONVERSATION_SCRIPT, &format!("{user}\n"));
    assert!(text_and_outcomes("claude", &ended.stdout).0.contains("declined"), "{}", ended.describe_output());
}

#[test]
fn a_fake_crashes_in_the_middle_of_a_line() {
    let ended = run_fake("print {}\npart {\"type\":\ncrash\nprint never", "");
    assert_eq!((ended.stdout.as_str(), ended.signal), ("{}\n{\"type\":", Some(9)));
}

#[test]
fn a_fake_ends_without_a_word() {
    assert_eq!(
        (run_fake("exit 3", "").code, run_fake("", "").code, run_fake("complain x", "").stderr.as_str()),
        (Some(3), Some(0), "x\n")
    );
}

#[test]
fn a_fake_closes_its_output_and_lives_on() {
    let ended = run_fake("print a\nclose stdout\nprint b\ncomplain c", "");
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str(), ended.code), ("a\n", "c\n", Some(0)));
}

#[test]
fn a_fake_prints_much_and_nonsense() {
    let ended = run_fake("garbage 5\nline 1000000\nflood 100 1000000", "");
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(lines.first().copied(), Some("\u{fffd}".repeat(5).as_str()));
    assert!(lines[1].len() > 1_000_000 && lines[1].ends_with('}'));
    let (text, _) = text_and_outcomes("claude", &lines[2..].join("\n"));
    let times: Vec<u128> = text.split_whitespace().map(|time| time.parse().unwrap()).collect();
    assert!(times.len() == 100 && times.is_sorted(), "{times:?}");
}

#[test]
fn a_fake_has_a_version() {
    let stage = new_stage();
    let ended = start_fake(&stage, "version 9.8.7 (Fake)\nhang", &["--version"]).wait_for_exit().unwrap();
    assert_eq!((ended.stdout.as_str(), ended.code), ("9.8.7 (Fake)\n", Some(0)));
}

#[test]
fn a_fake_ignores_signals() {
    let stage = new_stage();
    let mut running = start_fake(&stage, "ignore\nprint ready\nprompt\nprint still here\nhang", &[]);
    running.wait_for_output("that it is ready", |text| text.contains("ready")).unwrap();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        running.send_signal(signal).unwrap();
    }
    running.write_input("{\"type\":\"user\"}\n").unwrap();
    running.wait_for_output("that it is still here", |text| text.contains("still here")).unwrap();
}

#[test]
fn a_child_outlives_a_fake_but_not_the_stage() {
    for words in ["setsid", "orphan", "setsid orphan stubborn holds"] {
        let stage = new_stage();
        let mut running = start_fake(&stage, &format!("child {words}\nprint ready\nhang"), &[]);
        running.wait_for_output("that it is ready", |text| text.contains("ready")).unwrap();
        running.close_input();
        assert_eq!(stage.leftover_processes().len(), 2, "{:?}", stage.leftover_processes());
        drop(running);
        let left = stage.leftover_processes_after(Duration::ZERO);
        assert!(left.len() == 1 && left[0].command.contains("fake-child"), "{words}: {left:?}");
        let root = stage.root_dir().to_owned();
        drop(stage);
        assert!(!is_alive(left[0].pid) && !root.exists(), "{words}");
    }
}

fn is_alive(pid: i32) -> bool {
    fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).is_ok_and(|command| !command.is_empty())
}
