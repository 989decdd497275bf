//! The page for who is outside: what this is, and how to get in. It has nothing of the server in it.

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

const OUTSIDE: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>Switchboard</title>\
<link rel=\"stylesheet\" href=\"/static/app.css\"></head><body class=\"outside\"><main><h1>Switchboard</h1>\
<p>This is a Switchboard server: it runs coding agents and lets people and programs follow and steer them.</p>\
<p>To get in, open the link that <code>switchboard serve</code> printed when it started. Programs send the token, which \
<code>switchboard token</code> prints, as <code>Authorization: Bearer TOKEN</code>.</p></main></body></html>\n";

/// The page.
pub fn outside() -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))], OUTSIDE).into_response()
}
