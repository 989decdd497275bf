//! What went wrong, for clients: problem documents (RFC 9457) with a stable `code` and, where somebody can do something
//! about it, a `hint`. `causes.rs` is the one place that maps our errors to them.

mod causes;

use std::borrow::Cow;

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The media type of a problem document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// A problem document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Always `about:blank`: `code` tells problems apart.
    #[serde(rename = "type", default = "blank")]
    pub kind: Cow<'static, str>,
    /// What the status means.
    pub title: Cow<'static, str>,
    /// The HTTP status.
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// What went wrong, for people.
    pub detail: String,
    /// What went wrong, for programs. It stays the same.
    #[schemars(regex(pattern = "^[a-z_]+$"))]
    pub code: Cow<'static, str>,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

fn blank() -> Cow<'static, str> {
    Cow::Borrowed("about:blank")
}

impl Problem {
    /// A problem. A text that ends in a line `hint: …` brings its own hint.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let (detail, hint) = match detail.split_once("\nhint: ") {
            Some((detail, hint)) => (detail.to_owned(), Some(hint.to_owned())),
            None => (detail, None),
        };
        let title = status.canonical_reason().unwrap_or("Error");
        Self { kind: blank(), title: title.into(), status: status.as_u16(), detail, code: code.into(), hint }
    }

    /// With something that can be done about it.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The request makes no sense.
    #[must_use]
    pub fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// A field of the request has a value that makes no sense.
    #[must_use]
    pub fn bad_field(field: &str, why: &str) -> Self {
        Self::bad_request("bad_field", format!("{field}: {why}"))
    }

    /// There is no such session.
    #[must_use]
    pub fn no_session(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "no_session", format!("there is no session {id}"))
    }

    /// It cannot be done as things are.
    #[must_use]
    pub fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    /// The status, as a server sends it.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        (self.status(), [(header::CONTENT_TYPE, MEDIA_TYPE)], body).into_response()
    }
}
