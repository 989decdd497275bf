//! No process is left: not when an agent ends, when a process above it is killed, or after a sweep. Sweeps kill the
//! processes of a crashed run and no others.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Lines, Write as _},
    process::{Child, ChildStdout},
    time::Duration,
};

use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use switchboard_engine::supervise::{ProcessExit, ProcessRef, SweepResult, sweep_session};

use crate::fixtures::{
    announced_process, direct_command, is_alive, marked_processes, play, session, spec, supervisor_of, wait_for_end,
};

const DONE: ProcessExit = ProcessExit { code: Some(0), signal: None };

#[tokio::test]
async fn descendants_are_killed_with_their_agent() {
    for (role, count) in [
        (&["parent-of", "sleep"][..], 2),
        (&["deaf-parent-of", "deaf-parent-of", "deaf"], 3),
        (&["deaf-parent-of", "runaway"], 2),
        (&["deaf-parent-of", "leave-behind", "leave-behind", "runaway"], 2),
        (&["deaf-parent-of", "nameless", "runaway"], 2),
    ] {
        let spec = spec(role);
        let mut agent = play(&spec).await;
        let processes = agent.announced_processes(count).await;
        assert!(processes.iter().any(|process| is_alive(*process)), "{role:?}");
        agent.control.stop(Duration::from_millis(1));
        agent.gone().await;
        assert_eq!(marked_processes(&spec.session), [], "{role:?}");
        assert!(!processes.iter().any(|process| is_alive(*process)), "{role:?}");
        assert_eq!(agent.rest().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn processes_that_stay_after_the_agent_are_killed() {
    let mut agent = play(&spec(&["leave-behind", "leave-behind", "runaway"])).await;
    assert_eq!(agent.control.exit().await, DONE);
    agent.gone().await;
    // It may have been killed before it could announce itself.
    for line in agent.rest().await {
        assert!(!is_alive(announced_process(&line)));
    }
}

#[tokio::test]
async fn an_output_that_a_grandchild_holds_open_ends() {
    let mut agent = play(&spec(&["leave-behind", "deaf"])).await;
    assert_eq!(agent.control.exit().await, DONE);
    agent.rest().await;
    agent.gone().await;
}

#[tokio::test]
async fn processes_that_fork_all_the_time_are_killed() {
    let spec = spec(&["swarm", "12"]);
    let mut agent = play(&spec).await;
    assert_eq!(agent.line().await.as_deref(), Some("swarming"));
    assert_eq!(agent.control.exit().await, DONE);
    agent.gone().await;
    assert_eq!(marked_processes(&spec.session), []);
}

fn kill(process: ProcessRef) {
    kill_process(Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// A process without a supervisor, killed when dropped.
struct DirectProcess {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl DirectProcess {
    fn start(role: &[&str], session: &str) -> Self {
        let mut child = direct_command(role, session).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    fn announced_process(&mut self) -> ProcessRef {
        announced_process(&self.line())
    }
}

impl Drop for DirectProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn nothing_is_left_when_switchboard_is_killed() {
    let session = session();
    let role = ["hold", "deaf-parent-of", "deaf-parent-of", "leave-behind", "nameless", "runaway"];
    let mut holder = DirectProcess::start(&role, &session);
    // The holder, two parents and the runaway, in any order.
    let processes: Vec<_> = (0..4).map(|_| holder.announced_process()).collect();
    assert!(processes.iter().all(|process| is_alive(*process)));
    holder.child.kill().unwrap();
    holder.child.wait().unwrap();
    processes.into_iter().for_each(wait_for_end);
    marked_processes(&session).into_iter().for_each(wait_for_end);
    assert_eq!(marked_processes(&session), []);
}

#[tokio::test]
async fn nothing_is_left_when_the_supervisor_is_killed() {
    let spec = spec(&["deaf-parent-of", "deaf-parent-of", "leave-behind", "runaway"]);
    let mut agent = play(&spec).await;
    let processes = agent.announced_processes(3).await;
    kill(supervisor_of(agent.process));
    assert_eq!(agent.control.exit().await, ProcessExit { code: None, signal: None });
    agent.gone().await;
    assert_eq!(marked_processes(&spec.session), []);
    assert!(!processes.iter().any(|process| is_alive(*process)));
}

#[tokio::test]
async fn the_agent_dies_with_the_supervisor_without_a_watcher() {
    let session = session();
    let mut holder = DirectProcess::start(&["hold", "deaf"], &session);
    let (one, other) = (holder.announced_process(), holder.announced_process());
    let agent = if one.pid == holder.child.id() { other } else { one };
    let supervisor = supervisor_of(agent);
    // The holder cannot sweep while it is stopped.
    kill_process(Pid::from_child(&holder.child), Signal::STOP).unwrap();
    kill(supervisor);
    wait_for_end(agent);
}

#[test]
fn ctrl_c_on_the_terminal_reaches_switchboard_alone() {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let session = session();
    let mut holder = DirectProcess::start(&["terminal", &path, "cat"], &session);
    assert!(holder.line().starts_with("holder "));
    let mut keyboard = File::from(terminal);
    for _ in 0..2 {
        keyboard.write_all(b"\x03").unwrap();
        assert_eq!(holder.line(), "signal");
        // Neither the supervisor nor the agent got the signal, and both still work.
        assert_eq!(holder.line(), "ping");
    }
}

#[test]
fn marked_processes_and_their_descendants_are_killed() {
    let session = session();
    // The runaway has no mark, but its parent has.
    let mut stray = DirectProcess::start(&["deaf-parent-of", "runaway"], &session);
    let mut orphan = DirectProcess::start(&["leave-behind", "runaway"], &session);
    let processes = [stray.announced_process(), stray.announced_process(), orphan.announced_process()];
    let swept = sweep_session(&session, &[]).unwrap();
    // The one that leaves a runaway behind may not have left yet.
    assert!((3..=4).contains(&swept.killed) && swept.left.is_empty(), "{swept:?}");
    assert!(!processes.into_iter().any(is_alive));
    assert_eq!(sweep_session(&session, &processes).unwrap(), SweepResult::default());
}

#[test]
fn known_processes_and_their_descendants_are_killed() {
    let mut stray = DirectProcess::start(&["deaf-parent-of", "deaf-parent-of", "runaway"], &session());
    let processes = [stray.announced_process(), stray.announced_process(), stray.announced_process()];
    let known = processes.into_iter().find(|process| process.pid == stray.child.id()).unwrap();
    assert_eq!(sweep_session(&session(), &[known]).unwrap(), SweepResult { killed: 3, left: Vec::new() });
    assert!(!processes.into_iter().any(is_alive));
}

#[test]
fn another_process_with_the_same_pid_is_left_alone() {
    let session = session();
    let mut stray = DirectProcess::start(&["sleep"], &session);
    let process = stray.announced_process();
    let earlier = ProcessRef { start_time: process.start_time - 1, ..process };
    assert_eq!(sweep_session("another-session", &[earlier]).unwrap(), SweepResult::default());
    assert_eq!(sweep_session("", &[earlier]).unwrap(), SweepResult::default());
    assert!(is_alive(process));
}

#[test]
fn a_mark_with_the_same_beginning_is_another() {
    let session = session();
    let mut stray = DirectProcess::start(&["sleep"], &format!("{session}-other"));
    let process = stray.announced_process();
    assert_eq!(sweep_session(&session, &[]).unwrap(), SweepResult::default());
    assert!(is_alive(process));
}

#[test]
fn this_process_is_spared() {
    let pid = std::process::id();
    let own = ProcessRef { pid, start_time: switchboard_engine::supervise::process_start_time(pid).unwrap() };
    assert_eq!(sweep_session(&session(), &[own]).unwrap(), SweepResult::default());
}
