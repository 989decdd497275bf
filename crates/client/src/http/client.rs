//! Requests to a server. Each has a connection of its own: near by that costs less than a pool would, and one that
//! hangs is in nobody's way.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    Method, Request, Response,
    body::Incoming,
    client::conn::http1,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, InvalidHeaderValue},
};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::{task::JoinSet, time::timeout};

use super::address::{Address, AddressError};

/// Why a request failed. An answer that says no is none of these.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The address is none that we go to.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The header cannot be sent.
    #[error("the authorization cannot be sent in a header")]
    Authorization(#[from] InvalidHeaderValue),
    /// The request cannot be written down.
    #[error("not a request: {method} {path}")]
    Request {
        /// Its method.
        method: String,
        /// Its path.
        path: String,
    },
    /// Nobody listens there.
    #[error("no connection to {address}: {source}")]
    Connect {
        /// Where.
        address: Address,
        /// Why not.
        source: std::io::Error,
    },
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(#[from] hyper::Error),
    /// The answer is larger than it may be.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// No answer came in time.
    #[error("no answer within {} seconds", .0.as_secs_f32())]
    Late(Duration),
}

/// How long an answer may take, and how large it may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time for a request and all of its answer. A stream may take as long as it likes.
    pub time: Duration,
    /// The bytes of an answer, or of one event of a stream.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(120), bytes: 64 << 20 }
    }
}

/// Speaks to one server.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) address: Address,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) limits: Limits,
}

impl Client {
    /// A client for the server at this address, with the value of the `Authorization` header.
    ///
    /// # Errors
    /// If the header cannot be sent.
    pub fn new(address: Address, authorization: Option<&str>) -> Result<Self, HttpError> {
        let authorization = authorization.map(HeaderValue::from_str).transpose()?.map(secret);
        Ok(Self { address, authorization, limits: Limits::default() })
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Where the server is.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Makes a request and gives the status and all of the answer. Several may be under way at once.
    ///
    /// # Errors
    /// If there was no answer. One that says no is an answer.
    pub async fn request(&self, method: &str, path: &str, body: Option<Bytes>) -> Result<(u16, Bytes), HttpError> {
        let request = self.written(method, path, body, "application/json")?;
        let answer = async {
            let mut connection = JoinSet::new();
            let response = self.send(request, &mut connection).await?;
            let status = response.status().as_u16();
            Ok((status, self.whole(response).await?))
        };
        timeout(self.limits.time, answer).await.map_err(|_| HttpError::Late(self.limits.time))?
    }

    /// A request, written down.
    pub(crate) fn written(
        &self,
        method: &str,
        path: &str,
        body: Option<Bytes>,
        accept: &'static str,
    ) -> Result<Request<Full<Bytes>>, HttpError> {
        let bad = || HttpError::Request { method: method.to_owned(), path: path.to_owned() };
        let verb = Method::from_bytes(method.as_bytes()).map_err(|_| bad())?;
        if !path.starts_with('/') {
            return Err(bad());
        }
        let uri = self.address.path(path);
        let host = self.address.host();
        let mut request = Request::builder().method(verb).uri(uri).header(HOST, host).header(ACCEPT, accept);
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request.body(Full::new(body.unwrap_or_default())).map_err(|_| bad())
    }

    /// Sends it. The connection lives as long as the set does.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        connection: &mut JoinSet<()>,
    ) -> Result<Response<Incoming>, HttpError> {
        let refused = |source| HttpError::Connect { address: self.address.clone(), source };
        let stream = self.address.connect().await.map_err(refused)?;
        let (mut sender, driven) = http1::handshake(TokioIo::new(stream)).await?;
        // How the connection ends is told by the request that it serves.
        connection.spawn(async move { drop(driven.await) });
        Ok(sender.send_request(request).await?)
    }

    async fn whole(&self, response: Response<Incoming>) -> Result<Bytes, HttpError> {
        let body = Limited::new(response.into_body(), self.limits.bytes).collect().await;
        let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(broken) => HttpError::Broken(*broken),
            Err(other) => {
                debug_assert!(other.is::<LengthLimitError>());
                HttpError::TooLarge(self.limits.bytes)
            }
        })?;
        Ok(body.to_bytes())
    }
}

/// It is not shown, whoever prints it.
fn secret(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}
