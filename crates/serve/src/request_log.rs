//! Gives each request an ID, in the log and in the response, so that what a client saw can be found in the log.

use std::time::Instant;

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::{Instrument as _, debug, debug_span};
use uuid::Uuid;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const MAX_REQUEST_ID_BYTES: usize = 64;

/// Logs a request and its response. The path is logged without the query, which may have the token.
pub async fn log_request(request: Request, next: Next) -> Response {
    let id = request.headers().get(&REQUEST_ID).filter(|id| is_valid(id)).cloned().unwrap_or_else(new_id);
    let text = id.to_str().unwrap_or_default();
    let span = debug_span!("request", request = text, method = %request.method(), path = request.uri().path());
    let started = Instant::now();
    async {
        debug!("request received");
        let mut response = next.run(request).await;
        debug!(status = response.status().as_u16(), elapsed = ?started.elapsed(), "response started");
        response.headers_mut().insert(REQUEST_ID, id.clone());
        response
    }
    .instrument(span)
    .await
}

/// Returns whether a client's own ID can be used: it must be harmless in a log.
fn is_valid(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    (1..=MAX_REQUEST_ID_BYTES).contains(&bytes.len()) && bytes.iter().all(is_allowed)
}

fn new_id() -> HeaderValue {
    let id = Uuid::new_v4().simple().to_string();
    HeaderValue::try_from(id).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}
