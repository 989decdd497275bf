//! The nodes of a cluster as others see them.

use switchboard_cluster::{ClusterLog, ClusterOptions, NatsCredentials, NodeState};
use switchboard_log_conformance::fixture::new_session;
use switchboard_store::{SessionLog as _, StoreError};

use crate::nats::{NatsCluster, wait_for};

fn state_of(log: &ClusterLog, name: &str) -> Option<NodeState> {
    log.nodes().into_iter().find(|node| node.description.name == name).map(|node| node.state)
}

#[test]
fn nodes_see_each_other() {
    let Some(nats) = NatsCluster::single() else { return };
    let (a, b) = (nats.open("a"), nats.open("b"));
    for log in [&a, &b] {
        for name in ["a", "b"] {
            wait_for("the node is up", || (state_of(log, name) == Some(NodeState::Up)).then_some(()));
        }
    }
    b.update_node(|node| {
        node.labels = vec!["gpu".to_owned()];
        node.sessions = 3;
        node.is_draining = true;
        node.address = Some("https://b.internal:8443".to_owned());
    });
    wait_for("the node drains", || (state_of(&a, "b") == Some(NodeState::Draining)).then_some(()));
    let seen = a.nodes().into_iter().find(|node| node.description.name == "b").unwrap();
    assert_eq!((seen.description.labels, seen.description.sessions), (vec!["gpu".to_owned()], 3));
    assert_eq!(seen.description.address.as_deref(), Some("https://b.internal:8443"));
    assert_eq!((seen.version.as_str(), seen.owners), (env!("CARGO_PKG_VERSION"), vec![b.owner_number()]));
    b.create_session(new_session("s")).unwrap();
    wait_for("the session is visible", || a.get_session("s").unwrap());
    assert_eq!(a.session_node("s").unwrap(), "b");
    drop(b);
    wait_for("the node is gone", || (state_of(&a, "b") == Some(NodeState::Gone)).then_some(()));
    drop(nats.open("c"));
    wait_for("ended nodes are remembered", || (state_of(&a, "c") == Some(NodeState::Gone)).then_some(()));
}

#[test]
fn a_name_belongs_to_one_node() {
    let Some(nats) = NatsCluster::single() else { return };
    let _first = nats.open("a");
    let elsewhere = nats.directory.path().join("elsewhere");
    let error = ClusterLog::open(ClusterOptions { data_directory: elsewhere, ..nats.options("a") }).err().unwrap();
    assert!(matches!(&error, StoreError::Cluster(message) if message.contains("\"a\"")), "{error:?}");
    // Another process on the same machine joins under the same name.
    let second = nats.open("a");
    assert_eq!(second.nodes().len(), 1);
    second.create_session(new_session("s")).unwrap();
}

#[test]
fn credentials_are_required_where_the_server_requires_them() {
    let Some(nats) = NatsCluster::single_with("authorization { user: switchboard, password: secret }\n") else {
        return;
    };
    let login = |password: &str| NatsCredentials::UserPassword("switchboard".to_owned(), password.to_owned());
    let options = |password: &str| ClusterOptions { credentials: login(password), ..nats.options("a") };
    let error = ClusterLog::open(options("wrong")).err().unwrap();
    assert!(matches!(error, StoreError::Cluster(_)), "{error:?}");
    assert!(!error.to_string().contains("wrong"), "{error}");
    let log = ClusterLog::open(options("secret")).unwrap();
    log.create_session(new_session("s")).unwrap();
}
