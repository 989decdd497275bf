//! What the page asks for: its files, sessions as entries with safe HTML, cards, and streams of changes. Made for that page
//! and changed with it (`docs/page.md`); programs have the operations of `api/`.
//!
//! * `files` are the page itself. `session_timeline` has the entries of a session, `timeline_cache` those of many.
//! * `session`, `stream`, `parts` and `export` are about one session, `transcript` about one of the logs.
//! * `card` is a session in short, made of its summary (`session_summaries`); `board` and `board_watch` show all of them.
//! * `begin` is what one needs to know to start a session.

mod begin;
mod board;
mod board_watch;
mod card;
mod export;
mod files;
mod parts;
mod session;
mod session_summaries;
mod session_timeline;
mod source;
mod stream;
mod timeline_cache;
mod transcript;

use axum::{Router, routing::get};

pub use board_watch::BoardWatch;
pub use files::nothing_here;
pub use session_summaries::SessionSummaries;
pub use timeline_cache::TimelineCache;
pub use transcript::Transcripts;

use crate::Service;

/// Adds what the page asks for to a router.
pub fn routes(router: Router<Service>) -> Router<Service> {
    router
        .route("/", get(files::index))
        .route("/new", get(files::index))
        .route("/history", get(files::index))
        .route("/usage", get(files::index))
        .route("/s/{id}", get(files::index))
        .route("/h/{id}", get(files::index))
        .route("/favicon.ico", get(files::icon))
        .route("/static/{*path}", get(files::file))
        .route("/api/page/sessions/{id}", get(session::window))
        .route("/api/page/sessions/{id}/outline", get(session::outline))
        .route("/api/page/sessions/{id}/stream", get(stream::stream))
        .route("/api/page/sessions/{id}/entries/{n}/raw", get(parts::of_session_raw))
        .route("/api/page/sessions/{id}/entries/{n}/text", get(parts::of_session_text))
        .route("/api/page/sessions/{id}/media/{seq}/{k}", get(parts::of_session_image))
        .route("/api/page/sessions/{id}/export", get(export::export))
        .route("/api/page/logs/{id}", get(transcript::window))
        .route("/api/page/logs/{id}/outline", get(transcript::outline))
        .route("/api/page/logs/{id}/entries/{n}/raw", get(transcript::raw))
        .route("/api/page/logs/{id}/entries/{n}/text", get(transcript::text))
        .route("/api/page/logs/{id}/media/{seq}/{k}", get(transcript::image))
        .route("/api/page/board", get(board::board))
        .route("/api/page/board/stream", get(board_watch::stream))
        .route("/api/page/new", get(begin::begin))
        .route("/api/page/folders", get(begin::folders))
}
