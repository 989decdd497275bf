//! The token, in the ways that it may come: as a bearer, as our cookie, and, where a browser can say it in no other way,
//! in the address.

use axum::{
    extract::{Query, Request},
    http::{HeaderMap, HeaderValue, Method, Uri, header, uri::PathAndQuery},
};

use super::Token;

/// The cookie's name.
pub const COOKIE: &str = "switchboard";

/// What anybody may see: whether we are there, and what the page is made of.
const OPEN: [&str; 2] = ["/api/health", "/favicon.ico"];
const OPEN_FOLDER: &str = "/static/";

/// The addresses of the page. Who has no token is told there how to get in.
const PAGES: [&str; 4] = ["/", "/new", "/history", "/usage"];
const PAGE_FOLDERS: [&str; 2] = ["/s/", "/h/"];

/// How the token came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Said by a program, for this request.
    Said,
    /// Sent along by a browser, whoever made it ask.
    Cookie,
    /// Not needed.
    Open,
}

/// Anybody may see it.
pub fn is_open(request: &Request) -> bool {
    let path = request.uri().path();
    is_page(request) || (is_safe(request.method()) && (OPEN.contains(&path) || path.starts_with(OPEN_FOLDER)))
}

/// A person opens the page, at any of its addresses.
pub fn is_page(request: &Request) -> bool {
    let path = request.uri().path();
    is_safe(request.method()) && (PAGES.contains(&path) || PAGE_FOLDERS.iter().any(|folder| path.starts_with(folder)))
}

/// Changes nothing.
pub fn is_safe(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// Wants to become a WebSocket.
pub fn is_upgrade(request: &Request) -> bool {
    let names = |name: header::HeaderName, word: &str| {
        let values = request.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    names(header::CONNECTION, "upgrade") && names(header::UPGRADE, "websocket")
}

/// How the right token came, if it did.
pub fn way(token: &Token, request: &Request) -> Option<Way> {
    let headers = request.headers();
    let is_socket =
        || is_upgrade(request) && *request.method() == Method::GET && request.uri().path().starts_with("/ws/");
    let in_address = || is_socket() && in_query(request.uri()).is_some_and(|said| token.is(&said));
    if bearer(headers).is_some_and(|said| token.is(said)) || in_address() {
        return Some(Way::Said);
    }
    let is_right = is_ours(headers) && cookies(headers).any(|said| token.is(said));
    is_right.then_some(Way::Cookie)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, said) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| said.trim())
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

/// No other page made the browser ask, as far as it says. Pages of other ports are taken for the same site by cookies.
fn is_ours(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none")
}

/// The token in an address.
pub fn in_query(uri: &Uri) -> Option<String> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?.0;
    pairs.into_iter().find_map(|(name, value)| (name == "token").then_some(value))
}

/// Takes the token out of an address, so that nobody behind us can repeat it.
pub fn forget(uri: &mut Uri) {
    let Some(query) = uri.query().filter(|query| query.contains("token=")) else { return };
    let kept: Vec<_> = query.split('&').filter(|pair| !pair.starts_with("token=")).collect();
    let rest = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(format!("{}{rest}", uri.path())).ok();
    if let Ok(clean) = Uri::from_parts(parts) {
        *uri = clean;
    }
}

/// The same address of ours without the token.
pub fn without_token(uri: &Uri) -> String {
    let mut address = uri.clone();
    forget(&mut address);
    // One that is written in another way goes with all the rest.
    let is_clean = in_query(&address).is_none();
    let whole = address.path_and_query().map(PathAndQuery::as_str).filter(|_| is_clean);
    whole.unwrap_or(address.path()).to_owned()
}

/// What makes a browser keep the token, from scripts and from other sites.
pub fn cookie(token: &Token) -> Option<HeaderValue> {
    let cookie = format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000", token.expose());
    HeaderValue::try_from(cookie).ok()
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, extract::Request, http::Uri};

    use super::{Token, Way, forget, is_upgrade, way};

    const SECRET: &str = "0123456789abcdef+/=";

    fn request(path: &str, headers: &[(&str, &str)]) -> Request {
        let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        request.body(Body::empty()).unwrap()
    }

    fn came(path: &str, headers: &[(&str, &str)]) -> Option<Way> {
        way(&Token::new(SECRET, "here").unwrap(), &request(path, headers))
    }

    #[test]
    fn the_token_comes_in_three_ways() {
        let bearer = format!("bEARER {SECRET}");
        assert_eq!(came("/x", &[("authorization", &bearer)]), Some(Way::Said));
        let cookie = format!("a=b; switchboard=wrong; switchboard={SECRET}");
        assert_eq!(came("/x", &[("cookie", &cookie)]), Some(Way::Cookie));
        assert_eq!(came("/x", &[("cookie", &cookie), ("sec-fetch-site", "same-origin")]), Some(Way::Cookie));
        assert_eq!(came("/x", &[("cookie", &cookie), ("sec-fetch-site", "same-site")]), None);
        let socket = [("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")];
        assert_eq!(came("/ws/x?a=1&token=0123456789abcdef%2B%2F%3D", &socket), Some(Way::Said));
        assert_eq!(came("/api/x?token=0123456789abcdef%2B%2F%3D", &socket), None);
    }

    #[test]
    fn nothing_else_lets_in() {
        let wrong = format!("Bearer {SECRET}x");
        let plain = SECRET.to_owned();
        for (path, headers) in [
            ("/x", vec![]),
            ("/x?token=0123456789abcdef%2B%2F%3D", vec![]),
            ("/x", vec![("authorization", wrong.as_str())]),
            ("/x", vec![("authorization", plain.as_str())]),
            ("/x", vec![("authorization", "Bearer ")]),
            ("/x", vec![("cookie", "switchboard=")]),
        ] {
            assert_eq!(came(path, &headers), None, "{path} {headers:?}");
        }
        assert!(!is_upgrade(&request("/", &[("upgrade", "websocket")])));
    }

    #[test]
    fn the_token_is_taken_out_of_an_address() {
        for (given, left) in
            [("/x?token=1", "/x"), ("/x?a=1&token=2&b=3", "/x?a=1&b=3"), ("/x?tokens=1", "/x?tokens=1")]
        {
            let mut uri: Uri = given.parse().unwrap();
            forget(&mut uri);
            assert_eq!(uri.to_string(), left);
        }
    }
}
