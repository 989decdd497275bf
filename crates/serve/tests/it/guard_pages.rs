//! What pages of others can make a browser do here: nothing.

use switchboard_serve::{guard::Rules, listen::Limits};

use crate::door::{Door, TOKEN, rules};

const BEARER: &str = "Authorization: Bearer TOKEN";
const COOKIE: &str = "Cookie: switchboard=TOKEN";

#[tokio::test]
async fn only_our_own_names_are_answered_to() {
    let door = Door::with(Rules { hosts: vec!["board.example".to_owned()], ..rules() }, Limits::default());
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
    let door = Door::open();
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
    let door = Door::open();
    for (headers, status) in [
        (&[COOKIE][..], 403),
        (&[COOKIE, "Origin: http://HOST"], 200),
        (&[COOKIE, "Sec-Fetch-Site: same-origin"], 200),
        (&[COOKIE, "Sec-Fetch-Site: none"], 200),
        // Another port of this machine: the same site to a cookie, and another page to us.
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
    let door = Door::with(Rules { origins: vec![friend.to_owned()], ..rules() }, Limits::default());
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
    // Its pages have the token or nothing: they must not use a cookie.
    let with_cookie = door.head("POST /api/sessions", &[COOKIE, &origin, "Content-Length: 0"]).await;
    assert_eq!(with_cookie.status, 403);
}

#[tokio::test]
async fn browsers_are_told_to_be_strict_with_every_answer() {
    let door = Door::open();
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
    let door = Door::open();
    let behind = door.head("GET /api/address?a=1&token=TOKEN&b=2", &[BEARER]).await;
    assert_eq!(behind.body, "/api/address?a=1&b=2");
    let refused = door.head("GET /api/sessions?token=TOKEN", &["Origin: http://evil.example"]).await;
    assert!(!refused.body.contains(TOKEN));
}
