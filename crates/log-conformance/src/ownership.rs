//! Owners of sessions, and the sessions of dead owners.

use std::{sync::Barrier, thread};

use switchboard_store::{AgentRun, ProcessIdentity, SessionFilter, SessionLog, SessionPatch, SessionPhase, StoreError};

use crate::{
    LogStorage,
    fixture::{
        append_and_wait, done_patch, log_with_session, make_run, new_session, run_patch, session_ids, stored_seqs,
        text_events, wait_for_head, wait_until,
    },
};

pub fn only_the_owner_appends(storage: &dyn LogStorage) {
    let (first, second) = (log_with_session(storage), storage.open_log());
    wait_for_head(&*second, "s", 0);
    let outcome = append_and_wait(&*second, "s", text_events("s", 1..=1), SessionPatch::default());
    assert!(matches!(outcome, Err(StoreError::NotOwner(_))), "{outcome:?}");
    assert!(matches!(second.claim_session("s", None), Err(StoreError::NotOwner(_))));
    append_and_wait(&*first, "s", text_events("s", 1..=1), done_patch()).unwrap();
    let before = first.get_session("s").unwrap().unwrap();
    let claimed = second.claim_session("s", None).unwrap();
    assert!(claimed.owner.is_some() && claimed.owner != before.owner);
    append_and_wait(&*second, "s", text_events("s", 2..=2), SessionPatch::default()).unwrap();
    let outcome = append_and_wait(&*first, "s", text_events("s", 3..=3), SessionPatch::default());
    assert!(matches!(outcome, Err(StoreError::NotOwner(_))), "{outcome:?}");
    // A process that lost a session cannot append as if nothing had happened, even with the right number.
    let outcome = append_and_wait(&*first, "s", vec![], SessionPatch::default());
    assert!(matches!(outcome, Err(StoreError::NotOwner(_))), "{outcome:?}");
    assert_eq!(stored_seqs(&*second, "s"), [1, 2]);
}

pub fn a_session_is_claimed_with_its_head(storage: &dyn LogStorage) {
    let (first, second) = (log_with_session(storage), storage.open_log());
    append_and_wait(&*first, "s", text_events("s", 1..=5), done_patch()).unwrap();
    let stale = second.claim_session("s", Some(4));
    assert!(matches!(stale, Err(StoreError::NotOwner(_))), "{stale:?}");
    let claimed = second.claim_session("s", Some(5)).unwrap();
    assert_eq!((claimed.head, claimed.state), (5, SessionPhase::Running));
    // The events of the other process can be read now.
    assert_eq!(stored_seqs(&*second, "s"), [1, 2, 3, 4, 5]);
    let stale = first.claim_session("s", Some(5));
    assert!(matches!(stale, Err(StoreError::NotOwner(_))), "{stale:?}");
    append_and_wait(&*second, "s", text_events("s", 6..=6), done_patch()).unwrap();
    let claimed = first.claim_session("s", Some(6)).unwrap();
    assert_eq!(claimed.head, 6);
    append_and_wait(&*first, "s", text_events("s", 7..=7), SessionPatch::default()).unwrap();
    assert_eq!(stored_seqs(&*first, "s"), [1, 2, 3, 4, 5, 6, 7]);
}

pub fn one_of_concurrent_claims_succeeds(storage: &dyn LogStorage) {
    let logs = [log_with_session(storage), storage.open_log(), storage.open_log()];
    append_and_wait(&*logs[0], "s", text_events("s", 1..=2), done_patch()).unwrap();
    let start = Barrier::new(2);
    let claim = |log: &dyn SessionLog| {
        start.wait();
        log.claim_session("s", Some(2))
    };
    let outcomes = thread::scope(|scope| {
        [&logs[1], &logs[2]].map(|log| scope.spawn(|| claim(&**log))).map(|thread| thread.join().unwrap())
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    for (log, outcome) in logs[1..].iter().zip(outcomes) {
        let appended = append_and_wait(&**log, "s", text_events("s", 3..=3), SessionPatch::default());
        assert_eq!(appended.is_ok(), outcome.is_ok(), "{outcome:?} {appended:?}");
        assert!(matches!(outcome, Ok(_) | Err(StoreError::NotOwner(_))), "{outcome:?}");
    }
}

pub fn sessions_of_a_dead_process_are_taken_over_once(storage: &dyn LogStorage) {
    let dying = storage.open_log();
    for number in 0..20 {
        let id = format!("s{number}");
        dying.create_session(new_session(&id)).unwrap();
        append_and_wait(&*dying, &id, text_events(&id, 1..=2), run_patch(make_run(false))).unwrap();
    }
    let known = AgentRun { agent: Some(ProcessIdentity { pid: 21, start: 22 }), ..make_run(false) };
    append_and_wait(&*dying, "s0", vec![], run_patch(known)).unwrap();
    append_and_wait(&*dying, "s1", vec![], run_patch(make_run(true))).unwrap();
    append_and_wait(&*dying, "s2", vec![], done_patch()).unwrap();
    let logs = [storage.open_log(), storage.open_log()];
    logs.iter().for_each(|log| wait_for_head(&**log, "s19", 2));
    assert!(logs[0].list_abandoned().unwrap().is_empty());
    assert!(logs[0].take_over().unwrap().is_empty());
    assert!(matches!(logs[0].claim_session("s0", None), Err(StoreError::NotOwner(_))));

    drop(dying);
    for log in &logs {
        wait_until("the process counts as dead", || log.list_abandoned().unwrap().len() == 19);
    }
    let abandoned = logs[1].list_abandoned().unwrap();
    assert_eq!(abandoned[0].runs[0].agent, Some(ProcessIdentity { pid: 21, start: 22 }));
    assert_eq!(abandoned[0].runs[0].supervisor, Some(ProcessIdentity { pid: 11, start: 12 }));
    assert!(abandoned[1].runs.is_empty(), "its run had ended");

    let start = Barrier::new(2);
    let take = |log: &dyn SessionLog| {
        start.wait();
        log.take_over().unwrap()
    };
    let taken = thread::scope(|scope| {
        logs.each_ref().map(|log| scope.spawn(|| take(&**log))).map(|thread| thread.join().unwrap())
    });
    assert_eq!(taken[0].len() + taken[1].len(), 19);
    for (log, taken) in logs.iter().zip(taken) {
        for left in taken {
            assert_eq!(left.session.owner, log.get_session(&left.session.id).unwrap().unwrap().owner);
            let failed = SessionPatch { state: Some(SessionPhase::Failed), ..SessionPatch::default() };
            append_and_wait(&**log, &left.session.id, text_events(&left.session.id, 3..=3), failed).unwrap();
        }
    }
    for log in &logs {
        wait_until("all sessions have ended", || log.list_abandoned().unwrap().is_empty());
    }
}

pub fn a_session_of_a_dead_process_can_be_claimed(storage: &dyn LogStorage) {
    let (dying, log) = (log_with_session(storage), storage.open_log());
    append_and_wait(&*dying, "s", text_events("s", 1..=2), SessionPatch::default()).unwrap();
    wait_for_head(&*log, "s", 2);
    drop(dying);
    wait_until("the process counts as dead", || log.list_abandoned().unwrap().len() == 1);
    assert_eq!(log.claim_session("s", Some(2)).unwrap().head, 2);
    assert!(log.list_abandoned().unwrap().is_empty());
    append_and_wait(&*log, "s", text_events("s", 3..=3), SessionPatch::default()).unwrap();
    assert_eq!(stored_seqs(&*log, "s"), [1, 2, 3]);
}

pub fn runs_are_kept_in_order(storage: &dyn LogStorage) {
    let log = log_with_session(storage);
    let second = AgentRun { run: 2, ..make_run(false) };
    for run in [make_run(false), second.clone(), make_run(true)] {
        append_and_wait(&*log, "s", vec![], run_patch(run)).unwrap();
    }
    assert_eq!(log.list_runs("s").unwrap(), [make_run(true), second]);
    assert_eq!(session_ids(&log.list_sessions(&SessionFilter::default()).unwrap()), ["s"]);
}

pub fn any_process_archives(storage: &dyn LogStorage) {
    let (owner, other) = (log_with_session(storage), storage.open_log());
    wait_for_head(&*other, "s", 0);
    append_and_wait(&*owner, "s", text_events("s", 1..=1), SessionPatch::default()).unwrap();
    other.set_archived("s", true).unwrap();
    assert!(other.get_session("s").unwrap().unwrap().archived);
    // The owner continues and does not undo it.
    append_and_wait(&*owner, "s", text_events("s", 2..=2), SessionPatch::default()).unwrap();
    for log in [&owner, &other] {
        wait_for_head(&**log, "s", 2);
        wait_until("the session is archived", || log.get_session("s").unwrap().unwrap().archived);
    }
}
