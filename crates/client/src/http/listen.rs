//! Follows a stream of server-sent events and sends its events to a channel. Reconnecting is up to the caller.

use http_body_util::BodyExt;
use hyper::{Response, body::Incoming, header::CONTENT_TYPE};
use tokio::{
    sync::mpsc::Sender,
    task::{AbortHandle, JoinSet},
    time::timeout,
};

use super::{
    client::{HttpClient, HttpError},
    events::SseParser,
};

/// An event in the life of a stream of server-sent events.
#[derive(Debug, PartialEq, Eq)]
pub enum SseEvent {
    /// The stream is open.
    Opened,
    /// The payload of an event.
    Data(Vec<u8>),
    /// The stream ended for this reason. Nothing follows.
    Closed(String),
}

impl HttpClient {
    /// Follows a stream until it ends, the receiver is dropped, or the handle is aborted. Must be called within a tokio
    /// runtime.
    pub fn subscribe_sse(&self, path: &str, out: Sender<SseEvent>) -> AbortHandle {
        let (client, path) = (self.clone(), path.to_owned());
        let task = tokio::spawn(async move {
            let reason = match client.forward_sse_events(&path, &out).await {
                Ok(()) => "the server ended it".to_owned(),
                Err(error) => error.to_string(),
            };
            // A dropped receiver does not need it.
            drop(out.send(SseEvent::Closed(reason)).await);
        });
        task.abort_handle()
    }

    async fn forward_sse_events(&self, path: &str, out: &Sender<SseEvent>) -> Result<(), SseStreamError> {
        let mut connection = JoinSet::new();
        let request = self.build_request("GET", path, None, "text/event-stream")?;
        let response = timeout(self.limits.time, self.send(request, &mut connection)).await;
        let response = response.map_err(|_| HttpError::Late(self.limits.time))??;
        let mut body = sse_body(response)?;
        if out.send(SseEvent::Opened).await.is_err() {
            return Ok(());
        }
        let (mut events, mut payloads) = (SseParser::new(self.limits.bytes), Vec::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(HttpError::from)?;
            let Some(bytes) = frame.data_ref() else { continue };
            let fits = events.push(bytes, &mut payloads);
            for payload in payloads.drain(..) {
                if out.send(SseEvent::Data(payload)).await.is_err() {
                    return Ok(());
                }
            }
            fits.map_err(|_| HttpError::TooLarge(self.limits.bytes))?;
        }
        Ok(())
    }
}

fn sse_body(response: Response<Incoming>) -> Result<Incoming, SseStreamError> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !response.status().is_success() {
        return Err(SseStreamError::Refused(response.status().as_u16()));
    }
    if !kind.starts_with("text/event-stream") {
        return Err(SseStreamError::Kind(kind.to_owned()));
    }
    Ok(response.into_body())
}

/// The reason why a stream failed.
#[derive(Debug, thiserror::Error)]
enum SseStreamError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("the server refused it with status {0}")]
    Refused(u16),
    #[error("the server sent `{0}` in place of events")]
    Kind(String),
}
