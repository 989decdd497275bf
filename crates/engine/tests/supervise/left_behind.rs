//! What agents start and forget: none of it outlives them.

use std::time::Duration;

use switchboard_engine::supervise::Exit;

use crate::stage::{is_alive, marked, play, spec};

const DONE: Exit = Exit { code: Some(0), signal: None };

/// Ends an agent that started others, and looks for them.
async fn check(role: &[&str], count: usize) {
    let spec = spec(role);
    let mut agent = play(&spec).await;
    let processes = agent.all_introduced(count).await;
    assert!(processes.iter().any(|process| is_alive(*process)), "{role:?}");
    agent.control.stop(Duration::from_millis(1));
    agent.gone().await;
    assert_eq!(marked(&spec.session), [], "{role:?}");
    assert!(!processes.iter().any(|process| is_alive(*process)), "{role:?}");
    assert_eq!(agent.rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn children_are_killed() {
    check(&["parent-of", "sleep"], 2).await;
}

#[tokio::test]
async fn whoever_ignores_signals_is_killed() {
    check(&["deaf-parent-of", "deaf-parent-of", "deaf"], 3).await;
}

#[tokio::test]
async fn whoever_leaves_the_session_is_killed() {
    check(&["deaf-parent-of", "runaway"], 2).await;
}

#[tokio::test]
async fn orphans_are_killed() {
    check(&["deaf-parent-of", "leave-behind", "leave-behind", "runaway"], 2).await;
}

#[tokio::test]
async fn whoever_hides_its_mark_is_killed() {
    check(&["deaf-parent-of", "nameless", "runaway"], 2).await;
}

#[tokio::test]
async fn who_stays_after_the_agent_is_killed() {
    let mut agent = play(&spec(&["leave-behind", "leave-behind", "runaway"])).await;
    assert_eq!(agent.control.exit().await, DONE);
    agent.gone().await;
    // It may have been killed before it could say who it is.
    for line in agent.rest().await {
        assert!(!is_alive(crate::stage::introduced(&line)));
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
async fn whoever_forks_all_the_time_is_killed() {
    let spec = spec(&["swarm", "12"]);
    let mut agent = play(&spec).await;
    assert_eq!(agent.line().await.as_deref(), Some("swarming"));
    assert_eq!(agent.control.exit().await, DONE);
    agent.gone().await;
    assert_eq!(marked(&spec.session), []);
}
