//! Who gets in, and who does not.

use switchboard_serve::{
    guard::{Rate, Rules},
    listen::Limits,
};

use crate::door::{Door, TOKEN, rules};

const BEARER: &str = "Authorization: Bearer TOKEN";
const COOKIE: &str = "Cookie: switchboard=TOKEN";
const UPGRADE: [&str; 4] = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

#[tokio::test]
async fn a_right_token_is_needed_for_all_but_a_few() {
    let door = Door::open();
    for (line, headers, status) in [
        ("GET /api/sessions", &[][..], 401),
        ("GET /api/sessions?token=TOKEN", &[], 401),
        ("GET /api/sessions", &["Authorization: Bearer TOKENx"], 401),
        ("GET /api/sessions", &["Authorization: Basic TOKEN"], 401),
        ("GET /nowhere", &[], 401),
        ("DELETE /api/health", &[], 401),
        ("OPTIONS /api/sessions", &[], 401),
        ("GET /staticx", &[], 401),
        ("GET /static/../api/sessions", &[], 404),
        ("GET /sx", &[], 401),
        ("POST /s/x", &[], 401),
        ("GET /s/x?token=wrong", &[], 401),
        ("GET /api/page/board", &[], 401),
        ("GET /?token=wrong", &[], 401),
        ("GET /api/sessions", &[BEARER], 200),
        ("GET /api/sessions", &[COOKIE], 200),
        ("GET /nowhere", &[BEARER], 404),
        ("GET /api/health", &[], 200),
        ("HEAD /api/health", &[], 200),
        ("GET /", &[], 200),
        ("GET /s/x", &[], 200),
        ("GET /usage", &[], 200),
    ] {
        let answer = door.head(line, headers).await;
        assert_eq!(answer.status, status, "{line} {headers:?}");
        assert_eq!(answer.head.contains("www-authenticate: bearer"), status == 401, "{line} {headers:?}");
        assert!(!answer.body.contains(TOKEN) && !answer.head.contains(TOKEN), "{line}");
    }
}

#[tokio::test]
async fn a_websocket_takes_the_token_in_its_address() {
    let door = Door::open();
    let ask = async |line: &str, more: &[&str]| {
        let headers: String = UPGRADE.iter().chain(more).map(|header| format!("{header}\r\n")).collect();
        let mut stream = door.connect().await;
        let request = format!("{line} HTTP/1.1\r\nHost: HOST\r\n{headers}\r\n");
        let request = request.replace("HOST", &door.address.to_string()).replace("TOKEN", TOKEN);
        status(&mut stream, &request).await
    };
    assert_eq!(ask("GET /ws/x?token=TOKEN", &[]).await, 101);
    assert_eq!(ask("GET /ws/x", &[BEARER]).await, 101);
    assert_eq!(ask("GET /ws/x", &[COOKIE, "Origin: http://HOST"]).await, 101);
    assert_eq!(ask("GET /ws/x", &[]).await, 401);
    assert_eq!(ask("GET /ws/x?token=wrong", &[]).await, 401);
    // A browser says where its page is from; who does not is none, and then has no cookie to send.
    assert_eq!(ask("GET /ws/x", &[COOKIE]).await, 403);
    assert_eq!(ask("GET /ws/x?token=TOKEN", &["Origin: http://evil.example"]).await, 403);
}

/// The status alone: a connection that was upgraded stays open.
async fn status(stream: &mut tokio::net::TcpStream, request: &str) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    String::from_utf8_lossy(&begin).split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_link_moves_the_token_into_a_cookie() {
    let door = Door::open();
    let answer = door.head("GET /?token=TOKEN", &[]).await;
    assert_eq!(answer.status, 303);
    assert!(answer.head.contains("location: /\r\n") && answer.head.contains("referrer-policy: no-referrer"));
    let cookie = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap().to_owned();
    for part in ["path=/", "httponly", "samesite=strict"] {
        assert!(cookie.split("; ").any(|found| found == part), "{cookie}");
    }
    let kept = format!("Cookie: other=1; {}", cookie.split(';').next().unwrap());
    assert_eq!(door.head("GET /", &[&kept]).await.body, "the page");
    assert_eq!(door.head("GET /s/x", &[&kept]).await.body, "the page");
}

#[tokio::test]
async fn who_is_outside_sees_how_to_get_in_and_nothing_else() {
    let door = Door::open();
    let front = door.head("GET /", &[]).await;
    assert!(front.body.contains("switchboard token") && front.head.contains("content-type: text/html"), "{front:?}");
    for path in ["/", "/new", "/history", "/usage", "/s/x", "/s/x?a=1", "/h/y"] {
        assert_eq!(door.head(&format!("GET {path}"), &[]).await.body, front.body, "{path}");
    }
}

#[tokio::test]
async fn a_person_with_a_wrong_link_is_told_and_it_leaves_the_address_bar() {
    let door = Door::open();
    const BROWSER: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";
    for (given, left) in [
        ("/?token=wrong", Some("/#old-link")),
        ("/s/x?a=1&token=wrong", Some("/s/x?a=1#old-link")),
        ("/s/x?%74oken=wrong", Some("/s/x#old-link")),
        ("/nowhere", None),
        ("/api/sessions?token=wrong", Some("/")),
        ("//evil.example/?token=wrong", Some("/")),
    ] {
        let answer = door.head(&format!("GET {given}"), &[BROWSER]).await;
        assert_eq!(answer.status, 401, "{given}");
        assert!(
            answer.head.contains("content-type: text/html") && answer.body.contains("switchboard token"),
            "{given}"
        );
        let refresh = left.map(|left| format!("refresh: 0; url={left}\r\n"));
        assert_eq!(answer.head.lines().any(|line| line.starts_with("refresh:")), refresh.is_some(), "{given}");
        assert!(refresh.is_none_or(|refresh| answer.head.contains(&refresh)), "{given}: {}", answer.head);
    }
    // Who is in is not asked again.
    let inside = door.head("GET /s/x?token=wrong", &[BROWSER, COOKIE]).await;
    assert!(inside.status == 303 && inside.head.contains("location: /s/x\r\n"), "{inside:?}");
    assert!(!inside.head.contains("set-cookie"), "{inside:?}");
    let told = async || door.head("GET /?token=wrong", &[BROWSER]).await.status;
    let mut statuses = Vec::new();
    while statuses.len() < 50 && !statuses.contains(&429) {
        statuses.push(told().await);
    }
    assert!(statuses.contains(&429), "who guesses by a browser waits, too: {statuses:?}");
}

#[tokio::test]
async fn a_link_into_the_page_stays_one() {
    let door = Door::open();
    for (given, left) in [
        ("/s/x?token=TOKEN", "/s/x"),
        ("/s/x?a=1&token=TOKEN&b=2", "/s/x?a=1&b=2"),
        ("/usage?token=TOKEN", "/usage"),
        ("/s/x?a=1&%74oken=TOKEN", "/s/x"),
        ("/s//evil.example?token=TOKEN", "/s//evil.example"),
    ] {
        let answer = door.head(&format!("GET {given}"), &[]).await;
        assert_eq!(answer.status, 303, "{given}");
        assert!(answer.head.contains(&format!("location: {left}\r\n")), "{given}: {}", answer.head);
        assert!(answer.head.contains("set-cookie: switchboard="), "{given}");
    }
    // Nowhere else.
    assert_eq!(door.head("GET /api/sessions?token=TOKEN", &[]).await.status, 401);
    assert_eq!(door.head("GET //evil.example/?token=TOKEN", &[]).await.status, 401);
}

#[tokio::test]
async fn who_guesses_waits_and_who_knows_does_not() {
    let door = Door::open();
    let mut told = Vec::new();
    for _ in 0..60 {
        told.push(door.head("GET /api/sessions", &["Authorization: Bearer wrong"]).await);
    }
    assert_eq!(told[0].code(), "unauthorized");
    let late = told.iter().find(|answer| answer.status == 429).expect("never told to wait");
    assert_eq!(late.code(), "too_many_failures");
    assert!(late.head.contains("retry-after: "), "{}", late.head);
    assert_eq!(door.head("GET /api/sessions", &[BEARER]).await.status, 200);
}

#[tokio::test]
async fn a_flood_without_the_token_does_not_affect_the_client_with_it() {
    let few = Rules { rate: Rate::PerSecond(std::num::NonZeroU32::MIN), ..rules() };
    let door = Door::with(few, Limits::default());
    let mut anonymous = Vec::new();
    for _ in 0..50 {
        anonymous.push(door.head("GET /api/health", &[]).await.status);
        anonymous.push(door.head("GET /api/sessions", &["Authorization: Bearer wrong"]).await.status);
        anonymous.push(door.head("GET /", &["Cookie: switchboard=wrong"]).await.status);
    }
    assert!(anonymous.contains(&429), "the flood is not limited: {anonymous:?}");
    for proof in [BEARER, COOKIE] {
        assert_eq!(door.head("GET /api/sessions", &[proof]).await.status, 200, "{proof}");
    }
    let upgrade =
        format!("GET /ws/x?token={TOKEN} HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n", door.address, UPGRADE.join("\r\n"));
    assert_eq!(status(&mut door.connect().await, &upgrade).await, 101);
}

#[tokio::test]
async fn who_asks_too_often_is_told_to_wait() {
    let few = Rules { rate: Rate::PerSecond(std::num::NonZeroU32::MIN), ..rules() };
    let door = Door::with(few, Limits::default());
    let mut told = Vec::new();
    for _ in 0..20 {
        told.push(door.head("GET /api/health", &[]).await);
    }
    assert_eq!(told[0].status, 200);
    let late = told.iter().find(|answer| answer.status == 429).expect("never told to wait");
    assert_eq!(late.code(), "too_many_requests");
    assert!(late.head.contains("retry-after: "), "{}", late.head);
}

#[tokio::test]
async fn without_a_token_everybody_is_in_but_pages_of_others() {
    let door = Door::with(Rules::default(), Limits::default());
    assert_eq!(door.head("GET /api/sessions", &[]).await.status, 200);
    assert_eq!(door.head("POST /api/sessions", &["Content-Length: 0"]).await.status, 200);
    let page = ["Content-Length: 0", "Origin: http://evil.example"];
    assert_eq!(door.head("POST /api/sessions", &page).await.code(), "foreign_origin");
    let page = ["Content-Length: 0", "Sec-Fetch-Site: cross-site"];
    assert_eq!(door.head("POST /api/sessions", &page).await.code(), "forged");
}
