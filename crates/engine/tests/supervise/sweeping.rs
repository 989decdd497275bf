//! Finding what a crashed run left, and leaving alone everything else.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout},
};

use switchboard_engine::supervise::{Process, Swept, sweep};

use crate::stage::{direct, introduced, is_alive, session};

/// Processes without a supervisor, killed when dropped.
struct Stray(Child, std::io::Lines<BufReader<ChildStdout>>);

impl Stray {
    fn start(role: &[&str], session: &str) -> Self {
        let mut child = direct(role, session).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self(child, lines)
    }

    fn introduced(&mut self) -> Process {
        introduced(&self.1.next().unwrap().unwrap())
    }
}

impl Drop for Stray {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn marked_processes_and_their_descendants_are_killed() {
    let session = session();
    // The runaway has no mark, but a parent that has.
    let mut stray = Stray::start(&["deaf-parent-of", "runaway"], &session);
    let mut orphan = Stray::start(&["leave-behind", "runaway"], &session);
    let processes = [stray.introduced(), stray.introduced(), orphan.introduced()];
    let swept = sweep(&session, &[]).unwrap();
    // The one that leaves a runaway behind may not have left yet.
    assert!((3..=4).contains(&swept.killed) && swept.left.is_empty(), "{swept:?}");
    assert!(!processes.into_iter().any(is_alive));
    assert_eq!(sweep(&session, &processes).unwrap(), Swept::default());
}

#[test]
fn known_processes_and_their_descendants_are_killed() {
    let mut stray = Stray::start(&["deaf-parent-of", "deaf-parent-of", "runaway"], &session());
    let processes = [stray.introduced(), stray.introduced(), stray.introduced()];
    let known = processes.into_iter().find(|process| process.pid == stray.0.id()).unwrap();
    assert_eq!(sweep(&session(), &[known]).unwrap(), Swept { killed: 3, left: Vec::new() });
    assert!(!processes.into_iter().any(is_alive));
}

#[test]
fn another_process_with_the_same_pid_is_left_alone() {
    let session = session();
    let mut stray = Stray::start(&["sleep"], &session);
    let process = stray.introduced();
    let earlier = Process { start_time: process.start_time - 1, ..process };
    assert_eq!(sweep("another-session", &[earlier]).unwrap(), Swept::default());
    assert_eq!(sweep("", &[earlier]).unwrap(), Swept::default());
    assert!(is_alive(process));
}

#[test]
fn a_mark_that_only_begins_the_same_is_another() {
    let session = session();
    let mut stray = Stray::start(&["sleep"], &format!("{session}-other"));
    let process = stray.introduced();
    assert_eq!(sweep(&session, &[]).unwrap(), Swept::default());
    assert!(is_alive(process));
}

#[test]
fn we_are_spared() {
    let pid = std::process::id();
    let own = Process { pid, start_time: switchboard_engine::supervise::start_time(pid).unwrap() };
    assert_eq!(sweep(&session(), &[own]).unwrap(), Swept::default());
}
