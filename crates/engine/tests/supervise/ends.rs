//! How agents end, by themselves or when asked.

use std::time::Duration;

use rustix::process::{Pid, Signal as Raw, kill_process};
use switchboard_engine::supervise::{Exit, Input, Signal, Spec};
use tokio::io::AsyncWriteExt as _;

use crate::stage::{LONG, is_alive, marked, play, spec, wait_for_end};

const fn code(code: i32) -> Exit {
    Exit { code: Some(code), signal: None }
}

const fn signal(signal: i32) -> Exit {
    Exit { code: None, signal: Some(signal) }
}

#[tokio::test]
async fn exit_codes_and_signals_are_told() {
    let ends: [(&[&str], Exit); 4] = [
        (&["exit", "0"], code(0)),
        (&["exit", "7"], code(7)),
        (&["die", "KILL"], signal(9)),
        (&["die", "ABRT"], signal(6)),
    ];
    for (role, exit) in ends {
        let agent = play(&spec(role)).await;
        assert_eq!(agent.control.exit().await, exit, "{role:?}");
        agent.gone().await;
        assert_eq!(agent.control.exit().await, exit, "told again");
    }
}

#[tokio::test]
async fn what_is_written_is_read_and_the_end_of_input_is_seen() {
    let mut agent = play(&spec(&["cat"])).await;
    let mut stdin = agent.stdin.take().unwrap();
    stdin.write_all(b"one\n").await.unwrap();
    assert_eq!(agent.line().await.as_deref(), Some("one"));
    stdin.write_all(b"two\n").await.unwrap();
    drop(stdin);
    assert_eq!(agent.rest().await, ["two"]);
    assert_eq!(agent.control.exit().await, code(0));
}

#[tokio::test]
async fn closed_input_is_at_its_end() {
    let agent = play(&Spec { stdin: Input::Closed, ..spec(&["cat"]) }).await;
    assert!(agent.stdin.is_none());
    assert_eq!(agent.control.exit().await, code(0));
}

#[tokio::test]
async fn outputs_are_apart() {
    let mut agent = play(&spec(&["outputs"])).await;
    assert_eq!(agent.rest().await, ["to stdout"]);
    assert_eq!(agent.stderr.next_line().await.unwrap().as_deref(), Some("to stderr"));
    assert_eq!(agent.stderr.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn signals_reach_the_agent() {
    let ends = [(Signal::Interrupt, code(42)), (Signal::Terminate, code(42)), (Signal::Kill, signal(9))];
    for (asked, exit) in ends {
        let mut agent = play(&spec(&["polite"])).await;
        agent.introduced().await;
        agent.control.signal(asked);
        assert_eq!(agent.control.exit().await, exit, "{asked:?}");
    }
}

#[tokio::test]
async fn a_polite_agent_is_asked_and_not_killed() {
    let mut agent = play(&spec(&["polite"])).await;
    agent.introduced().await;
    agent.control.stop(LONG);
    assert_eq!(agent.control.exit().await, code(42));
    agent.gone().await;
}

#[tokio::test]
async fn an_agent_that_ignores_requests_is_killed_after_the_grace() {
    let spec = spec(&["deaf"]);
    let mut agent = play(&spec).await;
    agent.introduced().await;
    agent.control.signal(Signal::Terminate);
    agent.control.stop(LONG);
    agent.control.stop(Duration::from_millis(1));
    assert_eq!(agent.control.exit().await, signal(9));
    agent.gone().await;
    assert_eq!(marked(&spec.session), []);
}

#[tokio::test]
async fn the_supervisor_heeds_only_us() {
    let mut agent = play(&spec(&["polite"])).await;
    let process = agent.introduced().await;
    let supervisor = crate::stage::supervisor_of(process);
    let pid = Pid::from_raw(i32::try_from(supervisor.pid).unwrap()).unwrap();
    for signal in [Raw::INT, Raw::TERM, Raw::HUP, Raw::QUIT] {
        kill_process(pid, signal).unwrap();
    }
    agent.control.signal(Signal::Interrupt);
    assert_eq!(agent.control.exit().await, code(42));
    agent.gone().await;
}

#[tokio::test]
async fn waiting_can_be_given_up_and_taken_up() {
    let mut agent = play(&spec(&["polite"])).await;
    agent.introduced().await;
    let early = tokio::time::timeout(Duration::ZERO, agent.control.exit()).await;
    assert!(early.is_err());
    let early = tokio::time::timeout(Duration::ZERO, agent.control.gone()).await;
    assert!(early.is_err());
    agent.control.signal(Signal::Interrupt);
    assert_eq!(agent.control.exit().await, code(42));
}

#[tokio::test]
async fn letting_go_kills() {
    let mut agent = play(&spec(&["deaf"])).await;
    let process = agent.introduced().await;
    assert!(is_alive(process));
    drop(agent.control);
    // Its output ends with it.
    assert_eq!(tokio::time::timeout(LONG, agent.stdout.next_line()).await.unwrap().unwrap(), None);
    wait_for_end(process);
}
