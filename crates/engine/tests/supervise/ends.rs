//! How agents end, by themselves or when asked.

use std::time::Duration;

use rustix::process::{Pid, Signal as Raw, kill_process};
use switchboard_engine::supervise::{ProcessExit, ProcessSpec, StopSignal};
use tokio::io::AsyncWriteExt as _;

use crate::fixtures::{TEST_TIMEOUT, is_alive, marked_processes, play, spec, supervisor_of, wait_for_end};

const fn code(code: i32) -> ProcessExit {
    ProcessExit { code: Some(code), signal: None }
}

const fn signal(signal: i32) -> ProcessExit {
    ProcessExit { code: None, signal: Some(signal) }
}

#[tokio::test]
async fn exit_codes_and_signals_are_reported() {
    let ends: [(&[&str], ProcessExit); 4] = [
        (&["exit", "0"], code(0)),
        (&["exit", "7"], code(7)),
        (&["die", "KILL"], signal(9)),
        (&["die", "ABRT"], signal(6)),
    ];
    for (role, exit) in ends {
        let agent = play(&spec(role)).await;
        assert_eq!(agent.control.exit().await, exit, "{role:?}");
        agent.gone().await;
        assert_eq!(agent.control.exit().await, exit, "reported again");
    }
}

#[tokio::test]
async fn input_is_read_to_its_end() {
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
    let agent = play(&ProcessSpec { has_stdin: false, ..spec(&["cat"]) }).await;
    assert!(agent.stdin.is_none());
    assert_eq!(agent.control.exit().await, code(0));
}

#[tokio::test]
async fn outputs_are_separate() {
    let mut agent = play(&spec(&["outputs"])).await;
    assert_eq!(agent.rest().await, ["to stdout"]);
    assert_eq!(agent.stderr.next_line().await.unwrap().as_deref(), Some("to stderr"));
    assert_eq!(agent.stderr.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn signals_reach_the_agent() {
    let ends = [(StopSignal::Interrupt, code(42)), (StopSignal::Terminate, code(42)), (StopSignal::Kill, signal(9))];
    for (signal, exit) in ends {
        let mut agent = play(&spec(&["polite"])).await;
        agent.announced_process().await;
        agent.control.signal(signal);
        assert_eq!(agent.control.exit().await, exit, "{signal:?}");
    }
}

#[tokio::test]
async fn a_polite_agent_is_asked_and_not_killed() {
    let mut agent = play(&spec(&["polite"])).await;
    agent.announced_process().await;
    agent.control.stop(TEST_TIMEOUT);
    assert_eq!(agent.control.exit().await, code(42));
    agent.gone().await;
}

#[tokio::test]
async fn an_agent_that_ignores_requests_is_killed_after_the_grace() {
    let spec = spec(&["deaf"]);
    let mut agent = play(&spec).await;
    agent.announced_process().await;
    agent.control.signal(StopSignal::Terminate);
    agent.control.stop(TEST_TIMEOUT);
    agent.control.stop(Duration::from_millis(1));
    assert_eq!(agent.control.exit().await, signal(9));
    agent.gone().await;
    assert_eq!(marked_processes(&spec.session), []);
}

#[tokio::test]
async fn the_supervisor_ignores_signals_of_others() {
    let mut agent = play(&spec(&["polite"])).await;
    let process = agent.announced_process().await;
    let supervisor = supervisor_of(process);
    let pid = Pid::from_raw(i32::try_from(supervisor.pid).unwrap()).unwrap();
    for signal in [Raw::INT, Raw::TERM, Raw::HUP, Raw::QUIT] {
        kill_process(pid, signal).unwrap();
    }
    agent.control.signal(StopSignal::Interrupt);
    assert_eq!(agent.control.exit().await, code(42));
    agent.gone().await;
}

#[tokio::test]
async fn waiting_can_be_cancelled_and_repeated() {
    let mut agent = play(&spec(&["polite"])).await;
    agent.announced_process().await;
    let early = tokio::time::timeout(Duration::ZERO, agent.control.exit()).await;
    assert!(early.is_err());
    let early = tokio::time::timeout(Duration::ZERO, agent.control.wait_until_gone()).await;
    assert!(early.is_err());
    agent.control.signal(StopSignal::Interrupt);
    assert_eq!(agent.control.exit().await, code(42));
}

#[tokio::test]
async fn dropping_the_control_kills() {
    let mut agent = play(&spec(&["deaf"])).await;
    let process = agent.announced_process().await;
    assert!(is_alive(process));
    drop(agent.control);
    // Its output ends with it.
    assert_eq!(tokio::time::timeout(TEST_TIMEOUT, agent.stdout.next_line()).await.unwrap().unwrap(), None);
    wait_for_end(process);
}
