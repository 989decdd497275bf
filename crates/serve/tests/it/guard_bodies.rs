//! Requests that are too large, too long or too slow.

use switchboard_serve::{
    guard::{Bodies, Rules},
    listen::Limits,
};
use tokio::io::AsyncWriteExt as _;

use crate::door::{Door, SHORT, TOKEN, answer, rules};

fn post(path: &str, headers: &str, body: &str) -> String {
    let head = "Host: HOST\r\nConnection: close\r\nAuthorization: Bearer TOKEN\r\n";
    format!("POST {path} HTTP/1.1\r\n{head}{headers}\r\n{body}")
}

#[tokio::test]
async fn a_body_is_as_large_as_its_address_needs() {
    let door = Door::open();
    for (path, length, status) in [
        ("/api/sessions", 32 << 20, 200),
        ("/api/sessions/x/prompt", 3 << 20, 200),
        ("/api/sessions/x/cancel", 1 << 20, 200),
        ("/api/sessions/x/cancel", (1 << 20) + 1, 413),
    ] {
        let answer = door.ask(&post(path, &format!("Content-Length: {length}\r\n"), &"x".repeat(length))).await;
        assert_eq!(answer.status, status, "{path} {length}");
        let said = if status == 200 { answer.body.clone() } else { answer.code() };
        assert_eq!(said, if status == 200 { length.to_string() } else { "body_too_large".to_owned() });
    }
    // Refused before a byte of it comes.
    let announced = door.ask(&post("/api/sessions", "Content-Length: 99999999999\r\n", "")).await;
    assert_eq!(announced.code(), "body_too_large");
}

#[tokio::test]
async fn a_body_that_does_not_say_its_length_is_cut_off() {
    let small = Bodies { others: 1000, ..Bodies::default() };
    let door = Door::with(Rules { bodies: small, ..rules() }, Limits::default());
    let chunk = |length: usize| format!("{length:x}\r\n{}\r\n", "x".repeat(length));
    let chunked =
        |length| post("/api/sessions/x/cancel", "Transfer-Encoding: chunked\r\n", &(chunk(length) + "0\r\n\r\n"));
    assert_eq!(door.ask(&chunked(1000)).await.body, "1000");
    assert_eq!(door.ask(&chunked(1001)).await.code(), "body_too_large");
}

#[tokio::test]
async fn a_body_that_trickles_is_given_up() {
    let hasty = Bodies { patience: SHORT, ..Bodies::default() };
    let door = Door::with(Rules { bodies: hasty, ..rules() }, Limits::default());
    let request = post("/api/sessions", "Content-Length: 100\r\n", "beginn");
    let request = request.replace("HOST", &door.address.to_string()).replace("TOKEN", TOKEN);
    let mut stream = door.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = answer(&mut stream).await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "body_too_slow"));
}

#[tokio::test]
async fn a_body_that_comes_at_a_fair_pace_is_waited_for() {
    // Each byte earns ten times the patience, so that what is to come is waited for.
    let fair = Bodies { patience: SHORT, pace: 1, ..Bodies::default() };
    let door = Door::with(Rules { bodies: fair, ..rules() }, Limits::default());
    let request = post("/api/sessions", "Content-Length: 20\r\n", "0123456789");
    let request = request.replace("HOST", &door.address.to_string()).replace("TOKEN", TOKEN);
    let mut stream = door.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    tokio::time::sleep(3 * SHORT).await;
    stream.write_all(b"0123456789").await.unwrap();
    assert_eq!(answer(&mut stream).await.body, "20");
}

#[tokio::test]
async fn heads_are_bounded() {
    let door = Door::open();
    let long = "x".repeat(9 << 10);
    assert_eq!(door.head(&format!("GET /api/health?{long}"), &[]).await.code(), "address_too_long");
    let large = format!("X-Large: {}", "x".repeat(40 << 10));
    assert_eq!(door.head("GET /api/health", &[&large]).await.status, 431);
    let many: Vec<String> = (0..200).map(|number| format!("X-{number}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(door.head("GET /api/health", &many).await.status, 431);
    assert_eq!(door.head("GET /api/health", &[]).await.status, 200);
}

#[tokio::test]
async fn what_is_not_http_is_refused() {
    let door = Door::open();
    for garbage in [
        "\r\n\r\n\r\n\r\nx\r\n\r\n",
        "GET\r\n\r\n",
        "\u{0}\u{1}\u{2}\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let answer = door.ask(garbage).await;
        assert!(answer.status == 0 || (400..500).contains(&answer.status), "{garbage:?}: {}", answer.status);
    }
    let smuggled = post(
        "/api/sessions",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "0\r\n\r\nGET /api/sessions HTTP/1.1\r\n\r\n",
    );
    let answer = door.ask(&smuggled).await;
    assert!(!answer.body.contains("sessions"), "{}", answer.body);
    assert_eq!(door.head("GET /api/health", &[]).await.status, 200);
}
