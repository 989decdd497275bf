//! What is left when one of the processes above the agent is killed: nothing. And what Ctrl-C on a terminal does.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Lines, Write as _},
    process::{Child, ChildStdout},
};

use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use switchboard_engine::supervise::{Exit, Process};

use crate::stage::{direct, introduced, is_alive, marked, play, session, spec, supervisor_of, wait_for_end};

fn kill(process: Process) {
    kill_process(Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// A process that holds an agent, as Switchboard does.
struct Holder {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Holder {
    fn start(role: &[&str], session: &str) -> Self {
        let mut child = direct(role, session).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn nothing_is_left_when_we_are_killed() {
    let session = session();
    let role = ["hold", "deaf-parent-of", "deaf-parent-of", "leave-behind", "nameless", "runaway"];
    let mut holder = Holder::start(&role, &session);
    // The holder, two parents and the runaway, in any order.
    let processes: Vec<_> = (0..4).map(|_| introduced(&holder.line())).collect();
    assert!(processes.iter().all(|process| is_alive(*process)));
    holder.child.kill().unwrap();
    holder.child.wait().unwrap();
    processes.into_iter().for_each(wait_for_end);
    marked(&session).into_iter().for_each(wait_for_end);
    assert_eq!(marked(&session), []);
}

#[tokio::test]
async fn nothing_is_left_when_the_supervisor_is_killed() {
    let spec = spec(&["deaf-parent-of", "deaf-parent-of", "leave-behind", "runaway"]);
    let mut agent = play(&spec).await;
    let processes = agent.all_introduced(3).await;
    kill(supervisor_of(agent.process));
    assert_eq!(agent.control.exit().await, Exit { code: None, signal: None });
    agent.gone().await;
    assert_eq!(marked(&spec.session), []);
    assert!(!processes.iter().any(|process| is_alive(*process)));
}

#[tokio::test]
async fn the_agent_dies_with_the_supervisor_even_if_nobody_looks() {
    let session = session();
    let mut holder = Holder::start(&["hold", "deaf"], &session);
    let (one, other) = (introduced(&holder.line()), introduced(&holder.line()));
    let agent = if one.pid == holder.child.id() { other } else { one };
    let supervisor = supervisor_of(agent);
    // The holder cannot sweep while it is stopped.
    kill_process(Pid::from_child(&holder.child), Signal::STOP).unwrap();
    kill(supervisor);
    wait_for_end(agent);
}

#[test]
fn ctrl_c_on_the_terminal_is_ours_alone() {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let session = session();
    let mut holder = Holder::start(&["terminal", &path, "cat"], &session);
    assert!(holder.line().starts_with("holder "));
    let mut keyboard = File::from(terminal);
    for _ in 0..2 {
        keyboard.write_all(b"\x03").unwrap();
        assert_eq!(holder.line(), "signal");
        // Neither the supervisor nor the agent has heard of it, and both still work.
        assert_eq!(holder.line(), "ping");
    }
}
