//! How requests present the token: as a bearer token, as a cookie, or, where a browser can do neither, in the URL.
//! Requests without it get a login page.

use axum::{
    extract::{Query, Request},
    http::{HeaderMap, HeaderValue, Method, Uri, header, uri::PathAndQuery},
    response::{IntoResponse, Response},
};

use super::{AccessToken, Refusal};

const COOKIE_NAME: &str = "switchboard";

const OPEN_PREFIX: &str = "/static/";

/// The element that explains an expired link, visible only as the target of the URL.
const EXPIRED_LINK: &str = "#old-link";

/// What needs no token: the health check and the files of the page.
const OPEN_PATHS: [&str; 2] = ["/api/health", "/favicon.ico"];
/// The URLs of the page. Without a token, they explain how to log in.
const PAGE_PATHS: [&str; 4] = ["/", "/new", "/history", "/usage"];
const PAGE_PREFIXES: [&str; 2] = ["/s/", "/h/"];

/// How the token was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// Explicitly by a program, for this request.
    Explicit,
    /// Automatically by a browser, for requests of any origin.
    Cookie,
    /// No token is required.
    NotRequired,
}

pub fn is_open(request: &Request) -> bool {
    let path = request.uri().path();
    is_page(request) || (is_safe(request.method()) && (OPEN_PATHS.contains(&path) || path.starts_with(OPEN_PREFIX)))
}

/// Returns whether a browser navigates to the page.
pub fn is_page(request: &Request) -> bool {
    let path = request.uri().path();
    is_safe(request.method())
        && (PAGE_PATHS.contains(&path) || PAGE_PREFIXES.iter().any(|folder| path.starts_with(folder)))
}

pub fn is_safe(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

pub fn is_upgrade(request: &Request) -> bool {
    let names = |name: header::HeaderName, word: &str| {
        let values = request.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    names(header::CONNECTION, "upgrade") && names(header::UPGRADE, "websocket")
}

/// Returns how the valid token was presented.
pub fn find_token(token: &AccessToken, request: &Request) -> Option<TokenSource> {
    let headers = request.headers();
    let is_socket =
        || is_upgrade(request) && *request.method() == Method::GET && request.uri().path().starts_with("/ws/");
    let in_address = || is_socket() && query_token(request.uri()).is_some_and(|given| token.matches(&given));
    if bearer_token(headers).is_some_and(|given| token.matches(given)) || in_address() {
        return Some(TokenSource::Explicit);
    }
    let is_valid = is_same_site(headers) && cookie_tokens(headers).any(|given| token.matches(given));
    is_valid.then_some(TokenSource::Cookie)
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie_tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
}

/// Returns whether the request comes from the same origin or the user. Cookies alone treat other ports as the same
/// site.
fn is_same_site(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none")
}

pub fn query_token(uri: &Uri) -> Option<String> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?.0;
    pairs.into_iter().find_map(|(name, value)| (name == "token").then_some(value))
}

/// Removes the token from a URL, so that nothing behind the guard can disclose it.
pub fn remove_token(uri: &mut Uri) {
    let Some(query) = uri.query().filter(|query| query.contains("token=")) else { return };
    let kept: Vec<_> = query.split('&').filter(|pair| !pair.starts_with("token=")).collect();
    let rest = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(format!("{}{rest}", uri.path())).ok();
    if let Ok(clean) = Uri::from_parts(parts) {
        *uri = clean;
    }
}

pub fn without_token(uri: &Uri) -> String {
    let mut address = uri.clone();
    remove_token(&mut address);
    // If the token is encoded otherwise, the whole query is removed.
    let is_clean = query_token(&address).is_none();
    let whole = address.path_and_query().map(PathAndQuery::as_str).filter(|_| is_clean);
    whole.unwrap_or(address.path()).to_owned()
}

/// Returns a cookie that scripts and other sites cannot read, and that is only sent with TLS if the server has it.
pub fn token_cookie(token: &AccessToken, has_tls: bool) -> Option<HeaderValue> {
    let secure = if has_tls { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000{secure}", token.expose());
    HeaderValue::try_from(cookie).ok()
}

const LOGIN_PAGE: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>Switchboard</title>\
<link rel=\"stylesheet\" href=\"/static/app.css\"></head><body class=\"outside\"><main><h1>Switchboard</h1>\
<p>This is a Switchboard server: it runs coding agents and lets people and programs follow and steer them.</p>\
<p>To log in, open the link that <code>switchboard serve</code> printed when it started. Programs send the token, which \
<code>switchboard token</code> prints, as <code>Authorization: Bearer TOKEN</code>.</p>\
<p id=\"old-link\">This link has expired or belongs to another server.</p>\
</main></body></html>\n";

pub fn login_page() -> Response {
    ([(header::CONTENT_TYPE, HTML_MEDIA_TYPE)], LOGIN_PAGE).into_response()
}

const HTML_MEDIA_TYPE: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// A request that shows its response to a person.
pub struct BrowserRequest {
    /// The URL to redirect to if this one has a token.
    clean: Option<String>,
}

impl BrowserRequest {
    pub fn from_request(request: &Request) -> Option<Self> {
        if !is_safe(request.method()) || !accepts_html(request.headers()) {
            return None;
        }
        let token = query_token(request.uri());
        let clean = token.map(|_| match is_page(request) {
            true => format!("{}{EXPIRED_LINK}", without_token(request.uri())),
            // The token may be valid, but this URL does not accept it.
            false => "/".to_owned(),
        });
        Some(Self { clean })
    }

    /// Returns a refusal as a page, and removes a rejected token from the address bar.
    pub fn refuse(self, refusal: Refusal) -> Response {
        let mut response = refusal.into_response();
        if !refusal.needs_token() {
            return response;
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HTML_MEDIA_TYPE);
        headers.remove(header::CONTENT_LENGTH);
        let redirect = self.clean.and_then(|address| format!("0; url={address}").parse().ok());
        if let Some(redirect) = redirect {
            headers.insert(header::REFRESH, redirect);
        }
        *response.body_mut() = LOGIN_PAGE.into();
        response
    }
}

/// Browsers that navigate accept HTML explicitly; programs accept anything.
pub fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, extract::Request, http::Uri};

    use super::{AccessToken, TokenSource, find_token, is_upgrade, remove_token};

    const SECRET: &str = "0123456789abcdef+/=";

    fn request(path: &str, headers: &[(&str, &str)]) -> Request {
        let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        request.body(Body::empty()).unwrap()
    }

    fn token_source(path: &str, headers: &[(&str, &str)]) -> Option<TokenSource> {
        find_token(&AccessToken::new(SECRET, "here").unwrap(), &request(path, headers))
    }

    #[test]
    fn the_token_is_accepted_in_three_ways() {
        let bearer = format!("bEARER {SECRET}");
        assert_eq!(token_source("/x", &[("authorization", &bearer)]), Some(TokenSource::Explicit));
        let cookie = format!("a=b; switchboard=wrong; switchboard={SECRET}");
        assert_eq!(token_source("/x", &[("cookie", &cookie)]), Some(TokenSource::Cookie));
        assert_eq!(
            token_source("/x", &[("cookie", &cookie), ("sec-fetch-site", "same-origin")]),
            Some(TokenSource::Cookie)
        );
        assert_eq!(token_source("/x", &[("cookie", &cookie), ("sec-fetch-site", "same-site")]), None);
        let socket = [("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")];
        assert_eq!(token_source("/ws/x?a=1&token=0123456789abcdef%2B%2F%3D", &socket), Some(TokenSource::Explicit));
        assert_eq!(token_source("/api/x?token=0123456789abcdef%2B%2F%3D", &socket), None);
    }

    #[test]
    fn nothing_else_is_accepted() {
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
            assert_eq!(token_source(path, &headers), None, "{path} {headers:?}");
        }
        assert!(!is_upgrade(&request("/", &[("upgrade", "websocket")])));
    }

    #[test]
    fn the_token_is_removed_from_a_url() {
        for (given, left) in
            [("/x?token=1", "/x"), ("/x?a=1&token=2&b=3", "/x?a=1&b=3"), ("/x?tokens=1", "/x?tokens=1")]
        {
            let mut uri: Uri = given.parse().unwrap();
            remove_token(&mut uri);
            assert_eq!(uri.to_string(), left);
        }
    }
}
