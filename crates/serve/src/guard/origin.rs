//! Whether a request is meant for us, and whether a page of ours made it. `Host` guards against names that lead
//! somewhere else today (DNS rebinding), `Origin` against pages of others.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::Refusal;

/// The names that we answer to, and the pages that may ask.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Names beside our own, with or without a port.
    pub hosts: Vec<String>,
    /// Origins beside our own.
    pub origins: Vec<String>,
}

/// Where a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// No page, or one that does not say so.
    Nowhere,
    /// A page of ours.
    Here,
    /// A page that may ask.
    Friend(HeaderValue),
}

impl Names {
    /// The request is for us: its `Host` is our address, or a name that we were given.
    pub fn check_host<'a>(&self, request: &'a Request, ours: SocketAddr) -> Result<&'a str, Refusal> {
        let mut hosts = request.headers().get_all(header::HOST).into_iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Refusal::NoHost) };
        let host = host.to_str().map_err(|_| Refusal::ForeignHost)?;
        let in_address = request.uri().authority().map(|authority| authority.as_str());
        let is_fine = |host: &str| is_own(host, ours) || self.hosts.iter().any(|known| is_named(host, known));
        if is_fine(host) && in_address.is_none_or(is_fine) { Ok(host) } else { Err(Refusal::ForeignHost) }
    }

    /// A page of ours asks, a page that may, or no page.
    pub fn check_origin(&self, headers: &HeaderMap, host: &str) -> Result<From, Refusal> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(From::Nowhere) };
        let text = origin.to_str().map_err(|_| Refusal::ForeignOrigin)?;
        if is_same(text, host) {
            Ok(From::Here)
        } else if self.origins.iter().any(|known| known.eq_ignore_ascii_case(text)) {
            Ok(From::Friend(origin.clone()))
        } else {
            Err(Refusal::ForeignOrigin)
        }
    }
}

/// An address cannot be made to lead to another machine, as a name can. So it only has to be the one that was used.
fn is_own(host: &str, ours: SocketAddr) -> bool {
    let (name, port) = split(host);
    let is_ours = |ip: IpAddr| ip == ours.ip() || ip.is_loopback() && ours.ip().is_loopback();
    let literal = name.trim_start_matches('[').trim_end_matches(']').parse().is_ok_and(is_ours);
    port.unwrap_or(80) == ours.port() && (literal || name.eq_ignore_ascii_case("localhost"))
}

/// A name without a port stands for all ports: there may be a proxy in front.
fn is_named(host: &str, known: &str) -> bool {
    let (name, _) = split(host);
    host.eq_ignore_ascii_case(known) || name.eq_ignore_ascii_case(known)
}

/// The name and the port. The colons of an IPv6 address stand in brackets.
fn split(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok().or(Some(0))),
        _ => (host, None),
    }
}

/// The origin is the page of this host. With or without TLS: a proxy may add it.
fn is_same(origin: &str, host: &str) -> bool {
    let place = match origin.split_once("://") {
        Some(("http", place)) => place.strip_suffix(":80").unwrap_or(place),
        Some(("https", place)) => place.strip_suffix(":443").unwrap_or(place),
        _ => return false,
    };
    place.eq_ignore_ascii_case(host) || host.strip_suffix(":80").is_some_and(|host| place.eq_ignore_ascii_case(host))
}

/// A browser asks whether a page of another origin may ask.
pub fn preflight(request: &Request) -> Option<Response> {
    let asks = request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let is_asked = request.method() == Method::OPTIONS && asks;
    is_asked.then(|| {
        let mut response = StatusCode::NO_CONTENT.into_response();
        let headers = response.headers_mut();
        let methods = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        let allowed = HeaderValue::from_static("authorization, content-type, last-event-id");
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        response
    })
}

/// Lets the page that may ask also read the answer. Not with cookies: it has the token or it has nothing.
pub fn share(response: &mut Response, friend: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, friend);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    let exposed = HeaderValue::from_static("retry-after, www-authenticate, location");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, extract::Request, http::HeaderMap};

    use super::{From, Names};
    use crate::guard::Refusal;

    fn host(names: &Names, host: &str, ours: &str) -> bool {
        let request = Request::get("/").header("host", host).body(Body::empty()).unwrap();
        names.check_host(&request, ours.parse().unwrap()).is_ok()
    }

    #[test]
    fn our_own_names_are_known() {
        let none = Names::default();
        for (name, ours) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("LOCALHOST:8080", "127.0.0.1:8080"),
            ("[::1]:8080", "[::1]:8080"),
            ("127.0.0.1:8080", "[::1]:8080"),
            ("192.168.1.2:8080", "192.168.1.2:8080"),
            ("localhost", "127.0.0.1:80"),
        ] {
            assert!(host(&none, name, ours), "{name} at {ours}");
        }
    }

    #[test]
    fn other_names_are_not() {
        let some = Names { hosts: vec!["Board.example".to_owned(), "b:1".to_owned()], ..Names::default() };
        for name in ["board.EXAMPLE", "board.example:9999", "b:1"] {
            assert!(host(&some, name, "127.0.0.1:8080"), "{name}");
        }
        for name in [
            "evil.example",
            "localhost",
            "localhost:81",
            "127.0.0.1",
            "localhost.evil:8080",
            "b:2",
            "",
            "192.168.1.2:8080",
            "0.0.0.0:8080",
            "localhost:8080:8080",
            "localhost:x",
        ] {
            assert!(!host(&some, name, "127.0.0.1:8080"), "{name}");
        }
        let twice =
            Request::get("/").header("host", "localhost:80").header("host", "evil").body(Body::empty()).unwrap();
        assert_eq!(some.check_host(&twice, "127.0.0.1:80".parse().unwrap()), Err(Refusal::NoHost));
        let other = Request::get("http://evil/").header("host", "localhost").body(Body::empty()).unwrap();
        assert_eq!(some.check_host(&other, "127.0.0.1:80".parse().unwrap()), Err(Refusal::ForeignHost));
    }

    #[test]
    fn pages_of_others_are_refused() {
        let names = Names { origins: vec!["https://friend.example".to_owned()], ..Names::default() };
        let origin = |origin: Option<&str>, host: &str| {
            let mut headers = HeaderMap::new();
            origin.map(|origin| headers.insert("origin", origin.parse().unwrap()));
            names.check_origin(&headers, host)
        };
        assert_eq!(origin(None, "localhost:8080"), Ok(From::Nowhere));
        assert_eq!(origin(Some("http://localhost:8080"), "localhost:8080"), Ok(From::Here));
        assert_eq!(origin(Some("https://board.example"), "board.example"), Ok(From::Here));
        assert!(matches!(origin(Some("https://friend.example"), "localhost:8080"), Ok(From::Friend(_))));
        for wrong in [
            "null",
            "",
            "http://localhost:3000",
            "http://localhost",
            "https://friend.example.evil",
            "ftp://localhost:8080",
        ] {
            assert_eq!(origin(Some(wrong), "localhost:8080"), Err(Refusal::ForeignOrigin), "{wrong}");
        }
    }
}
