//! Why a request is refused. The response repeats nothing that the client sent.

use std::time::Duration;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use thiserror::Error;

use crate::Problem;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No `Host`, or more than one.
    #[error("the request must have exactly one Host header")]
    NoHost,
    /// A `Host` that is not accepted.
    #[error("this server does not accept that host name")]
    ForeignHost,
    /// A page of an origin that is not accepted.
    #[error("requests from pages of that origin are not accepted")]
    ForeignOrigin,
    /// A page of another site seems to have made a logged-in browser send the request.
    #[error("a change that uses the cookie must come from a page of this server")]
    Forged,
    /// No token, or a wrong one.
    #[error("a token is required")]
    Unauthorized,
    #[error("too many requests")]
    TooManyRequests(Duration),
    /// Too many requests without the token.
    #[error("too many requests without a valid token")]
    TooManyFailures(Duration),
    /// The caller descends from a session.
    #[error("a session may not control sessions")]
    FromSession,
    /// The caller is on this machine, and it is unknown whether it descends from a session.
    #[error("it is unknown whether the caller belongs to a session")]
    UnidentifiedCaller,
    #[error("the URL is too long")]
    LongAddress,
    #[error("the body is larger than {} MB", .0 >> 20)]
    LargeBody(u64),
    #[error("the body arrived too slowly")]
    SlowBody,
}

impl Refusal {
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::NoHost => StatusCode::BAD_REQUEST,
            Self::ForeignHost => StatusCode::MISDIRECTED_REQUEST,
            Self::ForeignOrigin | Self::Forged | Self::FromSession | Self::UnidentifiedCaller => StatusCode::FORBIDDEN,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::TooManyRequests(_) | Self::TooManyFailures(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::LongAddress => StatusCode::URI_TOO_LONG,
            Self::LargeBody(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
        }
    }

    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NoHost => "no_host",
            Self::ForeignHost => "foreign_host",
            Self::ForeignOrigin => "foreign_origin",
            Self::Forged => "forged",
            Self::Unauthorized => "unauthorized",
            Self::TooManyRequests(_) => "too_many_requests",
            Self::TooManyFailures(_) => "too_many_failures",
            Self::FromSession => "from_a_session",
            Self::UnidentifiedCaller => "unseen_caller",
            Self::LongAddress => "address_too_long",
            Self::LargeBody(_) => "body_too_large",
            Self::SlowBody => "body_too_slow",
        }
    }

    #[must_use]
    pub fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::ForeignHost => "use the address that the server printed, or start the server with --allow-host NAME",
            Self::ForeignOrigin => "start the server with --allow-origin ORIGIN if you trust that page",
            Self::Forged => "programs send the token as `Authorization: Bearer TOKEN`",
            Self::Unauthorized => {
                "send `Authorization: Bearer TOKEN`, or open the link that the server printed; `switchboard token` \
                 prints the token"
            }
            Self::TooManyRequests(_) => "wait, or start the server with a higher --rate-limit",
            Self::TooManyFailures(_) => "`switchboard token` prints the valid one",
            Self::FromSession => "only the user can control sessions, not an agent in one",
            Self::UnidentifiedCaller => "if the caller is in a container, start the server with --allow-unseen",
            Self::NoHost | Self::LongAddress | Self::LargeBody(_) | Self::SlowBody => return None,
        })
    }

    /// Returns whether the token would have been sufficient.
    #[must_use]
    pub fn needs_token(self) -> bool {
        matches!(self, Self::Unauthorized | Self::TooManyFailures(_))
    }

    fn retry_after(self) -> Option<Duration> {
        match self {
            Self::TooManyRequests(wait) | Self::TooManyFailures(wait) => Some(wait),
            _ => None,
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let problem = Self::new(refusal.status(), refusal.code(), refusal.to_string());
        match refusal.hint() {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Problem::from(self).into_response();
        let headers = response.headers_mut();
        if self == Self::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"switchboard\""));
        }
        if let Some(wait) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().saturating_add(1)));
        }
        if matches!(self, Self::LargeBody(_) | Self::SlowBody) {
            // The rest of the body is not read.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
