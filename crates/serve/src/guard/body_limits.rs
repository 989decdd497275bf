//! Limits the size of a request body and the time it takes. The reader of the body gets an error, and the client a
//! refusal, whatever the reader makes of the error.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{Method, header},
};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Refusal;

#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// The maximum bytes of requests that may carry images.
    pub max_image_request_bytes: u64,
    /// The maximum bytes of other requests.
    pub max_request_bytes: u64,
    /// The maximum time for the first byte, and for all of a small body.
    pub timeout: Duration,
    /// After that, the minimum bytes per second.
    pub min_bytes_per_second: u64,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self {
            max_image_request_bytes: 32 << 20,
            max_request_bytes: 1 << 20,
            timeout: Duration::from_secs(20),
            min_bytes_per_second: 16 << 10,
        }
    }
}

/// Why the body of a request was cut off.
#[derive(Clone, Default)]
pub struct BodyRefusal(Arc<OnceLock<Refusal>>);

impl BodyRefusal {
    pub fn reason(&self) -> Option<Refusal> {
        self.0.get().copied()
    }
}

impl BodyLimits {
    /// Puts the limits on the body of a request.
    pub fn apply(&self, request: Request) -> Result<(Request, BodyRefusal), Refusal> {
        let max_bytes = if takes_images(&request) { self.max_image_request_bytes } else { self.max_request_bytes };
        let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > max_bytes) {
            return Err(Refusal::LargeBody(max_bytes));
        }
        let refusal = BodyRefusal::default();
        let (started, deadline) = (Instant::now(), Box::pin(sleep_until(Instant::now() + self.timeout)));
        let limit = |inner| LimitedBody {
            inner,
            limits: *self,
            max_bytes,
            received: 0,
            started,
            deadline,
            refusal: refusal.clone(),
        };
        let request = if request.body().is_end_stream() { request } else { request.map(|body| Body::new(limit(body))) };
        Ok((request, refusal))
    }
}

/// Returns whether a request may carry images: those with a prompt.
fn takes_images(request: &Request) -> bool {
    let path = request.uri().path();
    let prompt = path.strip_prefix("/api/sessions/").and_then(|rest| rest.strip_suffix("/prompt"));
    request.method() == Method::POST && (["/api/sessions", "/api/run"].contains(&path) || prompt.is_some())
}

struct LimitedBody {
    inner: Body,
    limits: BodyLimits,
    max_bytes: u64,
    received: u64,
    started: Instant,
    deadline: Pin<Box<Sleep>>,
    refusal: BodyRefusal,
}

impl LimitedBody {
    fn refuse(&self, reason: Refusal) -> axum::Error {
        // The first reason counts.
        self.refusal.0.get_or_init(|| reason);
        axum::Error::new(reason)
    }

    /// Returns whether the time is up, given the bytes received so far.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        while self.deadline.as_mut().poll(cx).is_ready() {
            let earned = Duration::from_secs(self.received / self.limits.min_bytes_per_second.max(1));
            let deadline = self.started + self.limits.timeout + earned;
            if deadline <= Instant::now() {
                return true;
            }
            self.deadline.as_mut().reset(deadline);
        }
        false
    }
}

impl HttpBody for LimitedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        match &polled {
            Poll::Pending if self.is_late(cx) => Poll::Ready(Some(Err(self.refuse(Refusal::SlowBody)))),
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                self.received = self.received.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
                if self.received > self.max_bytes {
                    Poll::Ready(Some(Err(self.refuse(Refusal::LargeBody(self.max_bytes)))))
                } else {
                    polled
                }
            }
            _ => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
