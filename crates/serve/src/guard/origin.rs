//! Checks of `Host`, against host names that now resolve elsewhere (DNS rebinding), and of `Origin`, against pages of
//! other sites.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::Refusal;

/// The accepted host names and origins besides the own ones.
#[derive(Clone, Debug, Default)]
pub struct AllowedNames {
    /// Host names, with or without a port.
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
}

/// The page that made a browser send a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestingPage {
    /// None, or one that is not disclosed.
    None,
    /// The page of this server.
    Own,
    /// A page of an accepted origin.
    AllowedOrigin(HeaderValue),
}

impl AllowedNames {
    /// Checks that `Host` is the own address or an accepted name.
    pub fn check_host<'a>(&self, request: &'a Request, ours: SocketAddr) -> Result<&'a str, Refusal> {
        let mut hosts = request.headers().get_all(header::HOST).into_iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Refusal::NoHost) };
        let host = host.to_str().map_err(|_| Refusal::ForeignHost)?;
        let in_uri = request.uri().authority().map(|authority| authority.as_str());
        let is_accepted =
            |host: &str| is_own_address(host, ours) || self.hosts.iter().any(|known| matches_name(host, known));
        if is_accepted(host) && in_uri.is_none_or(is_accepted) { Ok(host) } else { Err(Refusal::ForeignHost) }
    }

    /// Checks that `Origin` is the own page or an accepted one.
    pub fn check_origin(&self, headers: &HeaderMap, host: &str) -> Result<RequestingPage, Refusal> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(RequestingPage::None) };
        let text = origin.to_str().map_err(|_| Refusal::ForeignOrigin)?;
        if is_same_origin(text, host) {
            Ok(RequestingPage::Own)
        } else if self.origins.iter().any(|known| known.eq_ignore_ascii_case(text)) {
            Ok(RequestingPage::AllowedOrigin(origin.clone()))
        } else {
            Err(Refusal::ForeignOrigin)
        }
    }
}

/// Unlike a name, an address cannot be redirected to another machine, so only the address in use is accepted.
fn is_own_address(host: &str, ours: SocketAddr) -> bool {
    let (name, port) = split_port(host);
    let is_ours = |ip: IpAddr| ip == ours.ip() || ip.is_loopback() && ours.ip().is_loopback();
    let literal = name.trim_start_matches('[').trim_end_matches(']').parse().is_ok_and(is_ours);
    // Clients leave out the default port, which is 443 with TLS.
    port.map_or(matches!(ours.port(), 80 | 443), |port| port == ours.port())
        && (literal || name.eq_ignore_ascii_case("localhost"))
}

/// A name without a port is accepted with every port: there may be a proxy.
fn matches_name(host: &str, known: &str) -> bool {
    let (name, _) = split_port(host);
    host.eq_ignore_ascii_case(known) || name.eq_ignore_ascii_case(known)
}

/// Splits a host into name and port. The colons of an IPv6 address are in brackets.
fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok().or(Some(0))),
        _ => (host, None),
    }
}

/// Returns whether an origin belongs to a host, with or without TLS, which a proxy may add.
fn is_same_origin(origin: &str, host: &str) -> bool {
    let authority = match origin.split_once("://") {
        Some(("http", authority)) => authority.strip_suffix(":80").unwrap_or(authority),
        Some(("https", authority)) => authority.strip_suffix(":443").unwrap_or(authority),
        _ => return false,
    };
    authority.eq_ignore_ascii_case(host)
        || host.strip_suffix(":80").is_some_and(|host| authority.eq_ignore_ascii_case(host))
}

/// Returns the response to a CORS preflight request.
pub fn preflight_response(request: &Request) -> Option<Response> {
    let has_method = request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let is_preflight = request.method() == Method::OPTIONS && has_method;
    is_preflight.then(|| {
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

/// Lets a page of an accepted origin read the response. It must send the token: cookies are not allowed.
pub fn allow_origin(response: &mut Response, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    let exposed = HeaderValue::from_static("retry-after, www-authenticate, location");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, extract::Request, http::HeaderMap};

    use super::{AllowedNames, RequestingPage};
    use crate::guard::Refusal;

    fn host(names: &AllowedNames, host: &str, ours: &str) -> bool {
        let request = Request::get("/").header("host", host).body(Body::empty()).unwrap();
        names.check_host(&request, ours.parse().unwrap()).is_ok()
    }

    #[test]
    fn the_own_addresses_are_accepted() {
        let none = AllowedNames::default();
        for (name, ours) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("LOCALHOST:8080", "127.0.0.1:8080"),
            ("[::1]:8080", "[::1]:8080"),
            ("127.0.0.1:8080", "[::1]:8080"),
            ("192.168.1.2:8080", "192.168.1.2:8080"),
            ("localhost", "127.0.0.1:80"),
            ("localhost", "127.0.0.1:443"),
        ] {
            assert!(host(&none, name, ours), "{name} at {ours}");
        }
    }

    #[test]
    fn other_names_are_refused() {
        let some =
            AllowedNames { hosts: vec!["Board.example".to_owned(), "b:1".to_owned()], ..AllowedNames::default() };
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
    fn pages_of_other_origins_are_refused() {
        let names = AllowedNames { origins: vec!["https://friend.example".to_owned()], ..AllowedNames::default() };
        let origin = |origin: Option<&str>, host: &str| {
            let mut headers = HeaderMap::new();
            origin.map(|origin| headers.insert("origin", origin.parse().unwrap()));
            names.check_origin(&headers, host)
        };
        assert_eq!(origin(None, "localhost:8080"), Ok(RequestingPage::None));
        assert_eq!(origin(Some("http://localhost:8080"), "localhost:8080"), Ok(RequestingPage::Own));
        assert_eq!(origin(Some("https://board.example"), "board.example"), Ok(RequestingPage::Own));
        assert!(matches!(
            origin(Some("https://friend.example"), "localhost:8080"),
            Ok(RequestingPage::AllowedOrigin(_))
        ));
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
