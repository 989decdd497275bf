//! Lists of sessions, and what people call one.

use switchboard_store::{Filter, Log as _, NewSession, State, Store, StoreError, Update};
use tempfile::TempDir;

use crate::fixture::{append, folder, ids, new, open, time};

/// Four sessions, the last one newest.
fn four() -> (TempDir, Store) {
    let folder = folder();
    let store = open(folder.path());
    for (second, (id, agent, project, prompt)) in (0..).zip([
        ("0190aa", "echo", None, "Fix the TEST"),
        ("0190ab", "script", Some("p"), "write 100%"),
        ("0191ff", "echo", Some("p"), "say hello"),
        ("0192ff", "echo", None, "say nothing"),
    ]) {
        let project = project.map(str::to_owned);
        let session =
            NewSession { agent: agent.into(), project, prompt: prompt.to_owned(), created: time(second), ..new(id) };
        store.create(session).unwrap();
    }
    let native = Update { agent_session: Some("abc-1".into()), state: Some(State::Done), ..Update::default() };
    append(&store, "0191ff", vec![], native).unwrap();
    (folder, store)
}

#[test]
fn sessions_are_listed_newest_first_and_filtered() {
    let (_folder, store) = four();
    let all = Filter::default;
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (all(), vec!["0192ff", "0191ff", "0190ab", "0190aa"]),
        (Filter { agent: text("echo"), ..all() }, vec!["0192ff", "0191ff", "0190aa"]),
        (Filter { project: text("p"), ..all() }, vec!["0191ff", "0190ab"]),
        (Filter { cwd: text("/home/me"), limit: Some(1), ..all() }, vec!["0192ff"]),
        (Filter { cwd: text("/home"), ..all() }, vec![]),
        (Filter { states: vec![State::Done], ..all() }, vec!["0191ff"]),
        (Filter { states: vec![State::Done, State::Running], limit: Some(2), ..all() }, vec!["0192ff", "0191ff"]),
        (Filter { states: State::OPEN.to_vec(), ..all() }, vec!["0192ff", "0190ab", "0190aa"]),
        (Filter { since: Some(time(2)), ..all() }, vec!["0192ff", "0191ff"]),
        (Filter { until: Some(time(2)), ..all() }, vec!["0190ab", "0190aa"]),
        (Filter { since: Some(time(1)), until: Some(time(3)), ..all() }, vec!["0191ff", "0190ab"]),
        (Filter { states: vec![State::Running], agent: text("script"), ..all() }, vec!["0190ab"]),
        (Filter { text: text("test"), ..all() }, vec!["0190aa"]),
        (Filter { text: text("%"), ..all() }, vec!["0190ab"]),
        (Filter { prefix: text("0190"), ..all() }, vec!["0190ab", "0190aa"]),
    ] {
        assert_eq!(ids(&store.sessions(&filter).unwrap()), expected, "{filter:?}");
    }
}

#[test]
fn pages_of_a_list_go_on_where_the_last_ended_also_when_that_is_deleted() {
    let (_folder, store) = four();
    let first = store.sessions(&Filter { limit: Some(2), ..Filter::default() }).unwrap();
    assert_eq!(ids(&first), ["0192ff", "0191ff"]);
    store.delete("0191ff").unwrap();
    let rest = store.sessions(&Filter { before: Some(first[1].number), ..Filter::default() }).unwrap();
    assert_eq!(ids(&rest), ["0190ab", "0190aa"]);
}

#[test]
fn people_name_a_session_by_place_id_or_beginning() {
    let (_folder, store) = four();
    let all = Filter::default();
    for (what, expected) in [
        ("last", "0192ff"),
        ("1", "0192ff"),
        ("4", "0190aa"),
        ("0190aa", "0190aa"),
        ("0191", "0191ff"),
        ("abc-1", "0191ff"),
        ("abc", "0191ff"),
    ] {
        assert_eq!(store.find(what, &all).unwrap().id, expected, "{what}");
    }
    let script = Filter { agent: Some("script".to_owned()), ..Filter::default() };
    assert_eq!(store.find("last", &script).unwrap().id, "0190ab");
    for what in ["5", "0", "00", "", "x", "LAST", "-1", "0190aaa"] {
        let found = store.find(what, &all);
        let is_none = matches!(&found, Err(StoreError::NoSession(name)) if name == what);
        assert!(is_none || what == "0" && matches!(found, Err(StoreError::Ambiguous { .. })), "{what}: {found:?}");
    }
}

#[test]
fn a_beginning_of_several_ids_lists_them() {
    let (_folder, store) = four();
    let error = store.find("0190", &Filter::default()).unwrap_err();
    assert_eq!(error.to_string(), "0190 could be any of 0190ab, 0190aa");
}
