//! Why a request is refused, and what the client is told. Nothing of what it sent is repeated.

use std::time::Duration;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use thiserror::Error;

use crate::Problem;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// There is no `Host`, or more than one.
    #[error("the request does not say whom it is for")]
    NoHost,
    /// The request is for somebody else.
    #[error("this server does not answer to that name")]
    ForeignHost,
    /// A page of another origin asks.
    #[error("requests from pages of that origin are not taken")]
    ForeignOrigin,
    /// A browser that is logged in was made to ask by somebody else, or so it seems.
    #[error("a change with a cookie must come from a page of this server")]
    Forged,
    /// No token, or a wrong one.
    #[error("a token is needed")]
    Unauthorized,
    /// Too many requests.
    #[error("too many requests")]
    TooMany(Duration),
    /// Too many requests without a right token.
    #[error("too many requests without a right token")]
    TooManyFailures(Duration),
    /// The caller descends from a session.
    #[error("a session may not command sessions")]
    FromSession,
    /// The caller is on this machine and cannot be seen, while sessions run.
    #[error("sessions run, and it cannot be told whether the caller belongs to one")]
    Unseen,
    /// The address is too long.
    #[error("the address is too long")]
    LongAddress,
    /// The body is too large.
    #[error("the body is larger than {} MB", .0 >> 20)]
    LargeBody(u64),
    /// The body does not come.
    #[error("the body came too slowly")]
    SlowBody,
}

impl Refusal {
    /// The status of the answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::NoHost => StatusCode::BAD_REQUEST,
            Self::ForeignHost => StatusCode::MISDIRECTED_REQUEST,
            Self::ForeignOrigin | Self::Forged | Self::FromSession | Self::Unseen => StatusCode::FORBIDDEN,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::TooMany(_) | Self::TooManyFailures(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::LongAddress => StatusCode::URI_TOO_LONG,
            Self::LargeBody(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
        }
    }

    /// What a program can go by.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NoHost => "no_host",
            Self::ForeignHost => "foreign_host",
            Self::ForeignOrigin => "foreign_origin",
            Self::Forged => "forged",
            Self::Unauthorized => "unauthorized",
            Self::TooMany(_) => "too_many_requests",
            Self::TooManyFailures(_) => "too_many_failures",
            Self::FromSession => "from_a_session",
            Self::Unseen => "unseen_caller",
            Self::LongAddress => "address_too_long",
            Self::LargeBody(_) => "body_too_large",
            Self::SlowBody => "body_too_slow",
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::ForeignHost => "use the address that the server printed, or start it with --allow-host NAME",
            Self::ForeignOrigin => "start the server with --allow-origin ORIGIN if you trust that page",
            Self::Forged => "programs send the token as `Authorization: Bearer TOKEN`",
            Self::Unauthorized => {
                "send `Authorization: Bearer TOKEN`, or open the link that the server printed; `switchboard token` \
                 prints the token"
            }
            Self::TooMany(_) => "wait, or start the server with a higher --rate-limit",
            Self::TooManyFailures(_) => "`switchboard token` prints the right one",
            Self::FromSession => "whoever started the session can ask for it",
            Self::Unseen => "if the caller is in a container, start the server with --allow-unseen",
            Self::NoHost | Self::LongAddress | Self::LargeBody(_) | Self::SlowBody => return None,
        })
    }

    /// A right token would have let it in.
    #[must_use]
    pub fn is_for_want_of_a_token(self) -> bool {
        matches!(self, Self::Unauthorized | Self::TooManyFailures(_))
    }

    fn retry_after(self) -> Option<Duration> {
        match self {
            Self::TooMany(wait) | Self::TooManyFailures(wait) => Some(wait),
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
            // What is left of the body is not waited for.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
