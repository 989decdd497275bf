//! Lists of sessions, and lookups by name.

use switchboard_store::{
    NewSession, SessionFilter, SessionLog as _, SessionPatch, SessionPhase, SqliteStore, StoreError,
};
use tempfile::TempDir;

use crate::fixture::{append_and_wait, new_session, open_store, session_ids, temp_dir, test_time};

/// Creates four sessions, the last one newest.
fn store_with_four_sessions() -> (TempDir, SqliteStore) {
    let folder = temp_dir();
    let store = open_store(folder.path());
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
        store.create_session(session).unwrap();
    }
    let native = SessionPatch {
        agent_session: Some("abc-1".into()),
        state: Some(SessionPhase::Done),
        ..SessionPatch::default()
    };
    append_and_wait(&store, "0191ff", vec![], native).unwrap();
    (folder, store)
}

#[test]
fn sessions_are_listed_newest_first_and_filtered() {
    let (_folder, store) = store_with_four_sessions();
    let all = SessionFilter::default;
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (all(), vec!["0192ff", "0191ff", "0190ab", "0190aa"]),
        (SessionFilter { agent: text("echo"), ..all() }, vec!["0192ff", "0191ff", "0190aa"]),
        (SessionFilter { project: text("p"), ..all() }, vec!["0191ff", "0190ab"]),
        (SessionFilter { cwd: text("/home/me"), limit: Some(1), ..all() }, vec!["0192ff"]),
        (SessionFilter { cwd: text("/home"), ..all() }, vec![]),
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
        assert_eq!(session_ids(&store.list_sessions(&filter).unwrap()), expected, "{filter:?}");
    }
}

#[test]
fn what_is_put_away_is_listed_only_when_it_is_asked_for() {
    let (_folder, store) = store_with_four_sessions();
    store.set_archived("0190ab", true).unwrap();
    store.set_archived("0192ff", true).unwrap();
    store.set_archived("0192ff", false).unwrap();
    for (archived, expected) in [
        (Some(true), vec!["0190ab"]),
        (Some(false), vec!["0192ff", "0191ff", "0190aa"]),
        (None, vec!["0192ff", "0191ff", "0190ab", "0190aa"]),
    ] {
        assert_eq!(
            session_ids(&store.list_sessions(&SessionFilter { archived, ..SessionFilter::default() }).unwrap()),
            expected
        );
    }
    assert!(store.get_session("0190ab").unwrap().unwrap().archived);
    assert!(matches!(store.set_archived("nothing", true), Err(StoreError::NoSession(_))));
}

#[test]
fn pages_of_a_list_go_on_where_the_last_ended_also_when_that_is_deleted() {
    let (_folder, store) = store_with_four_sessions();
    let first = store.list_sessions(&SessionFilter { limit: Some(2), ..SessionFilter::default() }).unwrap();
    assert_eq!(session_ids(&first), ["0192ff", "0191ff"]);
    store.delete_session("0191ff").unwrap();
    let rest =
        store.list_sessions(&SessionFilter { before: Some(first[1].number), ..SessionFilter::default() }).unwrap();
    assert_eq!(session_ids(&rest), ["0190ab", "0190aa"]);
}

#[test]
fn people_name_a_session_by_place_id_or_beginning() {
    let (_folder, store) = store_with_four_sessions();
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
        assert_eq!(store.resolve_session(what, &all).unwrap().id, expected, "{what}");
    }
    let script = SessionFilter { agent: Some("script".to_owned()), ..SessionFilter::default() };
    assert_eq!(store.resolve_session("last", &script).unwrap().id, "0190ab");
    for what in ["5", "0", "00", "", "x", "LAST", "-1", "0190aaa"] {
        let found = store.resolve_session(what, &all);
        let is_none = matches!(&found, Err(StoreError::NoSession(name)) if name == what);
        assert!(is_none || what == "0" && matches!(found, Err(StoreError::Ambiguous { .. })), "{what}: {found:?}");
    }
}

#[test]
fn a_beginning_of_several_ids_lists_them() {
    let (_folder, store) = store_with_four_sessions();
    let error = store.resolve_session("0190", &SessionFilter::default()).unwrap_err();
    assert_eq!(error.to_string(), "0190 could be any of 0190ab, 0190aa");
}

#[test]
fn pages_of_ten_thousand_sessions_are_whole_and_each_begins_where_it_should() {
    let folder = temp_dir();
    drop(open_store(folder.path()));
    let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    log.execute_batch(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000)
         INSERT INTO sessions (id, agent, state, open, created, updated, ended, project, cwd, prompt, config)
         SELECT printf('%05d', n), 'echo', CASE n % 100 WHEN 0 THEN 'running' ELSE 'done' END, n % 100 = 0, n, n,
             iif(n % 100 = 0, NULL, n), 'p' || (n % 7), '/w', hex(zeroblob(2000)), '{}' FROM n",
    )
    .unwrap();
    let store = open_store(folder.path());
    let of_three = SessionFilter { project: Some("p3".to_owned()), limit: Some(50), ..SessionFilter::default() };
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = store.list_sessions(&SessionFilter { before, ..of_three.clone() }).unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.number);
        seen.extend(page.iter().map(|session| session.number));
        // Sessions created meanwhile are newer and do not shift the pages.
        store
            .create_session(NewSession {
                project: Some("p3".to_owned()),
                ..new_session(&format!("new-{}", seen.len()))
            })
            .unwrap();
    }
    let expected: Vec<u64> = (1..=10_000).rev().filter(|number| number % 7 == 3).collect();
    assert!(seen == expected, "{} of {}", seen.len(), expected.len());
    let open_ones = SessionFilter {
        states: SessionPhase::OPEN.to_vec(),
        until: Some(test_time(-1_000_000)),
        ..SessionFilter::default()
    };
    assert_eq!(store.list_sessions(&open_ones).unwrap().len(), 100);

    let plan = |question: &str| -> String {
        let mut plan = log.prepare(&format!("EXPLAIN QUERY PLAN {question}")).unwrap();
        plan.query_map([], |row| row.get::<_, String>(3)).unwrap().map(Result::unwrap).collect()
    };
    let page = "SELECT * FROM sessions WHERE number < 9 AND (7 IS NULL OR agent = 7) ORDER BY number DESC LIMIT 5";
    assert_eq!(plan(page), "SEARCH sessions USING INTEGER PRIMARY KEY (rowid<?)");
    let ended = "SELECT id, ended FROM sessions WHERE open = 0 ORDER BY ended, number";
    assert_eq!(plan(ended), "SCAN sessions USING INDEX ended_sessions");
}
