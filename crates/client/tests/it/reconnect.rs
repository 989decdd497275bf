//! Every message once and in order, whatever becomes of connections.

use futures_util::StreamExt as _;
use switchboard_client::{
    AgentErrorKind, NetworkTransport, Reconnect, Remote, Route, Transport as _,
    http::{Address, Client},
    lines,
};

use crate::server::{Close, Habits, Server, Sockets, at_once, event, line};

const COUNT: usize = 300;

/// The `seq`s that are heard while the server performs.
async fn heard_events(habits: Habits, seed: u64, reconnect: Reconnect) -> (Vec<u64>, Vec<String>) {
    let server = Server::new((1..=COUNT).map(event).collect(), habits, seed).await;
    let transport = NetworkTransport::new(Remote::new(&server.url, None).unwrap()).with_reconnect(reconnect);
    let reading = async {
        let events = transport.follow("s", 0);
        events.map(|event| event.unwrap().seq).collect::<Vec<_>>().await
    };
    let (heard, ()) = tokio::join!(reading, server.perform());
    (heard, server.asked())
}

/// The lines that are heard while the server performs.
async fn heard_lines(habits: Habits, seed: u64, reconnect: Reconnect) -> (Vec<String>, Vec<String>) {
    let server = Server::new((1..=COUNT).map(line).collect(), habits, seed).await;
    let client = Client::new(Address::parse(&server.url).unwrap(), None).unwrap();
    let reading = lines(client, Route::session("s"), 0, reconnect).map(Result::unwrap).collect::<Vec<_>>();
    let (heard, ()) = tokio::join!(reading, server.perform());
    (heard, server.asked())
}

fn all_events() -> Vec<u64> {
    (1..=COUNT as u64).collect()
}

fn all_lines() -> Vec<String> {
    (1..=COUNT).map(line).collect()
}

fn sockets(asked: &[String]) -> usize {
    asked.iter().filter(|path| path.starts_with("/ws/")).count()
}

#[tokio::test]
async fn connections_that_are_cut_anywhere() {
    let mut most = 0;
    for seed in 0..12 {
        let habits = Habits { cut: Some(20_000), ..Habits::default() };
        let (heard, asked) = heard_events(habits.clone(), seed, at_once()).await;
        assert_eq!(heard, all_events(), "events, {seed}");
        most = most.max(sockets(&asked));
        for places in [true, false] {
            // Who tells everything from the beginning must be let speak for long enough.
            let cut = Some(if places { 20_000 } else { 200_000 });
            let habits = Habits { places, close: Close::Normally, cut, ..habits.clone() };
            let (heard, asked) = heard_lines(habits, seed, at_once()).await;
            assert_eq!(heard, all_lines(), "lines, {seed} {places}");
            most = most.max(sockets(&asked));
        }
    }
    assert!(most > 5, "connections were cut {most} times at most");
}

#[tokio::test]
async fn whatever_way_it_is_closed() {
    for close in [Close::SessionEnded, Close::Normally, Close::Not] {
        let habits = Habits { close, ..Habits::default() };
        assert_eq!(heard_events(habits.clone(), 1, at_once()).await.0, all_events());
        for places in [true, false] {
            assert_eq!(heard_lines(Habits { places, ..habits.clone() }, 1, at_once()).await.0, all_lines());
        }
    }
}

#[tokio::test]
async fn pages_where_websockets_cannot_be_had() {
    for sockets in [Sockets::Refused(400), Sockets::Refused(404), Sockets::Refused(503), Sockets::Shut] {
        for cut in [None, Some(20_000)] {
            let habits = Habits { sockets, cut, ..Habits::default() };
            let (heard, asked) = heard_events(habits.clone(), 7, at_once()).await;
            assert_eq!(heard, all_events());
            assert!(asked.iter().any(|path| path.contains("/events?")), "{asked:?}");
            assert_eq!(heard_lines(habits, 7, at_once()).await.0, all_lines());
        }
    }
    let only = Reconnect { polling_only: true, ..at_once() };
    let (heard, asked) = heard_lines(Habits::default(), 7, only).await;
    assert_eq!(heard, all_lines());
    assert!(asked.iter().all(|path| !path.starts_with("/ws/")), "{asked:?}");
}

#[tokio::test]
async fn a_socket_that_works_needs_no_pages() {
    let (heard, asked) = heard_events(Habits::default(), 1, at_once()).await;
    assert_eq!((heard, asked.len()), (all_events(), 1), "{asked:?}");
}

#[tokio::test]
async fn behind_a_place() {
    let server = Server::new((1..=COUNT).map(event).collect(), Habits::default(), 1).await;
    server.finish();
    let transport = NetworkTransport::new(Remote::new(&server.url, None).unwrap());
    let heard: Vec<u64> = transport.follow("s", 290).map(|event| event.unwrap().seq).collect().await;
    assert_eq!(heard, (291..=300).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_missing_is_never_passed_over() {
    let lines: Vec<String> = [1, 2, 4, 5].map(event).to_vec();
    for polling_only in [false, true] {
        let server = Server::new(lines.clone(), Habits::default(), 1).await;
        server.finish();
        let reconnect = Reconnect { polling_only, ..at_once() };
        let transport = NetworkTransport::new(Remote::new(&server.url, None).unwrap()).with_reconnect(reconnect);
        let mut events = transport.follow("s", 0);
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
    let server = Server::new(vec![event(1), event(2)], Habits::default(), 1).await;
    server.publish(1);
    let reconnect = Reconnect { attempts: 3, ..at_once() };
    let transport = NetworkTransport::new(Remote::new(&server.url, None).unwrap()).with_reconnect(reconnect);
    let mut events = transport.follow("s", 0);
    assert_eq!(events.next().await.unwrap().unwrap().seq, 1);
    drop(server);
    let error = events.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::ConnectionFailed, "{error}");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_session_that_is_not_there() {
    let server = Server::new(Vec::new(), Habits { sockets: Sockets::Refused(404), ..Habits::default() }, 1).await;
    let transport = NetworkTransport::new(Remote::new(&server.url, None).unwrap());
    let error = transport.follow("other", 0).next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::SessionNotFound, "{error}");
}
