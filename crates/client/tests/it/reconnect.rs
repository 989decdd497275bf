//! Every message arrives once and in order across broken connections.

use futures_util::StreamExt as _;
use switchboard_client::{
    AgentErrorKind, FeedRoute, NetworkTransport, ReconnectPolicy, RemoteServer, Transport as _, follow_lines,
    http::{HttpClient, ServerAddress},
};

use crate::server::{
    CloseBehavior, FlakyServer, ServerBehavior, SocketBehavior, event_json, fast_reconnect, message_json,
};

const EVENT_COUNT: usize = 300;

/// Returns the received `seq`s and the requested paths while the server publishes its events.
async fn received_events(habits: ServerBehavior, seed: u64, reconnect: ReconnectPolicy) -> (Vec<u64>, Vec<String>) {
    let server = FlakyServer::new((1..=EVENT_COUNT).map(event_json).collect(), habits, seed).await;
    let transport = NetworkTransport::new(RemoteServer::new(&server.url, None).unwrap()).with_reconnect(reconnect);
    let reading = async {
        let events = transport.follow_events("s", 0);
        events.map(|event| event.unwrap().seq).collect::<Vec<_>>().await
    };
    let (heard, ()) = tokio::join!(reading, server.publish_gradually());
    (heard, server.requested_paths())
}

/// Returns the received lines and the requested paths while the server publishes its lines.
async fn received_lines(habits: ServerBehavior, seed: u64, reconnect: ReconnectPolicy) -> (Vec<String>, Vec<String>) {
    let server = FlakyServer::new((1..=EVENT_COUNT).map(message_json).collect(), habits, seed).await;
    let client = HttpClient::new(ServerAddress::parse(&server.url).unwrap(), None).unwrap();
    let reading =
        follow_lines(client, FeedRoute::for_session("s"), 0, reconnect).map(Result::unwrap).collect::<Vec<_>>();
    let (heard, ()) = tokio::join!(reading, server.publish_gradually());
    (heard, server.requested_paths())
}

fn all_events() -> Vec<u64> {
    (1..=EVENT_COUNT as u64).collect()
}

fn all_lines() -> Vec<String> {
    (1..=EVENT_COUNT).map(message_json).collect()
}

fn count_sockets(asked: &[String]) -> usize {
    asked.iter().filter(|path| path.starts_with("/ws/")).count()
}

#[tokio::test]
async fn connections_that_are_cut_anywhere() {
    let mut most = 0;
    for seed in 0..12 {
        let habits = ServerBehavior { cut: Some(20_000), ..ServerBehavior::default() };
        let (heard, asked) = received_events(habits.clone(), seed, fast_reconnect()).await;
        assert_eq!(heard, all_events(), "events, {seed}");
        most = most.max(count_sockets(&asked));
        for places in [true, false] {
            // A server that replays everything needs connections that live long enough.
            let cut = Some(if places { 20_000 } else { 200_000 });
            let habits = ServerBehavior { places, close: CloseBehavior::Normally, cut, ..habits.clone() };
            let (heard, asked) = received_lines(habits, seed, fast_reconnect()).await;
            assert_eq!(heard, all_lines(), "lines, {seed} {places}");
            most = most.max(count_sockets(&asked));
        }
    }
    assert!(most > 5, "connections were cut {most} times at most");
}

#[tokio::test]
async fn whatever_way_it_is_closed() {
    for close in [CloseBehavior::SessionEnded, CloseBehavior::Normally, CloseBehavior::Not] {
        let habits = ServerBehavior { close, ..ServerBehavior::default() };
        assert_eq!(received_events(habits.clone(), 1, fast_reconnect()).await.0, all_events());
        for places in [true, false] {
            assert_eq!(
                received_lines(ServerBehavior { places, ..habits.clone() }, 1, fast_reconnect()).await.0,
                all_lines()
            );
        }
    }
}

#[tokio::test]
async fn pages_where_websockets_cannot_be_had() {
    for sockets in
        [SocketBehavior::Refused(400), SocketBehavior::Refused(404), SocketBehavior::Refused(503), SocketBehavior::Shut]
    {
        for cut in [None, Some(20_000)] {
            let habits = ServerBehavior { sockets, cut, ..ServerBehavior::default() };
            let (heard, asked) = received_events(habits.clone(), 7, fast_reconnect()).await;
            assert_eq!(heard, all_events());
            assert!(asked.iter().any(|path| path.contains("/events?")), "{asked:?}");
            assert_eq!(received_lines(habits, 7, fast_reconnect()).await.0, all_lines());
        }
    }
    let only = ReconnectPolicy { polling_only: true, ..fast_reconnect() };
    let (heard, asked) = received_lines(ServerBehavior::default(), 7, only).await;
    assert_eq!(heard, all_lines());
    assert!(asked.iter().all(|path| !path.starts_with("/ws/")), "{asked:?}");
}

#[tokio::test]
async fn a_socket_that_works_needs_no_pages() {
    let (heard, asked) = received_events(ServerBehavior::default(), 1, fast_reconnect()).await;
    assert_eq!((heard, asked.len()), (all_events(), 1), "{asked:?}");
}

#[tokio::test]
async fn behind_a_place() {
    let server = FlakyServer::new((1..=EVENT_COUNT).map(event_json).collect(), ServerBehavior::default(), 1).await;
    server.finish_session();
    let transport = NetworkTransport::new(RemoteServer::new(&server.url, None).unwrap());
    let heard: Vec<u64> = transport.follow_events("s", 290).map(|event| event.unwrap().seq).collect().await;
    assert_eq!(heard, (291..=300).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_missing_is_never_passed_over() {
    let lines: Vec<String> = [1, 2, 4, 5].map(event_json).to_vec();
    for polling_only in [false, true] {
        let server = FlakyServer::new(lines.clone(), ServerBehavior::default(), 1).await;
        server.finish_session();
        let reconnect = ReconnectPolicy { polling_only, ..fast_reconnect() };
        let transport = NetworkTransport::new(RemoteServer::new(&server.url, None).unwrap()).with_reconnect(reconnect);
        let mut events = transport.follow_events("s", 0);
        assert_eq!(events.next().await.unwrap().unwrap().seq, 1);
        assert_eq!(events.next().await.unwrap().unwrap().seq, 2);
        let error = events.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind, AgentErrorKind::ProtocolError, "{error}");
        assert!(error.message.contains("event 4 came after event 2"), "{error}");
        assert!(events.next().await.is_none());
    }
}

#[tokio::test]
async fn a_server_that_stays_away_is_given_up() {
    let server = FlakyServer::new(vec![event_json(1), event_json(2)], ServerBehavior::default(), 1).await;
    server.publish_lines(1);
    let reconnect = ReconnectPolicy { attempts: 3, ..fast_reconnect() };
    let transport = NetworkTransport::new(RemoteServer::new(&server.url, None).unwrap()).with_reconnect(reconnect);
    let mut events = transport.follow_events("s", 0);
    assert_eq!(events.next().await.unwrap().unwrap().seq, 1);
    drop(server);
    let error = events.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::ConnectionFailed, "{error}");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_session_that_is_not_there() {
    let server = FlakyServer::new(
        Vec::new(),
        ServerBehavior { sockets: SocketBehavior::Refused(404), ..ServerBehavior::default() },
        1,
    )
    .await;
    let transport = NetworkTransport::new(RemoteServer::new(&server.url, None).unwrap());
    let error = transport.follow_events("other", 0).next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::SessionNotFound, "{error}");
}
