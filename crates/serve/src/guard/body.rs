//! The body of a request: not too large and not too slow. Who reads it gets an error then, and the client a refusal,
//! whatever came of the error.

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

/// What bodies may be.
#[derive(Clone, Copy, Debug)]
pub struct Bodies {
    /// So many bytes where images come.
    pub images: u64,
    /// So many elsewhere.
    pub others: u64,
    /// How long the first byte may take, and all of a small one.
    pub patience: Duration,
    /// From then on, at least so many bytes a second.
    pub pace: u64,
}

impl Default for Bodies {
    fn default() -> Self {
        Self { images: 32 << 20, others: 1 << 20, patience: Duration::from_secs(20), pace: 16 << 10 }
    }
}

/// Why a body was cut off, for who answers.
#[derive(Clone, Default)]
pub struct Cut(Arc<OnceLock<Refusal>>);

impl Cut {
    /// It was, and why.
    pub fn why(&self) -> Option<Refusal> {
        self.0.get().copied()
    }
}

impl Bodies {
    /// Watches over the body of a request.
    pub fn watch(&self, request: Request) -> Result<(Request, Cut), Refusal> {
        let most = if takes_images(&request) { self.images } else { self.others };
        let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > most) {
            return Err(Refusal::LargeBody(most));
        }
        let cut = Cut::default();
        let (began, deadline) = (Instant::now(), Box::pin(sleep_until(Instant::now() + self.patience)));
        let watch = |inner| Watched { inner, limits: *self, most, came: 0, began, deadline, cut: cut.clone() };
        let request = if request.body().is_end_stream() { request } else { request.map(|body| Body::new(watch(body))) };
        Ok((request, cut))
    }
}

/// A request may bring images: one that gives an agent something to do.
fn takes_images(request: &Request) -> bool {
    let path = request.uri().path();
    let prompt = path.strip_prefix("/api/sessions/").and_then(|rest| rest.strip_suffix("/prompt"));
    request.method() == Method::POST && (["/api/sessions", "/api/run"].contains(&path) || prompt.is_some())
}

struct Watched {
    inner: Body,
    limits: Bodies,
    most: u64,
    came: u64,
    began: Instant,
    deadline: Pin<Box<Sleep>>,
    cut: Cut,
}

impl Watched {
    fn cut(&self, why: Refusal) -> axum::Error {
        // The first reason counts.
        self.cut.0.get_or_init(|| why);
        axum::Error::new(why)
    }

    /// Time is up, unless enough came to earn more of it.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        while self.deadline.as_mut().poll(cx).is_ready() {
            let earned = Duration::from_secs(self.came / self.limits.pace.max(1));
            let deadline = self.began + self.limits.patience + earned;
            if deadline <= Instant::now() {
                return true;
            }
            self.deadline.as_mut().reset(deadline);
        }
        false
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        match &polled {
            Poll::Pending if self.is_late(cx) => Poll::Ready(Some(Err(self.cut(Refusal::SlowBody)))),
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                self.came = self.came.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
                if self.came > self.most {
                    Poll::Ready(Some(Err(self.cut(Refusal::LargeBody(self.most)))))
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
