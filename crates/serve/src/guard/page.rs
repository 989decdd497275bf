//! The page at `/`: what this is, and how to get in. For whoever is in, where to go.

use axum::{
    Extension,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::gate::Entry;

const OUTSIDE: &str = "<p>This is a Switchboard server: it runs coding agents and lets programs follow and steer them.</p>\
<p>To get in, open the link that <code>switchboard serve</code> printed when it started. Programs send the token, which \
<code>switchboard token</code> prints, as <code>Authorization: Bearer TOKEN</code>.</p>";

const INSIDE: &str = "<p>This is a Switchboard server: it runs coding agents and lets programs follow and steer them. \
You are in.</p><ul><li><a href=\"/api/sessions\">Sessions</a></li><li><a href=\"/api/agents\">Agents</a></li>\
<li><a href=\"/openapi.json\">What programs can ask for</a> (OpenAPI)</li><li><a href=\"/metrics\">Figures</a> \
(Prometheus)</li></ul>";

/// The page.
pub async fn page(entry: Option<Extension<Entry>>) -> Response {
    let body = if entry.is_some_and(|Extension(entry)| entry.is_inside) { INSIDE } else { OUTSIDE };
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Switchboard</title></head>\
         <body><h1>Switchboard</h1>{body}</body></html>\n"
    );
    ([(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))], html).into_response()
}
