//! Clients that take and do not give: they are cut off, and nobody else notices.

use std::time::Duration;

use switchboard_serve::listen::Limits;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::door::{Door, PATIENCE, SHORT, TOKEN, rules};

#[tokio::test]
async fn who_does_not_say_what_it_wants_is_cut_off() {
    let door = Door::with(rules(), Limits { head: SHORT, ..Limits::default() });
    for begin in ["", "GET /api/health HTTP/1.1\r\nHost: ", "GET /api/hea"] {
        let mut stream = door.connect().await;
        stream.write_all(begin.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        // The end of the connection is what we wait for.
        timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("never cut off").ok();
    }
    assert_eq!(door.head("GET /api/health", &[]).await.status, 200);
}

#[tokio::test]
async fn a_connection_that_is_kept_is_not_kept_for_ever() {
    let door = Door::with(rules(), Limits { head: SHORT, ..Limits::default() });
    let mut stream = door.connect().await;
    let request = format!("GET /api/health HTTP/1.1\r\nHost: {}\r\n\r\n", door.address);
    stream.write_all(request.repeat(2).as_bytes()).await.unwrap();
    let mut text = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut text)).await.expect("never closed").unwrap();
    assert_eq!(text.matches("HTTP/1.1 200").count(), 2);
}

#[tokio::test]
async fn who_comes_when_it_is_full_is_told_so() {
    let door = Door::with(rules(), Limits { connections: 2, ..Limits::default() });
    let (one, two) = (authenticated(&door).await, authenticated(&door).await);
    let told = door.head("GET /api/health", &[]).await;
    assert_eq!((told.status, told.code().as_str()), (503, "too_many_connections"));
    assert!(told.head.contains("retry-after: 1"));
    drop((one, two));
    // The server notices on its own time that they are gone.
    let served = async {
        while door.head("GET /api/health", &[]).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, served).await.expect("no place became free");
}

/// A connection that has shown the token, and is kept.
async fn authenticated(door: &Door) -> TcpStream {
    let mut stream = door.connect().await;
    let request =
        format!("HEAD /api/sessions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", door.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    stream
}

#[tokio::test]
async fn connections_without_the_token_make_room_for_new_ones() {
    let door = Door::with(rules(), Limits { connections: 3, ..Limits::default() });
    let mut user = authenticated(&door).await;
    let mut flood = Vec::new();
    for _ in 0..50 {
        flood.push(door.connect().await);
    }
    drop(authenticated(&door).await);
    let mut rest = Vec::new();
    timeout(PATIENCE, flood[0].read_to_end(&mut rest)).await.expect("the oldest was not closed").ok();
    let request = format!(
        "GET /api/sessions HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n",
        door.address
    );
    user.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, user.read_to_string(&mut answer))
        .await
        .expect("the client with the token is not served")
        .unwrap();
    assert!(answer.contains("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn who_does_not_read_loses_its_place() {
    let door = Door::with(rules(), Limits { connections: 1, stalled: SHORT, ..Limits::default() });
    let mut stream = door.connect().await;
    let request = format!("GET /api/much HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", door.address);
    stream.write_all(request.as_bytes()).await.unwrap();
    let served = async {
        while door.head("GET /api/health", &[]).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, served).await.expect("it kept its place");
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("never cut off").ok();
    assert!(rest.len() < 64 << 20, "all of it came");
}

#[tokio::test]
async fn who_reads_slowly_gets_all_of_it() {
    let door = Door::with(rules(), Limits { stalled: 20 * SHORT, ..Limits::default() });
    let mut stream = door.connect().await;
    let request = format!(
        "GET /api/much HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n",
        door.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut count, mut chunk) = (0, vec![0; 4 << 20]);
    loop {
        match timeout(PATIENCE, stream.read(&mut chunk)).await.expect("it stopped").unwrap() {
            0 => break,
            length => count += length,
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(count > 64 << 20, "{count}");
}
