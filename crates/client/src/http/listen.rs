//! Following a stream of server-sent events. What comes goes into a channel, so that it can be waited for beside
//! everything else. Opening a stream again is up to who listens.

use http_body_util::BodyExt;
use hyper::{Response, body::Incoming, header::CONTENT_TYPE};
use tokio::{
    sync::mpsc::Sender,
    task::{AbortHandle, JoinSet},
    time::timeout,
};

use super::{
    client::{Client, HttpError},
    events::Events,
};

/// What happens to a stream of server-sent events.
#[derive(Debug, PartialEq, Eq)]
pub enum SseEvent {
    /// It is open.
    Opened,
    /// An event's payload.
    Data(Vec<u8>),
    /// It is over, and why. Nothing follows.
    Closed(String),
}

impl Client {
    /// Follows a stream until it ends, until nobody takes what comes, or until the handle is used. Must be called
    /// inside of a tokio runtime.
    pub fn listen(&self, path: &str, out: Sender<SseEvent>) -> AbortHandle {
        let (client, path) = (self.clone(), path.to_owned());
        let task = tokio::spawn(async move {
            let reason = match client.follow(&path, &out).await {
                Ok(()) => "the server ended it".to_owned(),
                Err(error) => error.to_string(),
            };
            // Who does not listen any more does not miss it.
            drop(out.send(SseEvent::Closed(reason)).await);
        });
        task.abort_handle()
    }

    async fn follow(&self, path: &str, out: &Sender<SseEvent>) -> Result<(), ListenError> {
        let mut connection = JoinSet::new();
        let request = self.written("GET", path, None, "text/event-stream")?;
        let response = timeout(self.limits.time, self.send(request, &mut connection)).await;
        let response = response.map_err(|_| HttpError::Late(self.limits.time))??;
        let mut body = opened(response)?;
        if out.send(SseEvent::Opened).await.is_err() {
            return Ok(());
        }
        let (mut events, mut payloads) = (Events::new(self.limits.bytes), Vec::new());
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

fn opened(response: Response<Incoming>) -> Result<Incoming, ListenError> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !response.status().is_success() {
        return Err(ListenError::Refused(response.status().as_u16()));
    }
    if !kind.starts_with("text/event-stream") {
        return Err(ListenError::Kind(kind.to_owned()));
    }
    Ok(response.into_body())
}

/// Why a stream ended before its time.
#[derive(Debug, thiserror::Error)]
enum ListenError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("the server refused it with status {0}")]
    Refused(u16),
    #[error("the server sent `{0}` in place of events")]
    Kind(String),
}
