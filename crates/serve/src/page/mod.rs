//! The endpoints of the web page, made for it and changed with it (`docs/page.md`); programs use the operations of
//! `api`.
//!
//! * `session_timeline` has the entries of a session; `session`, `entry_parts` and `export` serve them, `transcript`
//!   those of session logs.
//! * `board` has the cards of all sessions, made of their `session_summaries`; `board_updates` streams their changes.
//! * `new_session` has the defaults for starting a session.

mod board;
mod board_updates;
mod entry_parts;
mod export;
mod new_session;
mod session;
mod session_summaries;
mod session_timeline;
mod transcript;

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use switchboard_page::assets::asset;

use crate::{Problem, Service};

pub use board_updates::BoardUpdates;
pub use session_summaries::SessionSummaries;
pub use session_timeline::TimelineCache;
pub use transcript::TranscriptCache;

pub fn routes(router: Router<Service>) -> Router<Service> {
    router
        .route("/", get(index_page))
        .route("/new", get(index_page))
        .route("/history", get(index_page))
        .route("/usage", get(index_page))
        .route("/s/{id}", get(index_page))
        .route("/h/{id}", get(index_page))
        .route("/favicon.ico", get(icon))
        .route("/static/{*path}", get(static_file))
        .route("/api/page/sessions/{id}", get(session::session_window))
        .route("/api/page/sessions/{id}/outline", get(session::session_outline))
        .route("/api/page/sessions/{id}/stream", get(session::stream_session))
        .route("/api/page/sessions/{id}/entries/{n}/raw", get(entry_parts::session_raw_events))
        .route("/api/page/sessions/{id}/entries/{n}/text", get(entry_parts::session_entry_text))
        .route("/api/page/sessions/{id}/media/{seq}/{k}", get(entry_parts::session_image))
        .route("/api/page/sessions/{id}/export", get(export::export_session))
        .route("/api/page/logs/{id}", get(transcript::transcript_window))
        .route("/api/page/logs/{id}/outline", get(transcript::transcript_outline))
        .route("/api/page/logs/{id}/entries/{n}/raw", get(transcript::transcript_raw_events))
        .route("/api/page/logs/{id}/entries/{n}/text", get(transcript::transcript_entry_text))
        .route("/api/page/logs/{id}/media/{seq}/{k}", get(transcript::transcript_image))
        .route("/api/page/board", get(board::get_board))
        .route("/api/page/board/stream", get(board_updates::stream_board))
        .route("/api/page/new", get(new_session::session_defaults))
        .route("/api/page/folders", get(new_session::complete_directory))
}

/// The page, at all its URLs.
async fn index_page(headers: HeaderMap) -> Response {
    asset_response("index.html", &headers)
}

/// The page with the status 404.
pub fn not_found_page() -> Response {
    let mut response = asset_response("index.html", &HeaderMap::new());
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

pub async fn icon(headers: HeaderMap) -> Response {
    asset_response("icon.svg", &headers)
}

async fn static_file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    asset_response(&path, &headers)
}

fn asset_response(path: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = asset(path) else {
        return Problem::new(StatusCode::NOT_FOUND, "not_found", "the page has no such file").into_response();
    };
    let tag = format!("\"{}\"", asset.tag);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let is_known =
        known.is_some_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag));
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, asset.media_type)], asset.bytes.into_owned()).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = tag.parse() {
        headers.insert(header::ETAG, tag);
    }
    response
}
