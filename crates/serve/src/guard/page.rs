//! The page for who is outside: what this is, and how to get in. It has nothing of the server in it.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::{Refusal, auth};

const OUTSIDE: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>Switchboard</title>\
<link rel=\"stylesheet\" href=\"/static/app.css\"></head><body class=\"outside\"><main><h1>Switchboard</h1>\
<p>This is a Switchboard server: it runs coding agents and lets people and programs follow and steer them.</p>\
<p>To get in, open the link that <code>switchboard serve</code> printed when it started. Programs send the token, which \
<code>switchboard token</code> prints, as <code>Authorization: Bearer TOKEN</code>.</p>\
<p id=\"old-link\">The link that you came by does not let in: it is of another server, or of another time.</p>\
</main></body></html>\n";

/// Where the page says that a link does not let in. Only who is sent there sees it.
const OLD_LINK: &str = "#old-link";

/// The page.
pub fn outside() -> Response {
    ([(header::CONTENT_TYPE, HTML)], OUTSIDE).into_response()
}

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// Somebody asks by a browser's address bar, and can read a page.
pub struct Person {
    /// Where to go instead, if the address has a token.
    clean: Option<String>,
}

impl Person {
    /// Who asks for a page, whatever for.
    pub fn asks(request: &Request) -> Option<Self> {
        if !auth::is_safe(request.method()) || !reads_pages(request.headers()) {
            return None;
        }
        let said = auth::in_query(request.uri());
        let clean = said.map(|_| match auth::is_page(request) {
            true => format!("{}{OLD_LINK}", auth::without_token(request.uri())),
            // The token may be right, and is not taken there.
            false => "/".to_owned(),
        });
        Some(Self { clean })
    }

    /// A refusal as a page. What did not let in leaves the address bar.
    pub fn refuse(self, refusal: Refusal) -> Response {
        let mut response = refusal.into_response();
        if !refusal.is_for_want_of_a_token() {
            return response;
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HTML);
        headers.remove(header::CONTENT_LENGTH);
        let elsewhere = self.clean.and_then(|address| format!("0; url={address}").parse().ok());
        if let Some(elsewhere) = elsewhere {
            headers.insert(header::REFRESH, elsewhere);
        }
        *response.body_mut() = OUTSIDE.into();
        response
    }
}

/// Programs take anything; a browser that is sent somewhere names HTML.
pub fn reads_pages(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}
