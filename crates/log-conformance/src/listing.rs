//! Lists of sessions, and lookups by name.

use switchboard_store::{NewSession, SessionFilter, SessionLog, SessionPatch, SessionPhase, StoreError};

use crate::{
    LogStorage,
    fixture::{append_and_wait, new_session, session_ids, test_time},
};

/// Creates four sessions, the last one newest.
fn log_with_four_sessions(storage: &dyn LogStorage) -> Box<dyn SessionLog> {
    let log = storage.open_log();
    for (second, (id, agent, project, prompt)) in (0..).zip([
        ("0190aa", "echo", None, "Fix the TEST"),
        ("0190ab", "script", Some("p"), "write 100%"),
        ("0191ff", "echo", Some("p"), "say hello"),
        ("0192ff", "echo", None, "say nothing"),
    ]) {
        let project = project.map(str::to_owned);
        let session = NewSession {
            agent: agent.into(),
            project,
            prompt: prompt.to_owned(),
            created: test_time(second),
            ..new_session(id)
        };
        log.create_session(session).unwrap();
    }
    let native = SessionPatch {
        agent_session: Some("abc-1".into()),
        state: Some(SessionPhase::Done),
        ..SessionPatch::default()
    };
    append_and_wait(&*log, "0191ff", vec![], native).unwrap();
    log
}

pub fn sessions_are_listed_newest_first_and_filtered(storage: &dyn LogStorage) {
    let log = log_with_four_sessions(storage);
    let all = SessionFilter::default;
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (all(), vec!["0192ff", "0191ff", "0190ab", "0190aa"]),
        (SessionFilter { agent: text("echo"), ..all() }, vec!["0192ff", "0191ff", "0190aa"]),
        (SessionFilter { project: text("p"), ..all() }, vec!["0191ff", "0190ab"]),
        (SessionFilter { cwd: text("/home/me"), limit: Some(1), ..all() }, vec!["0192ff"]),
        (SessionFilter { cwd: text("/home"), ..all() }, vec![]),
        (SessionFilter { node: text("nowhere"), ..all() }, vec![]),
        (SessionFilter { states: vec![SessionPhase::Done], ..all() }, vec!["0191ff"]),
        (
            SessionFilter { states: vec![SessionPhase::Done, SessionPhase::Running], limit: Some(2), ..all() },
            vec!["0192ff", "0191ff"],
        ),
        (SessionFilter { states: SessionPhase::OPEN.to_vec(), ..all() }, vec!["0192ff", "0190ab", "0190aa"]),
        (SessionFilter { since: Some(test_time(2)), ..all() }, vec!["0192ff", "0191ff"]),
        (SessionFilter { until: Some(test_time(2)), ..all() }, vec!["0190ab", "0190aa"]),
        (SessionFilter { since: Some(test_time(1)), until: Some(test_time(3)), ..all() }, vec!["0191ff", "0190ab"]),
        (SessionFilter { states: vec![SessionPhase::Running], agent: text("script"), ..all() }, vec!["0190ab"]),
        (SessionFilter { text: text("test"), ..all() }, vec!["0190aa"]),
        (SessionFilter { text: text("%"), ..all() }, vec!["0190ab"]),
        (SessionFilter { prefix: text("0190"), ..all() }, vec!["0190ab", "0190aa"]),
    ] {
        assert_eq!(session_ids(&log.list_sessions(&filter).unwrap()), expected, "{filter:?}");
    }
}

pub fn archived_sessions_are_listed_on_request(storage: &dyn LogStorage) {
    let log = log_with_four_sessions(storage);
    log.set_archived("0190ab", true).unwrap();
    log.set_archived("0192ff", true).unwrap();
    log.set_archived("0192ff", false).unwrap();
    for (archived, expected) in [
        (Some(true), vec!["0190ab"]),
        (Some(false), vec!["0192ff", "0191ff", "0190aa"]),
        (None, vec!["0192ff", "0191ff", "0190ab", "0190aa"]),
    ] {
        let filter = SessionFilter { archived, ..SessionFilter::default() };
        assert_eq!(session_ids(&log.list_sessions(&filter).unwrap()), expected);
    }
    assert!(log.get_session("0190ab").unwrap().unwrap().archived);
}

pub fn a_page_of_the_list_continues_after_a_deletion(storage: &dyn LogStorage) {
    let log = log_with_four_sessions(storage);
    let first = log.list_sessions(&SessionFilter { limit: Some(2), ..SessionFilter::default() }).unwrap();
    assert_eq!(session_ids(&first), ["0192ff", "0191ff"]);
    log.delete_session("0191ff").unwrap();
    let rest = log.list_sessions(&SessionFilter { before: Some(first[1].number), ..SessionFilter::default() }).unwrap();
    assert_eq!(session_ids(&rest), ["0190ab", "0190aa"]);
}

pub fn sessions_are_resolved_by_position_id_or_prefix(storage: &dyn LogStorage) {
    let log = log_with_four_sessions(storage);
    let all = SessionFilter::default();
    for (what, expected) in [
        ("last", "0192ff"),
        ("1", "0192ff"),
        ("4", "0190aa"),
        ("0190aa", "0190aa"),
        ("0191", "0191ff"),
        ("abc-1", "0191ff"),
        ("abc", "0191ff"),
    ] {
        assert_eq!(log.resolve_session(what, &all).unwrap().id, expected, "{what}");
    }
    let script = SessionFilter { agent: Some("script".to_owned()), ..SessionFilter::default() };
    assert_eq!(log.resolve_session("last", &script).unwrap().id, "0190ab");
    for what in ["5", "0", "00", "", "x", "LAST", "-1", "0190aaa"] {
        let found = log.resolve_session(what, &all);
        let is_none = matches!(&found, Err(StoreError::NoSession(name)) if name == what);
        assert!(is_none || what == "0" && matches!(found, Err(StoreError::Ambiguous { .. })), "{what}: {found:?}");
    }
    let error = log.resolve_session("0190", &all).unwrap_err();
    assert_eq!(error.to_string(), "0190 could be any of 0190ab, 0190aa");
}
