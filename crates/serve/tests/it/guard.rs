//! Access control: tokens, hosts and origins, rate limits, and the limits of bodies.

use switchboard_serve::{
    guard::{BodyLimits, GuardConfig, RateLimit},
    listen::ConnectionLimits,
};
use tokio::io::AsyncWriteExt as _;

use crate::guarded_server::{GuardedServer, SHORT_TIMEOUT, TOKEN, answer, rules};

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
    let door = GuardedServer::open();
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
    let door = GuardedServer::open();
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
    // Browsers send an origin; other clients have no cookie.
    assert_eq!(ask("GET /ws/x", &[COOKIE]).await, 403);
    assert_eq!(ask("GET /ws/x?token=TOKEN", &["Origin: http://evil.example"]).await, 403);
}

/// Returns the status only, because an upgraded connection stays open.
async fn status(stream: &mut tokio::net::TcpStream, request: &str) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    String::from_utf8_lossy(&begin).split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_link_moves_the_token_into_a_cookie() {
    let door = GuardedServer::open();
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
    let door = GuardedServer::open();
    let front = door.head("GET /", &[]).await;
    assert!(front.body.contains("switchboard token") && front.head.contains("content-type: text/html"), "{front:?}");
    for path in ["/", "/new", "/history", "/usage", "/s/x", "/s/x?a=1", "/h/y"] {
        assert_eq!(door.head(&format!("GET {path}"), &[]).await.body, front.body, "{path}");
    }
}

#[tokio::test]
async fn a_person_with_a_wrong_link_is_told_and_it_leaves_the_address_bar() {
    let door = GuardedServer::open();
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
    // A client that is logged in needs no token in the URL.
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
    let door = GuardedServer::open();
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
    // Not accepted elsewhere.
    assert_eq!(door.head("GET /api/sessions?token=TOKEN", &[]).await.status, 401);
    assert_eq!(door.head("GET //evil.example/?token=TOKEN", &[]).await.status, 401);
}

#[tokio::test]
async fn who_guesses_waits_and_who_knows_does_not() {
    let door = GuardedServer::open();
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
    let few = GuardConfig { rate: RateLimit::PerSecond(std::num::NonZeroU32::MIN), ..rules() };
    let door = GuardedServer::with(few, ConnectionLimits::default());
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
    let few = GuardConfig { rate: RateLimit::PerSecond(std::num::NonZeroU32::MIN), ..rules() };
    let door = GuardedServer::with(few, ConnectionLimits::default());
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
    let door = GuardedServer::with(GuardConfig::default(), ConnectionLimits::default());
    assert_eq!(door.head("GET /api/sessions", &[]).await.status, 200);
    assert_eq!(door.head("POST /api/sessions", &["Content-Length: 0"]).await.status, 200);
    let page = ["Content-Length: 0", "Origin: http://evil.example"];
    assert_eq!(door.head("POST /api/sessions", &page).await.code(), "foreign_origin");
    let page = ["Content-Length: 0", "Sec-Fetch-Site: cross-site"];
    assert_eq!(door.head("POST /api/sessions", &page).await.code(), "forged");
}

fn post(path: &str, headers: &str, body: &str) -> String {
    let head = "Host: HOST\r\nConnection: close\r\nAuthorization: Bearer TOKEN\r\n";
    format!("POST {path} HTTP/1.1\r\n{head}{headers}\r\n{body}")
}

#[tokio::test]
async fn a_body_is_as_large_as_its_address_needs() {
    let door = GuardedServer::open();
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
    // Refused before the body arrives.
    let announced = door.ask(&post("/api/sessions", "Content-Length: 99999999999\r\n", "")).await;
    assert_eq!(announced.code(), "body_too_large");
}

#[tokio::test]
async fn a_body_that_does_not_say_its_length_is_cut_off() {
    let small = BodyLimits { max_request_bytes: 1000, ..BodyLimits::default() };
    let door = GuardedServer::with(GuardConfig { bodies: small, ..rules() }, ConnectionLimits::default());
    let chunk = |length: usize| format!("{length:x}\r\n{}\r\n", "x".repeat(length));
    let chunked =
        |length| post("/api/sessions/x/cancel", "Transfer-Encoding: chunked\r\n", &(chunk(length) + "0\r\n\r\n"));
    assert_eq!(door.ask(&chunked(1000)).await.body, "1000");
    assert_eq!(door.ask(&chunked(1001)).await.code(), "body_too_large");
}

#[tokio::test]
async fn a_body_that_trickles_is_given_up() {
    let hasty = BodyLimits { timeout: SHORT_TIMEOUT, ..BodyLimits::default() };
    let door = GuardedServer::with(GuardConfig { bodies: hasty, ..rules() }, ConnectionLimits::default());
    let request = post("/api/sessions", "Content-Length: 100\r\n", "beginn");
    let request = request.replace("HOST", &door.address.to_string()).replace("TOKEN", TOKEN);
    let mut stream = door.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = answer(&mut stream).await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "body_too_slow"));
}

#[tokio::test]
async fn a_body_that_comes_at_a_fair_pace_is_waited_for() {
    // Each byte earns ten times the timeout, so that further ones are waited for.
    let fair = BodyLimits { timeout: SHORT_TIMEOUT, min_bytes_per_second: 1, ..BodyLimits::default() };
    let door = GuardedServer::with(GuardConfig { bodies: fair, ..rules() }, ConnectionLimits::default());
    let request = post("/api/sessions", "Content-Length: 20\r\n", "0123456789");
    let request = request.replace("HOST", &door.address.to_string()).replace("TOKEN", TOKEN);
    let mut stream = door.connect().await;
    stream.write_all(request.as_bytes()).await.unwrap();
    tokio::time::sleep(3 * SHORT_TIMEOUT).await;
    stream.write_all(b"0123456789").await.unwrap();
    assert_eq!(answer(&mut stream).await.body, "20");
}

#[tokio::test]
async fn heads_are_bounded() {
    let door = GuardedServer::open();
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
    let door = GuardedServer::open();
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

#[tokio::test]
async fn only_our_own_names_are_answered_to() {
    let door = GuardedServer::with(
        GuardConfig { hosts: vec!["board.example".to_owned()], ..rules() },
        ConnectionLimits::default(),
    );
    let port = door.address.port();
    let ask = async |head: &str| {
        let request =
            format!("GET /api/sessions HTTP/1.1\r\n{head}Connection: close\r\nAuthorization: Bearer TOKEN\r\n\r\n");
        door.ask(&request).await.status
    };
    assert_eq!(ask("Host: HOST\r\n").await, 200);
    assert_eq!(ask(&format!("Host: localhost:{port}\r\n")).await, 200);
    assert_eq!(ask("Host: board.example\r\n").await, 200);
    assert_eq!(ask("Host: evil.example\r\n").await, 421);
    assert_eq!(ask(&format!("Host: evil.example:{port}\r\n")).await, 421);
    assert_eq!(ask("Host: localhost\r\n").await, 421);
    assert_eq!(ask("").await, 400);
    assert_eq!(ask("Host: HOST\r\nHost: evil.example\r\n").await, 400);
    let absolute = "GET http://evil.example/ HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n";
    assert_eq!(door.ask(absolute).await.code(), "foreign_host");
}

#[tokio::test]
async fn pages_of_others_are_refused_also_with_the_token() {
    let door = GuardedServer::open();
    for origin in ["http://evil.example", "null", "http://localhost:1", "https://127.0.0.1"] {
        for line in ["GET /api/sessions", "POST /api/sessions", "GET /api/health"] {
            let answer = door.head(line, &[BEARER, "Content-Length: 0", &format!("Origin: {origin}")]).await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "foreign_origin"), "{line} from {origin}");
            assert!(!answer.head.contains("access-control"), "{}", answer.head);
        }
    }
    let ours = door.head("GET /api/sessions", &[BEARER, "Origin: http://HOST"]).await;
    assert_eq!(ours.status, 200);
}

#[tokio::test]
async fn a_change_with_a_cookie_comes_from_our_own_page() {
    let door = GuardedServer::open();
    for (headers, status) in [
        (&[COOKIE][..], 403),
        (&[COOKIE, "Origin: http://HOST"], 200),
        (&[COOKIE, "Sec-Fetch-Site: same-origin"], 200),
        (&[COOKIE, "Sec-Fetch-Site: none"], 200),
        // Another port of this machine: the same site for cookies, but another origin.
        (&[COOKIE, "Sec-Fetch-Site: same-site"], 401),
        (&[COOKIE, "Sec-Fetch-Site: cross-site"], 401),
        (&[BEARER], 200),
    ] {
        let headers: Vec<_> = headers.iter().copied().chain(["Content-Length: 0"]).collect();
        assert_eq!(door.head("POST /api/sessions", &headers).await.status, status, "{headers:?}");
    }
}

#[tokio::test]
async fn a_friendly_origin_may_ask_and_read() {
    let friend = "https://friend.example";
    let door =
        GuardedServer::with(GuardConfig { origins: vec![friend.to_owned()], ..rules() }, ConnectionLimits::default());
    let origin = format!("Origin: {friend}");
    let asked = door.head("OPTIONS /api/sessions", &[&origin, "Access-Control-Request-Method: POST"]).await;
    assert_eq!(asked.status, 204);
    assert!(asked.head.contains("access-control-allow-headers: authorization"), "{}", asked.head);
    for (headers, status) in [(&[BEARER, origin.as_str()][..], 200), (&[origin.as_str()], 401)] {
        let answer = door.head("GET /api/sessions", headers).await;
        assert_eq!(answer.status, status);
        assert!(answer.head.contains(&format!("access-control-allow-origin: {friend}")), "{}", answer.head);
        assert!(!answer.head.contains("allow-credentials"), "{}", answer.head);
    }
    // Its pages must send the token: they cannot use the cookie.
    let with_cookie = door.head("POST /api/sessions", &[COOKIE, &origin, "Content-Length: 0"]).await;
    assert_eq!(with_cookie.status, 403);
}

#[tokio::test]
async fn browsers_are_told_to_be_strict_with_every_answer() {
    let door = GuardedServer::open();
    for line in ["GET /", "GET /api/health", "GET /api/sessions", "GET /?token=TOKEN"] {
        let answer = door.head(line, &[]).await;
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(answer.head.contains(header), "{line}: {header}");
        }
    }
}

#[tokio::test]
async fn the_token_is_never_said_again() {
    let door = GuardedServer::open();
    let behind = door.head("GET /api/address?a=1&token=TOKEN&b=2", &[BEARER]).await;
    assert_eq!(behind.body, "/api/address?a=1&b=2");
    let refused = door.head("GET /api/sessions?token=TOKEN", &["Origin: http://evil.example"]).await;
    assert!(!refused.body.contains(TOKEN));
}
