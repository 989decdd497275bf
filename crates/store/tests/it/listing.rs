//! Lists of sessions, and lookups by name.

use switchboard_store::{NewSession, SessionFilter, SessionLog as _, SessionPhase};

use crate::fixture::{new_session, open_store, temp_dir, test_time};

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
