//! What went wrong, for clients: problem documents (RFC 9457) with a stable `code` and, where somebody can do something
//! about it, a `hint`. `causes.rs` is the one place that maps our errors to them.

mod causes;

use std::borrow::Cow;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The media type of a problem document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// When to ask again for what cannot be had now.
const RETRY_AFTER_SECONDS: u64 = 2;

/// What went wrong. On the wire it is a [`Document`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Document", from = "Document")]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// What went wrong, for programs. It stays the same.
    pub code: Cow<'static, str>,
    /// What went wrong, for people.
    pub detail: Box<str>,
    /// What can be done about it.
    pub hint: Option<Box<str>>,
}

/// A problem document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct Document {
    /// Always `about:blank`: `code` tells problems apart.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// What the status means.
    pub title: String,
    /// The HTTP status.
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// What went wrong, for people.
    pub detail: String,
    /// What went wrong, for programs. It stays the same.
    #[schemars(regex(pattern = "^[a-z_]+$"))]
    pub code: String,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<Problem> for Document {
    fn from(problem: Problem) -> Self {
        Self {
            kind: "about:blank".to_owned(),
            title: problem.status().canonical_reason().unwrap_or("Error").to_owned(),
            status: problem.status,
            detail: problem.detail.into(),
            code: problem.code.into_owned(),
            hint: problem.hint.map(Into::into),
        }
    }
}

impl From<Document> for Problem {
    fn from(document: Document) -> Self {
        let Document { status, detail, code, hint, .. } = document;
        Self { status, code: code.into(), detail: detail.into(), hint: hint.map(Into::into) }
    }
}

impl Problem {
    /// A problem. A text that ends in a line `hint: …` brings its own hint.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let (detail, hint) = match detail.split_once("\nhint: ") {
            Some((detail, hint)) => (detail.to_owned(), Some(hint.into())),
            None => (detail, None),
        };
        Self { status: status.as_u16(), code: code.into(), detail: detail.into(), hint }
    }

    /// With something that can be done about it.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<Box<str>>) -> Self {
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
        let mut response = (self.status(), [(header::CONTENT_TYPE, MEDIA_TYPE)], body).into_response();
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
        }
        response
    }
}
