//! The files of the page. They change with the program only, so a browser asks and is told that it has them.

use axum::{
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use switchboard_page::assets::asset;

use crate::Problem;

/// The page, at all its addresses.
pub async fn index(headers: HeaderMap) -> Response {
    found("index.html", &headers)
}

/// The page where there is none: it says so.
pub fn nothing_here() -> Response {
    let mut response = found("index.html", &HeaderMap::new());
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Its icon, where browsers look for one by themselves.
pub async fn icon(headers: HeaderMap) -> Response {
    found("icon.svg", &headers)
}

/// What it is made of.
pub async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    found(&path, &headers)
}

fn found(path: &str, headers: &HeaderMap) -> Response {
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
